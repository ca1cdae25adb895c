"""Rewinding: what a task's state is when it goes back to an earlier point of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .context_reads import renumbered_reads
from .ids import child_id, fix_id
from .task import Attempt, PlannedChild
from .task_state import ChildResult, NextAction, TaskState
from .usage import Usage

__all__ = ("Known", "anew", "dependents", "renumbered", "stored_elsewhere")


class Known:
    """Every attempt that the tasks of a run have made, by chain: what was undone counts too, so no id comes twice."""

    def __init__(self) -> None:
        self._attempts: dict[str, dict[str, Attempt]] = {}

    def add(self, state: TaskState) -> None:
        """Take in what a state tells of its chain, and of children that wait to go on; later states know better."""
        task = state.attempt
        chain = self._attempts.setdefault(task.root_ref, {})
        chain.setdefault(task.id, Attempt(id=task.id, attempt=task.attempt, outcome="none", start=task.start))
        chain.update((attempt.id, attempt) for attempt in state.attempts)
        for child in state.going_on.values():
            self.add(child)

    def undone(self, state: TaskState) -> list[Attempt]:
        """The attempts of a chain that a state taken back to does not know of, marked as rewound."""
        standing = {attempt.id for attempt in state.attempts}
        chain = self._attempts.get(state.attempt.root_ref, {}).values()
        undone = (attempt.model_copy(update={"rewound": True}) for attempt in chain if attempt.id not in standing)
        return sorted(undone, key=lambda attempt: attempt.attempt)

    def informed(self, left: TaskState) -> TaskState:
        """Tell a state that a child may go on from which numbers were used since."""
        undone = self.undone(left)
        return left.model_copy(update={"attempts": [*left.attempts, *undone]}) if undone else left


def renumbered(state: TaskState, known: Known, *, max_attempts: int) -> TaskState:
    """Put a state that was taken back under the next number of its chain (rules.md 16).

    Args:
        state: The state, as it was at the point it goes back to.
        known: All attempts of the run.
        max_attempts: The policy's: rewound attempts do not count in it.
    """
    task = state.attempt
    attempts = [*state.attempts, *known.undone(state)]
    number = max([task.attempt, *(attempt.attempt for attempt in attempts)])
    again = task.model_copy(
        update={
            "id": fix_id(task.root_ref, number),
            "attempt": number + 1,
            "root_task_ref": task.root_ref,
            "root_spec": task.intent,
            "limit": (task.limit or max_attempts) + number + 1 - task.attempt,
        }
    )
    report = state.report and state.report.model_copy(update={"child_task_id": again.id})
    children = {name: _informed_result(result, known) for name, result in state.children.items()}
    actions = [_informed_action(action, known) for action in state.next_actions]
    reads = renumbered_reads(state.context_reads, task.attempt, again.attempt)
    return state.model_copy(
        update={
            "current": again,
            "attempts": attempts,
            "report": report,
            "children": children,
            "next_actions": actions,
            "context_reads": reads,
        }
    )


def _informed_result(result: ChildResult, known: Known) -> ChildResult:
    left = result.left and known.informed(result.left)
    return result if left is result.left else result.model_copy(update={"left": left})


def _informed_action(action: NextAction, known: Known) -> NextAction:
    left = action.left and known.informed(action.left)
    return action if left is action.left else action.model_copy(update={"left": left})


def anew(state: TaskState) -> TaskState:
    """Have the children that a renumbered task waits for run from their start, under ids that no task ever had.

    A child that was to go on from an earlier attempt goes on under its own next number instead.
    """
    continuing = {action.child_id for action in state.next_actions if action.left is not None}
    waiting = [child.id for child in state.plan if child.id not in state.children]
    waiting += [action.child_id for action in state.next_actions if action.kind == "create"]
    names = {
        name: child_id(state.attempt.id, int(name.rpartition(".")[2])) for name in waiting if name not in continuing
    }
    return state.model_copy(
        update={
            "plan": [_renamed(child, names) for child in state.plan],
            "next_actions": [
                action.model_copy(update={"child_id": names.get(action.child_id, action.child_id)})
                for action in state.next_actions
            ],
            "going_on": {},
        }
    )


def _renamed(child: PlannedChild, names: Mapping[str, str]) -> PlannedChild:
    needs = [names.get(wanted, wanted) for wanted in child.depends_on]
    return child.model_copy(update={"id": names.get(child.id, child.id), "depends_on": needs})


def stored_elsewhere(state: TaskState, **update: Any) -> TaskState:
    """Drop what a task spent and logged: its old checkpoints keep that, and it counts once."""
    return state.model_copy(update={"spent": Usage(), "log": [], **update})


def dependents(plan: Iterable[PlannedChild], changed: str) -> set[str]:
    """Ids of the children that need another's result, directly or not."""
    stale = {changed}
    children = list(plan)
    while more := {child.id for child in children if child.id not in stale and stale.intersection(child.depends_on)}:
        stale |= more
    return stale - {changed}
