"""What checkpoints and results hold of a task, as it is shown."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from langgraph_recursive.state.report import TaskReport
from langgraph_recursive.state.task import Attempt
from langgraph_recursive.state.task_state import TaskState
from langgraph_recursive.state.verdict import ValidationResult

from .views import AttemptView
from .words import Status, check_name

__all__ = ("attempt_of", "attempts_of", "decided", "linked", "status_of")

_GIVEN = ("reason", "spec", "hint", "limits", "model", "answer")


def status_of(state: TaskState) -> Status:
    """How a task stands."""
    if state.halt is not None:
        return "stopped" if state.halt.type == "cancelled" else "halted"
    if state.ended:
        return "checked" if state.verdict is not None and state.verdict.verified else "unchecked"
    if state.report is not None:
        return "checking"
    return "split" if state.plan else "working"


def attempts_of(state: TaskState) -> list[AttemptView]:
    """The attempts of a task, that at work included. The whole answer is kept of the last one only."""
    attempts = [attempt_of(known, state.verdict, state.report) for known in state.attempts]
    current = state.attempt
    if current.id not in {attempt.id for attempt in attempts}:
        answer = "" if state.report is None else state.report.text
        made_by = "" if state.report is None else state.made_by
        attempts.append(AttemptView(current.id, current.attempt, made_by=made_by, answer=answer))
    made = {trace.task_id: trace.detail for trace in state.log if trace.type in ("SOLVED", "AGGREGATED")}
    for attempt in attempts:
        attempt.answer = attempt.answer or made.get(attempt.id, "")
    return linked(attempts)


def attempt_of(known: Attempt, verdict: ValidationResult | None, report: TaskReport | None) -> AttemptView:
    """One attempt.

    Args:
        known: The attempt.
        verdict: The task's latest verdict, which may be another attempt's.
        report: Its latest report, likewise.
    """
    view = AttemptView(
        known.id,
        known.attempt,
        outcome=known.outcome,
        made_by=known.start,
        failures=known.failures,
        halt=known.halt,
        decided="" if known.intervention is None else decided(known.intervention.model_dump()),
        rewound=known.rewound,
    )
    if verdict is not None and verdict.evaluated_task_id == known.id:
        passed = [check for check in verdict.checks if check.status == "passed"]
        view.passed = [(check_name(check.validator_id, check.check_id), check.justification) for check in passed]
    if report is not None and report.child_task_id == known.id and report.answered:
        view.answer = report.text
    return view


def decided(intervention: Mapping[str, Any]) -> str:
    """What a person decided about a halt, in words, from the fields of Intervention that are known."""
    given = ", ".join(f"{name} {intervention[name]}" for name in _GIVEN if intervention.get(name))
    return f"{intervention['by']}: {intervention['decision']}{given and f', {given}'}"


def linked(attempts: list[AttemptView]) -> list[AttemptView]:
    """Put attempts in order, and have each know the next."""
    attempts.sort(key=lambda attempt: attempt.number)
    for one, two in itertools.pairwise(attempts):
        one.next = one.next or two.id
    return attempts
