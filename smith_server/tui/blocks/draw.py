"""Which file draws which kind of block, and what stands between two of them."""

from rich.text import Text

from smith_server.tui import state
from smith_server.tui.blocks import approval, call, notice, prompt, text, thinking

_WORK = (state.Approval, state.Call, state.Thinking)


def gap(previous: state.Block | None, block: state.Block) -> int:
    """Blank lines in front of `block`; calls and thoughts in a row belong together."""
    return 0 if previous is None or (_is_work(previous) and _is_work(block)) else 1


def _is_work(block: state.Block) -> bool:
    return isinstance(block, _WORK) or (isinstance(block, state.Notice) and block.level == "quiet")


def plain(block: state.Block, width: int) -> list[str]:
    """The whole block, as every face shows it."""
    match block:
        case state.Thinking():
            return thinking.plain(block, width)
        case state.Words():
            return text.plain(block, width)
        case state.Call():
            return call.plain(block, width)
        case state.Approval():
            return approval.plain(block, width)
        case state.Prompt():
            return prompt.plain(block, width)
        case state.Notice():
            return notice.plain(block, width)
    raise AssertionError(block)


def rows(block: state.Block, width: int) -> list[Text]:
    """What the terminal shows of a block that is no text of the model."""
    match block:
        case state.Thinking():
            return thinking.rows(block, width)
        case state.Call():
            return call.rows(block, width)
        case state.Approval():
            return approval.rows(block, width)
        case state.Prompt():
            return prompt.rows(block, width)
        case state.Notice():
            return notice.rows(block, width)
    raise AssertionError(block)


def transcript(blocks: list[state.Block], width: int) -> list[str]:
    """All blocks, whole."""
    lines: list[str] = []
    previous = None
    for block in blocks:
        lines += [""] * gap(previous, block) + plain(block, width)
        previous = block
    return lines
