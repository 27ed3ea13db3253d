"""What one turn may use, what it has used, and the one check that says whether it may go on. Pure.

Reaching a limit of tool calls ends nothing by itself: the model may still answer, or end with a
terminal tool. Only a further call is not run, and then the turn stops.
"""

from msgspec import Struct
from msgspec.structs import replace

from smith_server.core.errors import AgentError, agent_error


class Budget(Struct, frozen=True):
    """Limits and use of one turn; a limit of None is none.

    `steps` counts tool calls, those that were denied, unknown or invalid too, but no terminal ones;
    `refused` those that were not run for want of budget. `max_cost` is in US dollars, for the whole
    conversation. `began` and every `now` are seconds of one clock.
    """

    max_steps: int | None = None
    max_requests: int | None = None
    max_cost: float | None = None
    max_seconds: float | None = None
    steps: int = 0
    refused: int = 0
    requests: int = 0
    began: float = 0.0

    def has_step(self, *, terminal: bool = False) -> bool:
        """Whether one more call may run; a terminal one always may, else a subagent could not finish."""
        return terminal or self.max_steps is None or self.steps < self.max_steps

    def with_step(self, *, terminal: bool = False) -> "Budget":
        """The budget after one more call was taken up, or refused if there was no step for it."""
        if terminal:
            return self
        if self.has_step():
            return replace(self, steps=self.steps + 1)
        return replace(self, refused=self.refused + 1)

    def with_request(self) -> "Budget":
        """The budget after one more request."""
        return replace(self, requests=self.requests + 1)

    def overspent(self, spent: float) -> AgentError | None:
        """Why nothing more may be paid for when the conversation has cost `spent`, or None."""
        if self.max_cost is None or spent < self.max_cost:
            return None
        text = f"This conversation has cost ${spent:.4f} of at most ${self.max_cost:.4f} (`max_budget_usd`)."
        text += " Raise the limit to go on."
        return agent_error("budget_exhausted", "max_cost", text, spent_usd=spent, limit_usd=self.max_cost)

    def exhausted(self, now: float, spent: float = 0.0) -> AgentError | None:
        """Why no further request may be made, or None. Money is named before anything else."""
        if (error := self.overspent(spent)) is not None:
            return error
        if self.refused:
            limit = f"One turn may make {self.max_steps} tool calls (`tool_step_budget`)"
            return _error("tool_step_budget", f"{limit}. Send another prompt")
        if self.max_seconds is not None and now - self.began >= self.max_seconds:
            return _error("max_seconds", f"One turn may take {self.max_seconds:g} seconds. Send another prompt")
        if self.max_requests is not None and self.requests >= self.max_requests:
            limit = f"One prompt may make {self.max_requests} requests (`max_requests`)"
            return _error("max_requests", f"{limit}. Send another prompt")
        return None


def refusal(budget: Budget) -> str:
    """The result of a call that is not run for want of budget."""
    return f"Not executed: budget exhausted ({budget.max_steps} tool calls per turn)."


def _error(code: str, text: str) -> AgentError:
    return agent_error("budget_exhausted", code, f"{text} to go on.")
