"""The content blocks of one Anthropic reply while they come, and what each of them is when it is closed."""

from typing import Any

from smith_server.core.messages import Part, Text, Thinking
from smith_server.llm.anthropic_wire import Delta, text_of
from smith_server.llm.assemble import Assembly, OpenCall, Run
from smith_server.llm.loose_json import encode, mend


class Thought:
    """A block of reasoning: its text, and what makes it acceptable to the provider later."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.signature: list[str] = []

    def closed(self, issuer: str) -> Part:
        """Only a signed block may be sent back, and then byte for byte."""
        text, signature = self.run.text, mend("".join(self.signature))
        if not signature:
            return Thinking(text)
        return Thinking(text, issuer, {"type": "thinking", "thinking": text, "signature": signature})


class Hidden:
    """A block of reasoning that nobody may read."""

    def __init__(self, data: str) -> None:
        self.data = data

    def closed(self, issuer: str) -> Part:
        return Thinking("", issuer, {"type": "redacted_thinking", "data": mend(self.data)})


Block = Run | Thought | Hidden | OpenCall


class Blocks:
    """The blocks by their index. Some gateways give one index several times: each start is a block."""

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._by_index: dict[int, Block | None] = {}
        self._all: list[tuple[int, Block]] = []

    def start(self, index: int | None, content: Any) -> None:
        """A block begins; `content` is what is known of it. Kinds of no interest stay without a block."""
        content = content if isinstance(content, dict) else {}
        place = self._place(index)
        self._by_index[place] = None
        match content.get("type"):
            case "text":
                self._add(place, self._assembly.open("text"))
                self._say(place, text_of(content.get("text")))
            case "thinking":
                self._add(place, Thought(self._assembly.open("thinking")))
                self._say(place, text_of(content.get("thinking")))
                self._sign(place, text_of(content.get("signature")))
            case "redacted_thinking":
                self._hide(place, text_of(content.get("data")))
            case "tool_use":
                self._call(place, content)

    def more(self, index: int | None, delta: Delta) -> None:
        """A piece of a block. Text needs no block to have been begun; anything else does."""
        if delta.type == "text_delta" and index is not None:
            run = self._by_index.get(index)
            if type(run) is Run and delta.text:
                self._assembly.add(run, delta.text)
                return
        place = self._place(index, known=True)
        match delta.type:
            case "text_delta":
                if place not in self._by_index:
                    self._add(place, self._assembly.open("text"))
                self._say(place, delta.text)
            case "thinking_delta":
                self._say(place, delta.thinking)
            case "signature_delta":
                self._sign(place, delta.signature)
            case "input_json_delta":
                block = self._by_index.get(place)
                if isinstance(block, OpenCall) and delta.partial_json:
                    block.arguments.append(delta.partial_json)

    def parts(self, issuer: str) -> list[Part | OpenCall]:
        """What came, in the order of the indexes; a call whose arguments never came has those of its start."""
        found = (_closed(block, issuer) for _, block in sorted(self._all, key=lambda each: each[0]))
        return [part for part in found if part is not None]

    def _place(self, index: int | None, *, known: bool = False) -> int:
        """An index; without one the last block's, or one behind it."""
        if index is not None:
            return index
        return max(self._by_index, default=-1) + (0 if known and self._by_index else 1)

    def _add(self, place: int, block: Block) -> None:
        self._by_index[place] = block
        self._all.append((place, block))

    def _say(self, place: int, text: str) -> None:
        block = self._by_index.get(place)
        run = block.run if isinstance(block, Thought) else block
        if isinstance(run, Run) and text:
            self._assembly.add(run, text)

    def _sign(self, place: int, signature: str) -> None:
        block = self._by_index.get(place)
        if isinstance(block, Thought) and signature:
            block.signature.append(signature)

    def _hide(self, place: int, data: str) -> None:
        if data:
            self._add(place, Hidden(data))
            self._assembly.note("thinking")

    def _call(self, place: int, content: dict[str, Any]) -> None:
        given = content.get("input")
        arguments = encode(given).decode() if given else ""
        call = OpenCall(text_of(content.get("id")).strip(), text_of(content.get("name")).strip(), arguments)
        self._add(place, call)
        self._assembly.call(call)


def _closed(block: Block, issuer: str) -> Part | OpenCall | None:
    match block:
        case OpenCall():
            return block if block.name else None
        case Run():
            return Text(block.text) if block.pieces else None
        case Thought():
            return block.closed(issuer) if block.run.pieces or block.signature else None
        case Hidden():
            return block.closed(issuer)
