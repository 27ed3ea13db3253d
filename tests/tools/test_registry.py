"""Which tools there are, in which order, and what a model is told of them."""

import json
import runpy
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from smith_server.core.tool import spec
from smith_server.policy.matrix import check_tool
from smith_server.policy.roles import ROLES
from smith_server.tools.announced import Announced
from smith_server.tools.exploring import Around, Known
from smith_server.tools.limits import Limits
from smith_server.tools.registry import Parts, Shell, Web, all_tools

ORDER = ["read", "edit", "replace", "write", "bash", "record", "recall", "note", "dispatch"]
NOTHING = cast(Any, None)
TOOL: dict[str, Any] = runpy.run_path(str(Path(__file__).resolve().parents[2] / "tools" / "gen_schemas.py"))
LATE: list[Announced] = TOOL["announced"]()


def nothing() -> Any:
    return None


def parts(report: Any = None) -> Parts:
    shell, web = Shell(nothing, nothing, Limits()), Web(nothing, 1)
    around = Around(nothing, NOTHING, (), Path("/"), Path("/"), tuple, Known(None))
    return Parts(nothing, around, shell, web, NOTHING, None, NOTHING, NOTHING, report)


def test_the_order_of_the_tools_never_changes() -> None:
    names = list(all_tools(parts()))
    assert [name for name in names if name in ORDER] == ORDER
    assert names == list(all_tools(parts()))


def test_only_a_child_has_a_report() -> None:
    assert "report" not in all_tools(parts())
    assert list(all_tools(parts("worker")))[-1] == "report"


def test_every_tool_is_found_under_its_own_name_and_can_be_described() -> None:
    for name, tool in all_tools(parts("explorer")).items():
        told = spec(tool)
        assert told.name == tool.name == name
        assert told.description.strip()
        assert told.schema["type"] == "object"
        assert "$ref" not in json.dumps(told.schema)


@pytest.mark.parametrize("role", ROLES, ids=[role.name for role in ROLES])
def test_every_tool_has_a_row_for_every_role(role: Any) -> None:
    for name in all_tools(parts("worker")):
        assert check_tool(role.row, name) in ("allow", "deny")
    assert any(check_tool(each.row, name) == "allow" for each in ROLES for name in ("read", "report"))


@pytest.mark.parametrize("tool", LATE, ids=[tool.name for tool in LATE])
def test_what_is_told_of_a_tool_before_it_is_loaded_is_what_it_says_itself(tool: Announced) -> None:
    assert msgspec.json.encode(tool.spec) == msgspec.json.encode(spec(tool.tool))


def test_the_schemas_are_written_as_the_tools_have_them() -> None:
    assert TOOL["FILE"].read_text("utf-8") == TOOL["written"]()
