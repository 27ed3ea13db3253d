"""The world of the demo: a home of its own, and a model whose words are written."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def variables(home: Path) -> dict[str, str]:
    """What the environment needs for it; nothing of the person's own home is used."""
    return {
        **{f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA", "STATE")},
        "SMITH_HOME": str(home / "smith"),
        "SMITH_PROVIDER": "scripted",
        "SMITH_SCRIPT": str(HERE / "script.json"),
        "SMITH_DEMO_PYTHON": sys.executable,
    }
