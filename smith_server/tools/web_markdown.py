"""A page of HTML as markdown: tables, nested lists and absolute links, without menus and scripts.

The library is imported when it is first wanted.
"""

import re
from typing import Any
from urllib.parse import urljoin

_LEFT_OUT = ("head", "script", "style", "nav", "footer", "aside", "noscript", "svg", "iframe", "template")
_BASE = re.compile(r"<base\s[^>]*?href\s*=\s*[\"']?([^\"'\s>]+)", re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]*>([^<]{1,400})", re.IGNORECASE)
_LOOKED_AT = 65_536
_DEEPEST = 300
_BLANK_LINES = re.compile(r"\n{3,}")


def markdown_of(html: str, url: str) -> str:
    """The text of a page that was at `url`. Whatever is wrong with it, something comes out."""
    library = _library()
    options = library.ConversionOptions(
        base_url=_base(html, url),
        exclude_selectors=list(_LEFT_OUT),
        extract_metadata=False,
        max_depth=_DEEPEST,
        inline_data_media="alt_text_only",
        compact_tables=True,
    )
    text = library.convert(html, options).content or ""
    return _BLANK_LINES.sub("\n\n", text).strip()


def title_of(page: str) -> str:
    """What a page calls itself, or ""."""
    found = _TITLE.search(page, 0, _LOOKED_AT)
    return " ".join((_library().convert(found[1]).content or "").split()) if found else ""


def _library() -> Any:
    import html_to_markdown  # noqa: PLC0415 - most conversations fetch nothing

    return html_to_markdown


def _base(html: str, url: str) -> str:
    """What relative links of the page are relative to."""
    found = _BASE.search(html, 0, _LOOKED_AT)
    try:
        return urljoin(url, found[1]) if found else url
    except ValueError:
        return url
