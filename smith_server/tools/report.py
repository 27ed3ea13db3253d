"""`report`: how a child ends. What it says is put right first and checked second."""

from pathlib import Path
from typing import Any

from smith_server.core.report import Report, ReportKind, read_report, report_schema
from smith_server.core.tool import Effect, LooseArguments, Preview, ToolContext, ToolResult


class ReportTool:
    """The tool of one child; `taken` is its report once it has made one."""

    name = "report"
    effect = Effect.REPORT

    def __init__(self, kind: ReportKind) -> None:
        self.text = Path(__file__).with_suffix(".md").read_text("utf-8").strip()
        self.args = LooseArguments(report_schema(kind))
        self.taken: Report | None = None
        self._kind = kind

    async def preview(self, args: dict[str, Any], context: ToolContext) -> Preview:
        return Preview(str(args.get("status", "")))

    async def run(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        """Take the report. Raises `ToolRefusal` `invalid_report`, naming the field, and the work goes on."""
        self.taken = read_report(self._kind, args)
        return ToolResult("The report is delivered.", self.taken.status)
