"""How long files and functions are, how deep, how much is said about them: one table, and the limits.

Every file of the product is measured alone; `main` prints what grows and fails over a limit.
Lua and Lisp are measured by their layout, which their formatters keep.
"""

import ast
import io
import itertools
import re
import statistics
import sys
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

REPO = Path(__file__).resolve().parent.parent
PRODUCT = ("smith_server", "editors", "tools")
TESTS = frozenset({"tests", "test"})
"""Folders whose files are measured and shown, with no limits."""

MEASURED = (".py", ".lua", ".el")


class Limit(NamedTuple):
    """The most lines of a file and of a function."""

    file: int
    function: int


LIMITS = {".py": Limit(400, 50), ".lua": Limit(300, 40), ".el": Limit(400, 40)}
MOST_NESTING = 3
MOST_PARAMETERS = 5
"""One more where the first is `self` or `cls`."""

BROAD_CATCHES = {"smith_server/core": 1, "smith_server/lsp": 2, "smith_server/runtime": 2, "smith_server/store": 1}
"""Around a tool, around a wire handler, around a background task, thread or listener; nowhere else."""

VAGUE_NAMES = frozenset({"base", "common", "helper", "helpers", "manager", "misc", "util", "utils"})
UNFINISHED = re.compile(r"\b(TO(?:DO)|FIX(?:ME))\b")
MACHINE_PATH = re.compile(r"(?<![\w.}>~)-])/(?:work|root|Users/\w+|home/\w+)/")


class Function(NamedTuple):
    """One function: `depth` of its control flow, number of `parameters` (without self)."""

    where: str
    name: str
    lines: int
    depth: int = 0
    parameters: int = 0


class Measured(NamedTuple):
    """One file: `code` lines, lines of `prose` (comments and docstrings), what stands in it."""

    path: str
    lines: int
    code: int
    prose: int
    functions: tuple[Function, ...]
    broad: int = 0
    suppressions: int = 0
    described: bool = True


def measure(path: str, text: str) -> Measured:
    """Measure one file; `path` decides the language."""
    suffix = Path(path).suffix
    if suffix == ".py":
        return _python(path, text)
    functions = _lua_functions(path, text) if suffix == ".lua" else _lisp_functions(path, text)
    lines = [line.strip() for line in text.splitlines()]
    prose = sum(line.startswith("--" if suffix == ".lua" else ";") for line in lines)
    return Measured(path, len(lines), sum(map(bool, lines)) - prose, prose, tuple(functions))


def problems(measured: Measured) -> Iterator[str]:
    """What is over a limit in one file, a sentence each."""
    limit = LIMITS[Path(measured.path).suffix]
    if measured.lines > limit.file:
        yield f"{measured.path}: {measured.lines} lines, at most {limit.file}"
    if not measured.described:
        yield f"{measured.path}: no module docstring"
    if Path(measured.path).stem in VAGUE_NAMES:
        yield f"{measured.path}: the name says nothing about what is in it"
    for function in measured.functions:
        where = f"{function.where} {function.name}"
        if function.lines > limit.function:
            yield f"{where}: {function.lines} lines, at most {limit.function}"
        if function.depth > MOST_NESTING:
            yield f"{where}: {function.depth} levels deep, at most {MOST_NESTING}"
        if function.parameters > MOST_PARAMETERS:
            yield f"{where}: {function.parameters} parameters, at most {MOST_PARAMETERS}"


def leftovers(path: str, text: str) -> Iterator[str]:
    """Lines of any file that belong to one machine, or that announce work not done."""
    for number, line in enumerate(text.splitlines(), 1):
        if found := UNFINISHED.search(line):
            yield f"{path}:{number}: {found[0]}"
        if found := MACHINE_PATH.search(line):
            yield f"{path}:{number}: a path of one machine, {found[0]}"


def broad_catches(files: Iterable[Measured]) -> Iterator[str]:
    """Packages that catch everything in more places than they may."""
    counts: dict[str, list[str]] = {}
    for each in files:
        package = "/".join(each.path.split("/")[:2])
        counts.setdefault(package, []).extend([each.path] * each.broad)
    for package, paths in counts.items():
        if package.startswith("smith_server") and len(paths) > (most := BROAD_CATCHES.get(package, 0)):
            yield f"{package}: {len(paths)} broad catches, at most {most}: {', '.join(sorted(set(paths)))}"


def table(files: Sequence[Measured], tests: Sequence[Measured]) -> str:
    """The longest files and functions, and the ratios per part of the product."""
    functions = [function for each in files for function in each.functions]
    longest = sorted(files, key=lambda each: -each.lines)[:5]
    largest = sorted(functions, key=lambda each: -each.lines)[:5]
    rows = ["longest files", *(f"  {each.lines:>5}  {each.path}" for each in longest)]
    rows += ["longest functions", *(f"  {each.lines:>5}  {each.where} {each.name}" for each in largest)]
    rows += [f"{'part':<22} files  code  prose  median function  broad  suppressions"]
    parts = sorted({_part(each.path) for each in files})
    rows += [_row(part, [each for each in files if _part(each.path) == part]) for part in parts]
    rows += [_row("product", files), _row("tests", tests)]
    product, proof = sum(each.code for each in files), sum(each.code for each in tests)
    return "\n".join([*rows, f"lines of tests per line of product: {proof / max(1, product):.2f}"])


