"""Floor B: a language server that does nothing, as pygls makes it."""

from pygls.lsp.server import LanguageServer

LanguageServer("floor", "1").start_io()
