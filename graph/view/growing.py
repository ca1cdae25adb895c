"""The tasks of a run as they become known: event by event while it runs, or at once from its checkpoints."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph_recursive.state.event import Limits
from langgraph_recursive.state.failure import Failure
from langgraph_recursive.state.ids import root_ref
from langgraph_recursive.state.task import Halt

from ..history import TaskRecord
from .stored import attempts_of, decided, status_of
from .views import AttemptView, TaskView
from .words import Status, check_name

__all__ = ("GrowingTree", "order", "said")


@dataclass
class _Plan:
    """The latest plan of a task: the attempt it is of, and its children, those of a replan only if there was one."""

    of: str
    children: list[str]


@dataclass
class GrowingTree:
    """The tasks of one run.

    Attributes:
        tasks: By id of the first attempt, in the order in which they were met.
        budget: What the run has spent of its limits, as it told last.
    """

    tasks: dict[str, TaskView] = field(default_factory=dict)
    budget: Limits = field(default_factory=dict)
    _plans: dict[str, _Plan] = field(default_factory=dict)
    _paused: dict[str, Status] = field(default_factory=dict)
    _run: str | None = None
    _told: float = 0.0

    def roots(self) -> list[TaskView]:
        """The topmost tasks, with all others below them."""
        roots = []
        for task in self.tasks.values():
            task.children = []
        for task in self.tasks.values():
            parent = self._parent(task)
            if parent is None:
                roots.append(task)
            else:
                parent.children.append(task)
                task.given_up = self._given_up(task, parent)
        return roots

    def _parent(self, task: TaskView) -> TaskView | None:
        return None if task.parent is None else self.tasks.get(root_ref(task.parent))

    def _given_up(self, task: TaskView, parent: TaskView) -> bool:
        """Whether a task belongs to a plan that was given up: that of an earlier attempt, or what a replan replaced."""
        plan = self._plans.get(parent.id)
        if plan is None:
            return False
        if plan.of != task.parent:
            return True
        replaced = task.id not in plan.children and order(task.id) < max(map(order, plan.children), default=[])
        return replaced and task.status not in ("checked", "unchecked")  # a replan keeps accepted children

    def _task(self, task_id: str, parent: str | None) -> TaskView:
        key = root_ref(task_id)
        task = self.tasks.setdefault(key, TaskView(key, calls=0, tokens=0))
        task.parent = task.parent or parent
        return task

    # --- events ---

    def feed(self, event: Mapping[str, Any]) -> None:
        """Take an event in (state/event.py); a type that is not known is passed over."""
        take = getattr(self, f"_on_{event['type']}", None)
        if take is None:
            return
        if event["run_id"] != self._run:
            self._resumed(event)
        self._told = event["time"]
        task = self._task(event["task_id"], event["parent_id"])
        take(task, event, event["data"])
        if task.status != "waiting" and task.started is None:
            task.started = event["time"]

    def _resumed(self, event: Mapping[str, Any]) -> None:
        """Forget what went on in the process before: its calls have ended, its questions were answered.

        The time between the two is not the tasks' own.
        """
        self._run = event["run_id"]
        for task in self.tasks.values():
            if task.started is not None and not task.over:
                task.started += event["time"] - self._told
            task.under_way, task.asks = {}, []
            task.status = self._paused.pop(task.id, task.status)

    def _attempt(self, task: TaskView, event: Mapping[str, Any]) -> AttemptView:
        known = next((attempt for attempt in task.attempts if attempt.id == event["task_id"]), None)
        if known is None:
            known = AttemptView(event["task_id"], event["attempt"])
            task.attempts = sorted([*task.attempts, known], key=lambda attempt: attempt.number)
        return known

    def _on_task_created(self, task: TaskView, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        task.objective = data["objective"]
        task.depends_on = list(data["depends_on"])

    def _on_task_started(self, task: TaskView, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self._attempt(task, event)
        task.objective = data["objective"]
        task.limit = data.get("max_attempts")
        task.status = "combining" if data["start"] == "aggregate" else "working"
        task.halt, task.duration, task.answer = None, None, ""

    def _on_call_queued(self, task: TaskView, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        task.under_way[data["id"]] = False

    def _on_call_started(self, task: TaskView, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        task.under_way[data["id"]] = True

    def _on_call_finished(self, task: TaskView, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        usage = event["usage"] or {}
        task.under_way.pop(data.get("id", ""), None)
        task.calls = (task.calls or 0) + (not data.get("asks"))
        task.tokens = (task.tokens or 0) + int(usage.get("input_tokens", 0) + usage.get("output_tokens", 0))
        self.budget = data.get("budget") or self.budget

    def _on_interrupted(self, task: TaskView, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self._paused.setdefault(task.id, task.status)
        task.status = "asking"
        task.asks.append(data["value"])

    def _on_decomposed(self, task: TaskView, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        task.status = "split"
        self._plans[task.id] = _Plan(event["task_id"], [child_id for child_id, _ in data["children"]])
        for child_id, objective in data["children"]:
            self._task(child_id, event["task_id"]).objective = objective

    def _on_reviewed(self, task: TaskView, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        task.status = "combining"

    def _on_goal_changed(self, task: TaskView, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        if data["goal"] == "waiting_children" and not task.over:
            task.status = "split"

    def _on_solved(self, task: TaskView, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        task.status = "checking"
        attempt = self._attempt(task, event)
        attempt.made_by = "solve" if event["type"] == "solved" else "aggregate"
        attempt.answer = data["answer"]

    _on_aggregated = _on_solved

    def _on_verified(self, task: TaskView, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        attempt = self._attempt(task, event)
        attempt.outcome = data["outcome"]
        attempt.whole = False
        told = [Failure.model_validate(failure) for failure in data.get("failures", ())]
        attempt.failures = told or [said(attempt, issue) for issue in data["issues"]]
        attempt.passed = [(check_name(by, check), why) for by, check, why in data.get("passed", ())]

    def _on_stalled(self, task: TaskView, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self._attempt(task, event).repeats = data["repeats"]

    def _on_recovering(self, task: TaskView, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        task.status = "repairing"
        self._attempt(task, event).next = data["fix"]

    def _on_rewound(self, task: TaskView, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        for attempt in task.attempts:
            attempt.rewound = attempt.rewound or attempt.id in data["undone"]

    def _on_intervened(self, task: TaskView, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        attempt = self._attempt(task, event)
        attempt.decided = decided(data)
        if data["decision"] == "retry":
            task.status, task.halt, task.duration = "repairing", None, None
            attempt.next = data["fix"] if data["fix"] != attempt.id else None
        if data["decision"] == "accept":
            task.status, task.halt = "unchecked", None
            task.answer = attempt.answer = data.get("answer") or attempt.answer

    def _on_budget_spent(self, task: TaskView, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self.budget = data["budget"]

    def _on_accepted(self, task: TaskView, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self._ended(task, event, "checked" if data["verified"] else "unchecked")
        task.halt, task.answer = None, data["answer"]
        self._attempt(task, event).answer = data["answer"]

    def _on_halted(self, task: TaskView, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self._ended(task, event, "stopped" if data["halt"] == "cancelled" else "halted")
        attempt = self._attempt(task, event)
        attempt.halt, task.answer = data["halt"], ""
        task.halt = Halt(type=data["halt"], task_id=attempt.id, attempt=attempt.number, detail=data["detail"])

    def _ended(self, task: TaskView, event: Mapping[str, Any], status: Status) -> None:
        task.status, task.under_way = status, {}
        if task.started is not None:
            task.duration = event["time"] - task.started

    # An agent that is a part of a solver speaks of the solver's task, which goes on; by itself it is the whole run.

    def _on_goal_submitted(self, task: TaskView, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        if not task.attempts:
            task.objective, task.status = data["goal"], "working"

    def _on_goal_achieved(self, task: TaskView, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        if not task.attempts:
            achieved = event["type"] == "goal_achieved"
            self._ended(task, event, "unchecked" if achieved else "halted")
            task.answer = (data["solution"] or "") if achieved else ""

    _on_goal_failed = _on_goal_exhausted = _on_goal_timed_out = _on_goal_achieved

    # --- checkpoints ---

    def load(self, records: Sequence[TaskRecord]) -> None:
        """Take in what the checkpoints tell, parents before children, of one task what it came to last at the end.

        They hold how long a task has taken, not when; a task takes at least as long as each of its children.
        """
        now = self._told = time.time()
        asked = {key: record for record in records for key in record.asks}  # of several, the deepest asks
        for record in records:
            self._load(record, records, now)
            self._load_asks(record, [text for key, text in record.asks.items() if asked[key] is record])
        self.tasks = dict(sorted(self.tasks.items(), key=lambda entry: order(entry[0])))
        for root in self.roots():
            _stretch(root)

    def _load(self, record: TaskRecord, records: Sequence[TaskRecord], now: float) -> None:
        state, chain = record.state, [known for known in records if known.task.root_ref == record.task.root_ref]
        task = self._task(record.task.id, record.task.parent_id)
        task.objective = record.task.brief.objective
        task.status, task.attempts, task.halt = status_of(state), attempts_of(state), state.halt
        task.answer = state.answered.text if state.ended and state.halt is None else ""
        task.calls = sum(known.usage.calls for known in chain)
        task.tokens = sum(known.usage.total_tokens for known in chain)
        task.started, task.duration = now - state.elapsed, state.elapsed if state.ended else None
        if state.plan:
            self._plans[task.id] = _Plan(state.plan[0].id.rpartition(".")[0], [child.id for child in state.plan])
        for child in state.plan:
            planned = self._task(child.id, child.id.rpartition(".")[0])
            planned.objective, planned.depends_on = child.brief.objective, child.depends_on

    def _load_asks(self, record: TaskRecord, asks: list[str]) -> None:
        task = self.tasks[record.task.root_ref]
        if asks:
            self._paused[task.id], task.status, task.asks = task.status, "asking", asks


def _stretch(task: TaskView) -> None:
    for child in task.children:
        _stretch(child)
    family = [task, *task.children]
    task.started = min((known.started for known in family if known.started is not None), default=None)
    if task.duration is not None:
        task.duration = max(known.duration or 0.0 for known in family)


def said(attempt: AttemptView, text: str) -> Failure:
    """A failure of which only words are known."""
    return Failure(attempt=attempt.number, validator_id="", justification=text, task_id=attempt.id)


def order(task_id: str) -> list[int]:
    """Sort key of ids: in the order in which tasks were planned."""
    return [int(number) for number in re.findall(r"\d+", task_id)]
