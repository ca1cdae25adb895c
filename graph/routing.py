"""Routing: which node comes next. Every edge of the state machine that depends on the state."""

from __future__ import annotations

from langgraph.graph import END

from langgraph_recursive.state.task_state import TaskState

__all__ = (
    "after_admit",
    "after_answer",
    "after_decompose",
    "after_intervene",
    "after_recovery",
    "after_review",
    "after_subtasks",
    "after_verify",
)


def _halted(state: TaskState) -> str | None:
    """Where a halted task goes, if it is one: a person is asked, or it ends."""
    if state.halt is None:
        return None
    return "intervene" if state.asking else END


def after_admit(state: TaskState) -> str:
    """A refused spec ends the task; else its answer is made, or it goes on where a rewind put it."""
    if state.resume_at is not None:
        return state.resume_at
    return _halted(state) or state.attempt.start


def after_decompose(state: TaskState) -> str:
    """A plan runs as sub-tasks; without one the task is solved directly."""
    return _halted(state) or ("subtasks" if state.plan else "solve")


def after_subtasks(state: TaskState) -> str:
    """Whatever the children came to, it is judged."""
    return "review"


def after_review(state: TaskState) -> str:
    """Reports are decided on one by one; then actions run, or the task is planned anew, aggregated or ended."""
    if halted := _halted(state):
        return halted
    if state.out_of_budget is not None:
        return "aggregate"
    if state.reviewing:
        return "review"
    if state.replanning:
        return "decompose"
    return "subtasks" if state.open_actions else "aggregate"


def after_answer(state: TaskState) -> str:
    """An answer is verified; a report without one has ended the task."""
    return _halted(state) or "verify"


def after_verify(state: TaskState) -> str:
    """An accepted answer or a validator's error ends the task; a rejected one is recovered, as is the gate's error."""
    return _halted(state) or (END if state.ended else "recovery")


def after_recovery(state: TaskState) -> str:
    """The next attempt is admitted like the first."""
    return _halted(state) or "admit"


def after_intervene(state: TaskState) -> str:
    """A person has the task go on with another attempt, or ends it: accepted with a waiver, or halted."""
    return END if state.ended else "admit"
