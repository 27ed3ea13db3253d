"""A watcher that kitty loads: how many images and placements it holds, looked at ten times a second.

Writes a line for each look to the file that `SMITH_WATCHED` names.
"""

import os
from pathlib import Path
from typing import Any

SECONDS = 0.1


def on_resize(boss: Any, window: Any, data: Any) -> None:
    """kitty calls this when a window gets its first size."""
    from kitty.fast_data_types import add_timer  # type: ignore[import-not-found]

    looks = Path(os.environ["SMITH_WATCHED"])
    screen = window.screen

    def look(_: Any) -> None:
        # The cells' sizes only scale what is answered.
        placements = screen.grman.update_layers(0, -1.0, 1.0, 0.1, 0.1, screen.columns, screen.lines, 10, 20)
        with looks.open("a", encoding="ascii") as file:
            file.write(f"{screen.grman.image_count} {len(placements)}\n")

    if not looks.exists():
        looks.touch()
        add_timer(look, SECONDS, True)
