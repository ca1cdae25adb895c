"""The tree of a run as data: fed by events while it runs, or by the checkpoints of what ran before."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from langgraph_recursive.state.ids import root_ref
from langgraph_recursive.state.task_state import TaskState

from ..history import TaskRecord

__all__ = ("Row", "Status", "Tree", "order")

Status = Literal[
    "waiting", "working", "split", "combining", "checking", "repairing", "checked", "unchecked", "halted", "stopped"
]

_ENDED: frozenset[Status] = frozenset({"checked", "unchecked", "halted", "stopped"})


@dataclass
class Row:
    """One task with all its attempts.

    Attributes:
        id: Id of its first attempt.
        parent: Id of the parent's attempt that planned it; None at the root.
        objective: What it is to do.
        status: What it is doing, or how it ended.
        attempt: The attempt it is at.
        calls: Component calls of the task itself, without its children.
        detail: The last complaint or halt.
        plan_of: The attempt whose plan its children belong to.
        plan: The children of that plan, those of a replan only if there was one.
        started: When, in seconds since the epoch; None when unknown.
        ended: Likewise.
    """

    id: str
    parent: str | None = None
    objective: str = ""
    status: Status = "waiting"
    attempt: int = 1
    calls: int = 0
    detail: str = ""
    plan_of: str | None = None
    plan: list[str] = field(default_factory=list)
    started: float | None = None
    ended: float | None = None

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.status in _ENDED


@dataclass
class Tree:
    """All tasks of a run.

    Attributes:
        max_attempts: The limit, to show attempts against.
        rows: By id of the first attempt, in the order in which they were met.
        fixes: Fix attempts made.
    """

    max_attempts: int = 3
    rows: dict[str, Row] = field(default_factory=dict)
    fixes: int = 0

    # --- reading ---

    def roots(self) -> list[Row]:
        """The root; empty before it was met."""
        return [row for row in self.rows.values() if row.parent is None]

    def children(self, row: Row, *, superseded: bool = False) -> list[Row]:
        """A task's sub-tasks: those of its latest plan, or also those of plans given up."""
        return [
            child
            for child in self.rows.values()
            if child.parent is not None
            and root_ref(child.parent) == row.id
            and (superseded or not self.given_up(child))
        ]

    def given_up(self, row: Row) -> bool:
        """Whether a task belongs to a plan that was given up: that of an earlier attempt, or what a replan replaced."""
        parent = self.rows.get(root_ref(row.parent)) if row.parent is not None else None
        if parent is None:
            return False
        if parent.plan_of not in (None, row.parent):
            return True
        replaced = row.id not in parent.plan and order(row.id) < max(map(order, parent.plan), default=[])
        return replaced and row.status not in ("checked", "unchecked")  # a replan keeps accepted children

    def shown(self) -> list[Row]:
        """The tasks in the tree as it stands, plans given up left out."""
        return [row for root in self.roots() for row in self._below(root)]

    def _below(self, row: Row) -> Iterator[Row]:
        yield row
        for child in self.children(row):
            yield from self._below(child)

    @property
    def calls(self) -> int:
        """Component calls of all tasks."""
        return sum(row.calls for row in self.rows.values())

    # --- events ---

    def feed(self, event: Mapping[str, Any]) -> None:
        """Take an event in (state/event.py)."""
        row = self._row(event["task_id"], event.get("parent_id"))
        row.attempt = max(row.attempt, event["attempt"])
        if row.status != "waiting" and row.started is None:
            row.started = event["time"]
        take = getattr(self, f"_on_{event['type']}", None)
        if take is not None:
            take(row, event, event["data"])
        if row.over:
            row.ended = event["time"]

    def _row(self, task_id: str, parent: str | None) -> Row:
        key = root_ref(task_id)
        row = self.rows.setdefault(key, Row(key))
        row.parent = row.parent or parent
        return row

    def _on_task_started(self, row: Row, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        row.objective = data["objective"]
        row.status = "combining" if data["start"] == "aggregate" else "working"
        row.started = row.started or event["time"]
        row.ended = None

    def _on_call_finished(self, row: Row, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        row.calls += 1

    def _on_decomposed(self, row: Row, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        row.status = "split"
        row.plan_of = event["task_id"]
        row.plan = [child_id for child_id, _ in data["children"]]
        for child_id, objective in data["children"]:
            child = self._row(child_id, event["task_id"])
            child.objective = objective

    def _on_reviewed(self, row: Row, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        row.status = "combining"

    def _on_solved(self, row: Row, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        row.status = "checking"

    _on_aggregated = _on_solved

    def _on_verified(self, row: Row, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        row.detail = "; ".join(data["issues"])

    def _on_recovering(self, row: Row, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        row.status = "repairing"
        self.fixes += 1

    def _on_accepted(self, row: Row, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        row.status = "checked" if data["verified"] else "unchecked"
        row.detail = ""

    def _on_halted(self, row: Row, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        row.status = "stopped" if data["halt"] == "cancelled" else "halted"
        row.detail = f"{data['halt']}: {data['detail']}"

    # --- checkpoints ---

    def load(self, tasks: Iterable[TaskRecord]) -> None:
        """Take in what the checkpoints tell, parents before children.

        They hold how long a task has taken, not when; a task takes at least as long as each of its children.
        """
        now = time.time()
        for record in tasks:
            self._load(record, now)
        self.rows = dict(sorted(self.rows.items(), key=lambda entry: order(entry[0])))
        for root in self.roots():
            self._stretch(root)

    def _stretch(self, row: Row) -> float | None:
        starts = [self._stretch(child) for child in self.children(row, superseded=True)]
        known = [start for start in (row.started, *starts) if start is not None]
        row.started = min(known, default=None)
        return row.started

    def _load(self, record: TaskRecord, now: float) -> None:
        task, state = record.task, record.state
        row = self._row(task.id, task.parent_id)
        row.objective = task.brief.objective
        row.attempt = task.attempt
        row.calls = record.usage.calls
        self.fixes += record.usage.fixes
        row.status, row.detail = _status_of(state)
        row.started = now - state.elapsed
        row.ended = now if row.over else None
        row.plan = [planned.id for planned in state.plan]
        for planned in state.plan:
            row.plan_of = planned.id.rpartition(".")[0]
            self._row(planned.id, row.plan_of).objective = planned.brief.objective


def _status_of(state: TaskState) -> tuple[Status, str]:
    if state.halt is not None:
        status: Status = "stopped" if state.halt.type == "cancelled" else "halted"
        return status, f"{state.halt.type}: {state.halt.detail}"
    if state.ended:
        return ("checked" if state.verdict is not None and state.verdict.verified else "unchecked"), ""
    if state.report is not None:
        return "checking", ""
    return ("split" if state.plan else "working"), ""


def order(task_id: str) -> list[int]:
    """Sort key of ids: in the order in which tasks were planned."""
    return [int(number) for number in re.findall(r"\d+", task_id)]
