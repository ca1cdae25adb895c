"""Small things for tests of validation: tasks, plans, and model validators that decide as a table says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool, StructuredTool

from langgraph_recursive.state.brief import RootTaskAnchor, TaskBrief
from langgraph_recursive.state.report import TaskReport, answer_report
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.validation import ValidationPlan, ValidationPolicy, compile_plan

__all__ = ("ANCHOR", "Session", "asked", "brief", "decide", "deciding", "opened", "plan_of", "report", "task")

ANCHOR = RootTaskAnchor(objective="sum the orders", completion_criteria=["the sum is right", "the currency is named"])

_CHECKS = re.compile(r'<quoted kind="checks" scope="(\w+)">\n(.*?)\n</quoted>', re.DOTALL)
_LINE = re.compile(r"^(\S+) \((?:required|optional)\): ", re.MULTILINE)


def brief(objective: str = "count", **fields: Any) -> TaskBrief:
    return TaskBrief(
        **{
            "objective": objective,
            "reason": "a part",
            "completion_criteria": ["it is counted"],
            "expected_outputs": ["a number"],
            **fields,
        }
    )


def task(task_id: str = "t.1", *, attempt: int = 1, **fields: Any) -> Task:
    given = fields.pop("brief", None) or brief()
    return Task(
        **{"spec": str(given), "anchor": ANCHOR, "parent_id": "t", "depth": 1, **fields},
        id=task_id,
        attempt=attempt,
        brief=given,
    )


def report(text: str = "7", **fields: Any) -> TaskReport:
    return answer_report(text).model_copy(update={"child_task_id": "t.1", **fields})


def plan_of(
    checked: Task | None = None, made: TaskReport | None = None, *, scopes: Sequence[str] = ("task",), **fields: Any
) -> ValidationPlan:
    checked = checked or task(brief=brief(validation_scopes=list(scopes)))
    return compile_plan(
        checked, made or report(), **{"policy": ValidationPolicy(), "verifiers": {}, "model": "m", **fields}
    )


def asked(messages: Iterable[BaseMessage]) -> tuple[str, list[str]]:
    """The scope and the check ids that a validator was asked for."""
    found = _CHECKS.search("\n".join(str(message.text) for message in messages))
    assert found is not None, "no validator was asked"
    return found.group(1), _LINE.findall(found.group(2))


def decide(messages: Sequence[BaseMessage], statuses: Mapping[str, str] | None = None, **fields: Any) -> dict[str, Any]:
    """Decide every check asked for: by `scope/check`, by scope, else passed."""
    scope, ids = asked(messages)
    table = statuses or {}
    checks = [
        {
            "check_id": check_id,
            "status": table.get(f"{scope}/{check_id}", table.get(scope, "passed")),
            "justification": f"looked at {check_id}",
            **fields,
        }
        for check_id in ids
    ]
    return {"scope": scope, "checks": checks}


def deciding(statuses: Mapping[str, str] | None = None, **fields: Any) -> Callable[[Sequence[BaseMessage]], Any]:
    """A script that decides as a table says."""
    return lambda messages: decide(messages, statuses, **fields)


class Session:
    """A validator's private tools: one that opens a page by its name."""

    def __init__(self, pages: Mapping[str, str] | None = None) -> None:
        self.pages = dict(pages or {"orders": "3 and 4"})
        self.opened: dict[str, str] = {}
        self.calls = 0

    def tools(self) -> list[BaseTool]:
        def open_page(name: str) -> str:
            """Open a page."""
            self.calls += 1
            self.opened[f"s{len(self.opened) + 1}"] = name
            return self.pages[name]

        return [StructuredTool.from_function(open_page)]


def opened(sessions: list[Session]) -> Session:
    """A new session, remembered."""
    sessions.append(Session())
    return sessions[-1]
