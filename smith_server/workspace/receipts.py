"""What a model is told when an editor did not apply a change. Pure."""

from smith_server.core.editor import Receipt
from smith_server.core.errors import ToolRefusal

_ADVICE = {
    "expired": ("edit_expired", "The editor was not ready for it in time (the user is in the middle of something)"),
    "read_only": ("read_only", "The buffer is read-only"),
    "gone": ("edit_failed", "The buffer was closed while it was to be edited"),
    "refused": ("edit_refused", "The editor does not take edits of this buffer"),
    "failed": ("edit_failed", "The editor could not apply it"),
    "withdrawn": ("edit_withdrawn", "The edit was taken back before it was applied"),
    "stale": ("hash_mismatch", "The text has changed"),
}


def refusal(receipt: Receipt, name: str) -> ToolRefusal:
    """The refusal for a receipt that is not `applied`."""
    reason = f": {receipt.message}" if receipt.message else ""
    if receipt.status == "unknown":
        return ToolRefusal(
            "edit_unknown",
            f"The editor did not say whether it applied the edit of {name}{reason}. It may or may not be in the "
            "buffer: read the file before anything else is done to it.",
        )
    code, what = _ADVICE[receipt.status]
    return ToolRefusal(code, f"{what}{reason}. {name} was not changed. Try again later, or ask the user.")
