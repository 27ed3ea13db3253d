"""A floor: one process reads the files of a list, parses them and asks for their tags, with bare tree-sitter."""

import json
import sys
from importlib import import_module
from importlib.resources import files
from pathlib import Path

from tree_sitter import Language, Parser, Query, QueryCursor


def main() -> None:
    """Count the definitions of all files in the list `argv[1]`, one path a line, all in the language `argv[2]`."""
    module = import_module(f"tree_sitter_{sys.argv[2]}")
    language = Language(module.language())
    parser = Parser(language)
    tags = files(module).joinpath("queries/tags.scm").read_text()
    query = Query(language, tags)
    for index in range(query.pattern_count):
        if "@definition" not in tags[query.start_byte_for_pattern(index) : query.end_byte_for_pattern(index)]:
            query.disable_pattern(index)
    found = []
    for path in Path(sys.argv[1]).read_text().splitlines():
        source = Path(path).read_bytes()
        for _, captures in QueryCursor(query).matches(parser.parse(source).root_node):
            label = next(label for label in captures if label != "name")
            name = captures["name"][0]
            found.append(
                (label, source[name.start_byte : name.end_byte].decode("utf-8", "replace"), name.start_point[0])
            )
    print(json.dumps(len(found)))


if __name__ == "__main__":
    main()
