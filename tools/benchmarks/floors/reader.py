"""Row 19: the bytes of a long stream through the program's own reader of a protocol, without a socket."""

import json
import resource
import sys
import time

from smith_server.core.ports import Done, TextDelta
from smith_server.llm.dialects import DIALECTS
from smith_server.llm.presets import PRESETS

READ = 65536
WORDS = " some words"


def openai() -> tuple[bytes, bytes]:
    """An event as relays send them, and the end."""
    choice = {"index": 0, "delta": {"content": WORDS}, "logprobs": None, "finish_reason": None}
    head = {"id": "chatcmpl-0123456789", "object": "chat.completion.chunk", "created": 1700000000, "model": "a-model"}
    return b"data: " + json.dumps({**head, "choices": [choice]}).encode() + b"\n\n", b"data: [DONE]\n\n"


def anthropic() -> tuple[bytes, bytes]:
    """The same in the other protocol."""
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": WORDS}}
    event = b"event: content_block_delta\ndata: " + json.dumps(delta).encode() + b"\n\n"
    return event, b'event: message_stop\ndata: {"type": "message_stop"}\n\n'


def main() -> None:
    """Read so many bytes; tell MB/s, the event, and by how many MB memory grew beyond the text kept."""
    preset, size = PRESETS[sys.argv[1]], int(sys.argv[2])
    event, ending = {"openai": openai, "anthropic": anthropic}[preset.dialect]()
    block = event * (READ * 16 // len(event))
    chunks = [block[at : at + READ] for at in range(0, len(block), READ)]
    reader = DIALECTS[preset.dialect].reader(preset, "text/event-stream", ())
    shown, read, early, kept = 0, 0, 0, 0
    began = time.process_time()
    while read < size:
        for chunk in chunks:
            for delta in reader.feed(chunk):
                shown += len(delta.text) if isinstance(delta, TextDelta) else 0
        read += len(block)
        if not early and read * 10 >= size:
            early, kept = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, shown
    taken = time.process_time() - began
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - early) * 1024 - (shown - kept)
    reader.feed(ending)
    assert isinstance(reader.end()[-1], Done) and shown == read // len(event) * len(WORDS), "every event has to be read"
    print(json.dumps({"per_second": read / 1e6 / taken, "grown": grown / 1e6, "event": event.hex()}))


main()
