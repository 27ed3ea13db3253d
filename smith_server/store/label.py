"""One line that stands for a text in a list."""

LONGEST = 80


def label_of(text: str) -> str:
    """The first line that is not blank, of 80 characters at most; "" when there is none."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1].rstrip()}…"
