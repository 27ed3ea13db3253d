"""Which grammar reads which language, and with which queries: those of the grammar, and ours for their gaps. Pure."""

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct


class Grammar(Struct, frozen=True):
    """`function` of `module` is the language. `tags` are modules whose own query is used, without `dropped` captures.

    `own` are files of ours in `queries/`; they come first and win where both name the same definition.
    """

    module: str
    own: tuple[str, ...]
    tags: tuple[str, ...] = ()
    function: str = "language"
    dropped: tuple[str, ...] = ()


_JAVASCRIPT, _TYPESCRIPT = "tree_sitter_javascript", "tree_sitter_typescript"

GRAMMARS: Mapping[str, Grammar] = MappingProxyType(
    {
        "python": Grammar("tree_sitter_python", ("python",), ("tree_sitter_python",)),
        "javascript": Grammar(_JAVASCRIPT, ("javascript", "fields_javascript"), (_JAVASCRIPT,)),
        "typescript": Grammar(
            _TYPESCRIPT, ("javascript", "typescript"), (_JAVASCRIPT, _TYPESCRIPT), "language_typescript"
        ),
        "tsx": Grammar(_TYPESCRIPT, ("javascript", "typescript"), (_JAVASCRIPT, _TYPESCRIPT), "language_tsx"),
        "rust": Grammar("tree_sitter_rust", ("rust",), ("tree_sitter_rust",), dropped=("method",)),
        "go": Grammar("tree_sitter_go", ("go",), ("tree_sitter_go",)),
        "c": Grammar("tree_sitter_c", ("c",), ("tree_sitter_c",), dropped=("function", "class", "type")),
        "cpp": Grammar(
            "tree_sitter_cpp", ("c", "cpp"), ("tree_sitter_cpp",), dropped=("function", "class", "type", "method")
        ),
        "java": Grammar("tree_sitter_java", ("java",), ("tree_sitter_java",)),
        "ruby": Grammar("tree_sitter_ruby", ("ruby",), ("tree_sitter_ruby",)),
        "lua": Grammar("tree_sitter_lua", ("lua",), ("tree_sitter_lua",)),
        "bash": Grammar("tree_sitter_bash", ("bash",)),
    }
)