def main() -> int:
    """Measure the tree, print the table, and fail when anything is over a limit."""
    measured = [measure(name, text) for name, text in _texts((*PRODUCT, "tests"), MEASURED)]
    tests = [each for each in measured if TESTS & set(each.path.split("/"))]
    product = [each for each in measured if each not in tests]
    found = [problem for each in product for problem in problems(each)]
    found += broad_catches(product)
    for folder in (*PRODUCT, "tests", "docs", "."):
        suffixes = (*MEASURED, ".md", ".sh", ".sql", ".toml", ".yaml", "")
        found += [problem for name, text in _texts((folder,), suffixes) for problem in leftovers(name, text)]
    print(table(product, tests))
    for problem in found:
        print(f"over the limit: {problem}")
    return 1 if found else 0


def _texts(folders: Sequence[str], suffixes: Sequence[str]) -> Iterator[tuple[str, str]]:
    for folder in folders:
        paths = (REPO / folder).glob("*") if folder == "." else (REPO / folder).rglob("*")
        for path in sorted(paths):
            if path.is_file() and path.suffix in suffixes and not {"__pycache__", "cases"} & set(path.parts):
                yield str(path.relative_to(REPO)), path.read_text(encoding="utf-8", errors="replace")


def _part(path: str) -> str:
    pieces = path.split("/")
    return "/".join(pieces[:2]) if len(pieces) > 2 else pieces[0]


def _row(part: str, files: Sequence[Measured]) -> str:
    code, prose = sum(each.code for each in files), sum(each.prose for each in files)
    lengths = [function.lines for each in files for function in each.functions]
    median = statistics.median(lengths) if lengths else 0
    broad, hidden = sum(each.broad for each in files), sum(each.suppressions for each in files)
    return (
        f"{part:<22} {len(files):>5} {code:>5}  {prose / max(1, code):>5.2f}  {median:>15.0f}  {broad:>5}  {hidden:>12}"
    )


def _python(path: str, text: str) -> Measured:
    tree = ast.parse(text)
    prose = _docstring_lines(tree)
    suppressions = 0
    filled: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            prose |= {token.start[0]} if token.line.lstrip().startswith("#") else set()
            suppressions += bool(re.match(r"#\s*(noqa|type:\s*ignore)", token.string))
        elif token.string.strip():
            filled |= set(range(token.start[0], token.end[0] + 1))
    definitions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    functions = tuple(_function(path, node) for node in definitions)
    broad = sum(_is_broad(node) for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler))
    described = not tree.body or ast.get_docstring(tree) is not None
    lines = len(text.splitlines())
    return Measured(path, lines, len(filled - prose), len(prose), functions, broad, suppressions, described)


def _docstring_lines(tree: ast.Module) -> set[int]:
    """Lines of strings that stand alone, docstrings of constants included."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def _function(path: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Function:
    names = [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    bound = names[:1] in (["self"], ["cls"])
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    return Function(f"{path}:{node.lineno}", node.name, lines, _depth(node.body), len(names) - bound)


def _depth(body: Iterable[ast.AST]) -> int:
    """Levels of branches, loops and `try`; a `with` adds none, an `elif` no more than its `if`."""
    deepest = 0
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        own = isinstance(node, ast.If | ast.For | ast.AsyncFor | ast.While | ast.Try | ast.TryStar | ast.Match)
        inner = _depth(child for child in ast.iter_child_nodes(node) if not _is_elif(node, child))
        chained = _depth(child for child in ast.iter_child_nodes(node) if _is_elif(node, child))
        deepest = max(deepest, own + inner, chained)
    return deepest


def _is_elif(node: ast.AST, child: ast.AST) -> bool:
    if not isinstance(node, ast.If) or not isinstance(child, ast.If):
        return False
    return node.orelse == [child] and child.col_offset == node.col_offset


def _is_broad(node: ast.ExceptHandler) -> bool:
    caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    broad = any(each is None or getattr(each, "id", "") in ("Exception", "BaseException") for each in caught)
    raised_again = isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None
    return broad and not raised_again


def _lua_functions(path: str, text: str) -> Iterator[Function]:
    lines = text.splitlines()
    for number, line in enumerate(lines):
        opened = re.match(r"(\s*)(?:local )?(?:[\w.]+ = )?(?:return )?.*\bfunction\b\s*([\w.:]*)", line)
        if not opened or line.lstrip().startswith("--") or re.search(r"\bend\b[\s,)}]*$", line):
            continue
        closing = re.compile(rf"{opened[1]}end\b")
        length = next((n for n, later in enumerate(lines[number + 1 :], 2) if closing.match(later)), 0)
        yield Function(f"{path}:{number + 1}", opened[2] or line.strip()[:40], length)


def _lisp_functions(path: str, text: str) -> Iterator[Function]:
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if re.match(r"\(|;;;", line)] + [len(lines)]
    for start, end in itertools.pairwise(starts):
        name = re.match(r"\((?:cl-)?def(?:un|macro|method|subst)\s+(\S+)", lines[start])
        if name:
            body = [line for line in lines[start:end] if line.strip() and not line.startswith(";")]
            yield Function(f"{path}:{start + 1}", name[1], len(body))


if __name__ == "__main__":
    sys.exit(main())
