"""Routing: which node comes next. Every edge of the state machine that depends on the state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.graph import END

from langgraph_recursive.state.task_state import TaskState

__all__ = (
    "after_admit",
    "after_answer",
    "after_decompose",
    "after_intervene",
    "after_recovery",
    "after_review",
    "after_verify",
)


def _of(channels: Mapping[str, Any]) -> TaskState:
    return TaskState.model_validate(channels["state"])


def _halted(state: TaskState) -> str | None:
    """Where a halted task goes, if it is one: a person is asked, or it ends."""
    if state.halt is None:
        return None
    return "intervene" if state.asking else END


def after_admit(channels: Mapping[str, Any]) -> str:
    """A refused spec ends the task; else its answer is made, or it goes on where a rewind put it."""
    state = _of(channels)
    if state.resume_at is not None:
        return state.resume_at
    return _halted(state) or state.attempt.start


def after_decompose(channels: Mapping[str, Any]) -> str:
    """A plan runs as sub-tasks; without one the task is solved directly."""
    state = _of(channels)
    return _halted(state) or ("subtasks" if state.plan else "solve")


def after_review(channels: Mapping[str, Any]) -> str:
    """Reports are decided on one by one; then actions run, or the task is planned anew, aggregated or ended."""
    state = _of(channels)
    if halted := _halted(state):
        return halted
    if state.out_of_budget is not None:
        return "aggregate"
    if state.reviewing:
        return "review"
    if state.replanning:
        return "decompose"
    return "subtasks" if state.open_actions else "aggregate"


def after_answer(channels: Mapping[str, Any]) -> str:
    """An answer is verified; a report without one has ended the task."""
    return _halted(_of(channels)) or "verify"


def after_verify(channels: Mapping[str, Any]) -> str:
    """An accepted answer or a validator's error ends the task; a rejected one is recovered, as is the gate's error."""
    state = _of(channels)
    return _halted(state) or (END if state.ended else "recovery")


def after_recovery(channels: Mapping[str, Any]) -> str:
    """The next attempt is admitted like the first."""
    return _halted(_of(channels)) or "admit"


def after_intervene(channels: Mapping[str, Any]) -> str:
    """A person has the task go on with another attempt, or ends it: accepted with a waiver, or halted."""
    return END if _of(channels).ended else "admit"
