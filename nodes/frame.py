"""A node's view of its task's state: typed, and read back into our classes whatever form it arrived in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from langchain_core.messages import AnyMessage, BaseMessage
from pydantic import TypeAdapter

from langgraph_recursive.state.answer import Answer
from langgraph_recursive.state.report import TaskReport
from langgraph_recursive.state.review import TaskReview
from langgraph_recursive.state.task import Attempt, ChildResult, Halt, Partial, PlannedChild, Task
from langgraph_recursive.state.usage import Usage
from langgraph_recursive.state.verdict import ValidationResult

__all__ = ("Frame",)


@dataclass(frozen=True)
class Frame:
    """The channels of one task (state/channels.py), with their defaults."""

    task: Any = None
    task_id: str | None = None
    messages: list[AnyMessage] = field(default_factory=list)
    current: Task | None = None
    plan: list[PlannedChild] = field(default_factory=list)
    children: dict[str, ChildResult] = field(default_factory=dict)
    reviews: list[TaskReview] = field(default_factory=list)
    next_child: int = 1
    replans: int = 0
    replanning: bool = False
    made_by: Literal["solve", "aggregate"] = "solve"
    best: Partial | None = None
    best_failures: int = 0
    report: TaskReport | None = None
    verdict: ValidationResult | None = None
    attempts: list[Attempt] = field(default_factory=list)
    halt: Halt | None = None
    elapsed: float = 0.0
    total_usage: Usage = field(default_factory=Usage)

    @classmethod
    def load(cls, values: Mapping[str, Any]) -> Frame:
        """Read the channels. A value that came back as plain data (strict msgpack, a server) is made ours again.

        Raises:
            pydantic.ValidationError: A stored value is not of its channel's type.
        """
        known = {name: values[name] for name in _ADAPTERS if name in values and values[name] is not None}
        loaded = {name: _ours(name, value) for name, value in known.items()}
        return cls(
            task=values.get("task"),
            task_id=values.get("task_id"),
            messages=values.get("messages") or [],
            **loaded,
        )

    @property
    def attempt(self) -> Task:
        """The attempt at work."""
        if self.current is None:
            raise RuntimeError("the task has not been admitted")
        return self.current

    @property
    def answered(self) -> TaskReport:
        """The report of the attempt at work."""
        if self.report is None:
            raise RuntimeError("the task has no report")
        return self.report

    @cached_property
    def accepted(self) -> list[Answer]:
        """The accepted children's answers, in plan order."""
        return [
            Answer(self.children[child.id].report, task=child.brief.objective)
            for child in self.plan
            if child.id in self.children and self.children[child.id].passed
        ]

    @property
    def missing(self) -> list[str]:
        """Ids of planned children without an accepted answer."""
        return [child.id for child in self.plan if child.id not in self.children or not self.children[child.id].passed]


_ADAPTERS: dict[str, TypeAdapter[Any]] = {
    "current": TypeAdapter(Task),
    "plan": TypeAdapter(list[PlannedChild]),
    "children": TypeAdapter(dict[str, ChildResult]),
    "reviews": TypeAdapter(list[TaskReview]),
    "next_child": TypeAdapter(int),
    "replans": TypeAdapter(int),
    "replanning": TypeAdapter(bool),
    "made_by": TypeAdapter(Literal["solve", "aggregate"]),
    "best": TypeAdapter(Partial),
    "best_failures": TypeAdapter(int),
    "report": TypeAdapter(TaskReport),
    "verdict": TypeAdapter(ValidationResult),
    "attempts": TypeAdapter(list[Attempt]),
    "halt": TypeAdapter(Halt),
    "elapsed": TypeAdapter(float),
    "total_usage": TypeAdapter(Usage),
}


def _ours(name: str, value: Any) -> Any:
    # An instance of a pydantic class passes validation as it is, so this costs little where nothing was lost.
    return _ADAPTERS[name].validate_python(value)


def last_human_text(messages: Sequence[BaseMessage]) -> str | None:
    """The text of the last human message."""
    texts = (
        message.text for message in reversed(messages) if isinstance(message, BaseMessage) and message.type == "human"
    )
    return next(texts, None)
