"""Calling a tool as the pipeline does: JSON in, a result or the text of a refusal out."""

import json

from smith_server.core.calls import refused
from smith_server.core.cancel import CancelToken
from smith_server.core.errors import ToolRefusal
from smith_server.core.tool import ToolContext, decode_arguments


def context_in(folder, call_id="call"):
    return ToolContext(call_id, CancelToken(), folder, lambda text: None)


async def call(tool, folder, call_id="call", **arguments):
    args = decode_arguments(tool.args, json.dumps(arguments))
    try:
        return await tool.run(args, context_in(folder, call_id))
    except ToolRefusal as problem:
        return refused(problem.error)


async def preview(tool, folder, call_id="call", **arguments):
    return await tool.preview(decode_arguments(tool.args, json.dumps(arguments)), context_in(folder, call_id))
