"""A program for a window of kitty: rain until so many frames are written, then dry until a key comes."""

import asyncio
import sys

from smith_server.core import events
from smith_server.core.events import Envelope
from smith_server.tui.curtain import Curtain
from smith_server.tui.tty import Tty


class Counted(Tty):
    """Counts the frames that it writes."""

    frames = 0

    def write(self, text: str) -> None:
        super().write(text)
        self.frames += text.count("a=T")


async def main(frames: int) -> None:
    tty = Counted(1)
    curtain = Curtain(tty, lambda: None, is_able=True, tick=0.02)
    curtain.take(Envelope("c", "t", events.RequestStarted("m"), "j", "k", "worker"))
    while tty.frames < frames and curtain.shows:
        await asyncio.sleep(0.05)
    curtain.stop()
    tty.write(f"FRAMES {tty.frames}\r\n")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
    sys.stdin.readline()
