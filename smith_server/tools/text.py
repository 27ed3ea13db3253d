"""What a model reads of a tool: the file beside its code."""

from functools import cache
from pathlib import Path


@cache
def text_of(module_file: str) -> str:
    """The words in the `.md` beside a tool's module."""
    return Path(module_file).with_suffix(".md").read_text("utf-8").strip()
