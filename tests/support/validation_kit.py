"""Small things for tests of validation: tasks, plans, and model validators that decide as a table says."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.state.brief import RootTaskAnchor, TaskBrief
from langgraph_recursive.state.errors import ComponentError
from langgraph_recursive.state.report import TaskReport, answer_report
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.validation import ValidationPlan, compile_plan
from langgraph_recursive.state.validation_policy import ValidationPolicy
from langgraph_recursive.state.verdict import Verdict, accept
from scripted import ScriptedChatModel

__all__ = ("ANCHOR", "Job", "Session", "asked", "brief", "decide", "deciding", "opened", "plan_of", "report", "task")

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


class Job:
    """A root with one child that is validated in three scopes; the process dies in one call, once.

    Args:
        dies_in: The call: a scope, `solve`, or `check` with the task's id.
    """

    def __init__(self, *, dies_in: str = "task") -> None:
        self.saver = InMemorySaver()
        self.calls: Counter[str] = Counter()
        self.dies_in = dies_in

    def check(self, task: Task) -> Verdict:
        self._called(f"check {task.id}")
        return accept("fine")

    def solve(self, task: Task) -> str:
        self._called("solve")
        return "7"

    def answer(self, messages: list[BaseMessage]) -> Any:
        scope, _ = asked(messages)
        self._called(scope)
        return decide(messages)

    def _called(self, name: str) -> None:
        self.calls[name] += 1
        if name == self.dies_in:
            raise ComponentError("the process died")

    def build(self, *, name: str = "one", **options: Any) -> Any:
        """A solver of another process: nothing but the saver is shared."""
        return create_recursive_solver(
            **{
                "solver": self.solve,
                "decomposer": lambda task, depth: [brief("part")] if depth == 0 else [],
                "aggregator": lambda task, results: "7",
                "verifiers": [self.check],
                "validation_policy": ValidationPolicy(scopes=["hypothesis", "output"]),
                "validator_model": ScriptedChatModel(answers=self.answer, name=name),
                "checkpointer": self.saver,
                **options,
            }
        )

    def killed(self, run: Callable[..., Any], config: Any, **options: Any) -> None:
        with pytest.raises(ComponentError, match="died"):
            run(self.build(**options), "sum", config)
        self.dies_in = ""
        self.calls.clear()
