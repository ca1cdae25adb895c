"""Goal states: what the protocol shows of a task. Computed from its state, never stored (rules.md 26)."""

from __future__ import annotations

from enum import StrEnum

from .task_state import TaskState

__all__ = ("NEXT_GOALS", "GoalStatus", "goal_path", "goal_status")


class GoalStatus(StrEnum):
    """Where a task stands (protocol, state machine).

    `pending`: not admitted yet. `in_progress`: it plans, solves, combines or checks. `waiting_children`: children run.
    `pending_review`: a report of theirs is to be reviewed. `completed`: it has an accepted answer. `failed`: it halted.
    """

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    WAITING_CHILDREN = "waiting_children"
    PENDING_REVIEW = "pending_review"
    COMPLETED = "completed"
    FAILED = "failed"


_G = GoalStatus

NEXT_GOALS: dict[GoalStatus, tuple[GoalStatus, ...]] = {
    _G.PENDING: (_G.IN_PROGRESS,),
    _G.IN_PROGRESS: (_G.COMPLETED, _G.FAILED, _G.WAITING_CHILDREN),
    _G.WAITING_CHILDREN: (_G.PENDING_REVIEW,),
    _G.PENDING_REVIEW: (_G.IN_PROGRESS, _G.COMPLETED, _G.FAILED),
    _G.COMPLETED: (_G.IN_PROGRESS,),
    _G.FAILED: (_G.IN_PROGRESS,),
}
"""What may follow a state. An ended task goes on when its parent revises it, or its thread gets another task."""


def goal_status(state: TaskState) -> GoalStatus:
    """Say where a task stands."""
    if state.current is None:
        return _G.PENDING
    if state.ended:
        return _G.FAILED if state.halt is not None else _G.COMPLETED
    if state.replanning or state.report is not None:
        return _G.IN_PROGRESS
    waiting = state.open_actions or bool(_awaited(state))
    if _unreviewed(state) and (state.reviewing or not waiting):
        return _G.PENDING_REVIEW
    return _G.WAITING_CHILDREN if waiting else _G.IN_PROGRESS


def goal_path(before: GoalStatus, after: GoalStatus) -> list[GoalStatus]:
    """List the states a task went through from one to another: a node may take it more than one step further."""
    paths = [[before]]
    while before is not after:
        longer = [[*path, step] for path in paths for step in NEXT_GOALS[path[-1]] if step not in path]
        found = next((path for path in longer if path[-1] is after), None)
        if found is not None:
            return found[1:]
        if not longer:
            break
        paths = longer
    return []


def _unreviewed(state: TaskState) -> bool:
    reviewed = {review.child_task_id for review in state.reviews}
    return any(result.report.child_task_id not in reviewed for result in state.children.values())


def _awaited(state: TaskState) -> set[str]:
    """Children without a result that may still get one: nothing that they depend on has failed."""
    awaited = {child.id for child in state.plan if child.id not in state.children}
    lost = {child_id for child_id, result in state.children.items() if not result.passed}
    while more := {child.id for child in state.plan if child.id in awaited and lost.intersection(child.depends_on)}:
        awaited -= more
        lost |= more
    return awaited
