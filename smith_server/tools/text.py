"""What a model reads of a tool: the file beside its code."""

from pathlib import Path


def text_of(module_file: str) -> str:
    """The words in the `.md` beside a tool's module."""
    return Path(module_file).with_suffix(".md").read_text("utf-8").strip()
