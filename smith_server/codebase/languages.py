"""Which language a file is written in, by its name. Pure."""

import re
from collections.abc import Mapping
from types import MappingProxyType

_NAMES = """
python py pyi pyw pyx
javascript js mjs cjs jsx
typescript ts mts cts
tsx tsx
rust rs
go go
c c h
cpp cc cpp cxx c++ hpp hh hxx h++ ipp tpp inl cu
java java
ruby rb rake gemspec ru
lua lua
bash sh bash zsh ksh bats
elisp el
kotlin kt kts
csharp cs
swift swift
scala scala sc
php php
perl pl pm
haskell hs
ocaml ml mli
elixir ex exs
erlang erl hrl
clojure clj cljs cljc edn
julia jl
r r
dart dart
zig zig
nim nim
vim vim
fish fish
sql sql
proto proto
lisp lisp lsp cl scm ss rkt
groovy groovy gradle
objc m mm
fortran f f90 f95 for
d d
pascal pas
assembly s asm
vue vue
svelte svelte
css css scss less
markdown md markdown
restructuredtext rst
terraform tf
make mk
cmake cmake
"""
_FILES = {
    "makefile": "make",
    "gnumakefile": "make",
    "rakefile": "ruby",
    "gemfile": "ruby",
    "podfile": "ruby",
    "cmakelists.txt": "cmake",
    "dockerfile": "docker",
    "sconstruct": "python",
}
_PROSE = frozenset({"markdown", "restructuredtext", "css"})

_CPP = re.compile(
    rb"^[ \t]*(?:class\s+\w|namespace\b|template\s*<|using\s+\w|(?:public|private|protected)\s*:)"
    rb"|\w::~?\w|\boperator\s*[^\w\s]",
    re.MULTILINE,
)
BY_EXTENSION: Mapping[str, str] = MappingProxyType(
    {extension: words[0] for words in map(str.split, _NAMES.strip().splitlines()) for extension in words[1:]}
)


def extension_of(name: str) -> str:
    """What follows the last dot of a file name, lower case; "" when there is none."""
    return name.rpartition(".")[2].lower() if "." in name[1:] else ""


def language_of(path: str) -> str:
    """The language of a file, or ""."""
    name = path.rpartition("/")[2].lower()
    return _FILES.get(name) or BY_EXTENSION.get(extension_of(name), "")


def dialect(language: str, source: bytes) -> str:
    """The language of a text whose name may mean two: a header of C may be one of C++."""
    return "cpp" if language == "c" and _CPP.search(source) else language


def is_code(extension: str) -> bool:
    """Whether files with this extension hold program text."""
    return BY_EXTENSION.get(extension, "markdown") not in _PROSE
