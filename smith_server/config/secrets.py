"""Keys: read from the environment alone, blanked wherever text leaves the process."""

from collections.abc import Callable, Iterable, Mapping

_SHORTEST = 8
_BLANK = "[key]"

KEY_VARIABLES = ("OPENROUTER_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY")


def key_variables(configured: str) -> tuple[str, ...]:
    """Every variable that may hold a key; `configured` is the one named in the settings."""
    return tuple(dict.fromkeys((*KEY_VARIABLES, configured)))


def mask(environ: Mapping[str, str], names: Iterable[str]) -> Callable[[str], str]:
    """A function that blanks the values of these variables in a text.

    Values under eight characters are left: blanking them would hit ordinary words.
    """
    values = sorted({environ[name] for name in names if len(environ.get(name, "")) >= _SHORTEST}, key=len, reverse=True)
    if not values:
        return str

    def blank(text: str) -> str:
        for value in values:
            if value in text:
                text = text.replace(value, _BLANK)
        return text

    return blank
