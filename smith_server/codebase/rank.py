"""What a file is, by its name, and which come first: source before tests and generated, near before far. Pure."""

import re
from enum import IntEnum
from functools import lru_cache

from smith_server.codebase.languages import extension_of, is_code


class Kind(IntEnum):
    """What a file is, in the order of interest."""

    SOURCE = 0
    OTHER = 1
    TEST = 2
    GENERATED = 3


_FOLDERS = {
    "generated": """
        node_modules vendor vendored third_party thirdparty 3rdparty dist build target out generated __generated__ gen
        bower_components site-packages _vendor .venv venv coverage
    """,
    "tests": "test tests testing spec specs __tests__ testdata test-data fixtures e2e",
}
_GENERATED_FOLDERS, _TEST_FOLDERS = (frozenset(names.split()) for names in _FOLDERS.values())
_GENERATED_NAME = re.compile(
    r"\.min\.\w+$|_pb2(_grpc)?\.pyi?$|\.pb\.\w+$|\.(generated|gen|designer|bundle|g)\.\w+$|\.(map|lock|snap)$|[-.]lock\."
    r"|(^|_)generated\.|^(zz_)?generated[_.]"
)
_TEST_NAME = re.compile(r"^tests?[_.-]|^conftest\.|[_.-](tests?|spec)\.\w+$|Tests?\.(java|kt|cs|swift)$")


def kind_of(path: str) -> Kind:
    """What the file at a relative path is, by its name and folders alone."""
    folder, _, name = path.rpartition("/")
    found = kind_of_folder(folder)
    if found is Kind.GENERATED or _GENERATED_NAME.search(name):
        return Kind.GENERATED
    if found is Kind.TEST or _TEST_NAME.search(name):
        return Kind.TEST
    return Kind.SOURCE if is_code(extension_of(name)) else Kind.OTHER


def order(path: str) -> tuple[Kind, int, str]:
    """The key by which files are sorted: kind, depth, name."""
    return kind_of(path), path.count("/"), path


@lru_cache(maxsize=4096)
def kind_of_folder(folder: str) -> Kind:
    """What the files of a folder are at best: the folder alone makes them no less."""
    names = set(folder.lower().split("/"))
    if names & _GENERATED_FOLDERS:
        return Kind.GENERATED
    return Kind.TEST if names & _TEST_FOLDERS else Kind.SOURCE
