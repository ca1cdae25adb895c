"""Rewinding: what a task's state is when it goes back to an earlier point of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from .context_reads import renumbered_reads
from .ids import child_id, fix_id
from .recovery import recovery_spec
from .report import TaskReport
from .task import Attempt, PlannedChild, Task
from .task_state import ChildResult, NextAction, NodeName, TaskState
from .usage import Usage

__all__ = (
    "Known",
    "RewindPoint",
    "anew",
    "at_children",
    "at_halted_child",
    "at_point",
    "cleared",
    "renumbered",
    "resumable",
    "stored_elsewhere",
)

RewindPoint = Literal["admit", "decompose", "subtasks", "review", "solve", "aggregate", "verify"]
"""The node that runs next: the attempt is as it was when it last came to it.

`admit`: its start. `decompose`: it is planned anew. `subtasks`: the children that it was about to run run again, from
their start. `review`: their reports are pending, all of them. `solve`, `aggregate`: its answer is made anew. `verify`:
its answer is checked anew.
"""


class Known:
    """Every attempt that the tasks of a run have made, by chain: what was undone counts too, so no id comes twice."""

    def __init__(self) -> None:
        self._attempts: dict[str, dict[str, Attempt]] = {}

    def add(self, state: TaskState) -> None:
        """Take in what a state tells of its chain, and of children that wait to go on; later states know better."""
        task = state.attempt
        chain = self._attempts.setdefault(task.root_ref, {})
        chain.update((attempt.id, attempt) for attempt in state.attempts)
        chain.setdefault(task.id, Attempt(id=task.id, attempt=task.attempt, outcome="none", start=task.start))
        for child in state.going_on.values():
            self.add(child)

    @property
    def ids(self) -> dict[str, None]:
        """Every attempt's id, in order."""
        return {name: None for chain in self._attempts.values() for name in chain}

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


def anew(state: TaskState, keep: Mapping[str, TaskState] | None = None) -> TaskState:
    """Have the children that a renumbered task waits for run from their start, under ids that no task ever had.

    A child that was to go on from an earlier attempt goes on under its own next number instead.

    Args:
        state: The state.
        keep: Where children go on that are not run from their start.
    """
    keep = keep or {}
    continuing = {*keep, *(action.child_id for action in state.next_actions if action.left is not None)}
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
            "going_on": dict(keep),
        }
    )


def _renamed(child: PlannedChild, names: Mapping[str, str]) -> PlannedChild:
    needs = [names.get(wanted, wanted) for wanted in child.depends_on]
    return child.model_copy(update={"id": names.get(child.id, child.id), "depends_on": needs})


def stored_elsewhere(state: TaskState, **update: Any) -> TaskState:
    """Drop what a task spent and logged: its old checkpoints keep that, and it counts once."""
    return state.model_copy(update={"spent": Usage(), "log": [], **update})


def at_point(later: TaskState, attempt_id: str, to: NodeName) -> TaskState | None:
    """Work out what a state was at an earlier point, from a later one of the same chain; None if it never was there.

    This is for savers that keep only the newest checkpoint of a nested graph. Reviews are not taken back one by one but
    all together, and of an attempt that has a successor only the start is known.
    """
    attempt = next((known for known in later.attempts if known.id == attempt_id), None)
    if later.attempt.id == attempt_id:
        state = cleared(later)
    elif attempt is not None and to == "admit":
        return cleared(later.model_copy(update={"current": _earlier_attempt(later, attempt)}))
    else:
        return None
    planned = bool(later.plan) and later.attempt.start == "decompose"
    answered = later.report is not None and later.report.answered
    match to:
        case "admit":
            return state
        case "decompose" if later.attempt.start == "decompose" and later.report is not None:
            return state.model_copy(update={**_NO_CHILDREN, "plan": [], "next_child": 1, "quota_from": 1})
        case "subtasks" if planned and later.report is not None:
            return state.model_copy(update=_NO_CHILDREN)
        case "review" if planned and later.children and later.report is not None:
            return state.model_copy(update=_NO_REVIEWS)
        case "solve" | "aggregate" if (
            later.made_by == to and later.report is not None and bool(later.plan) == (to == "aggregate")
        ):
            return state
        case "verify" if answered and later.verdict is not None:
            return state.model_copy(update={"report": _unjudged(later.answered)})
    return None


def at_children(later: TaskState, child: str) -> TaskState | None:
    """Work out what a parent's state was when a child ran, from a later one; None if the child is not in its plan."""
    if child not in {planned.id for planned in later.plan}:
        return None
    return cleared(later).model_copy(update=_NO_REVIEWS)


def at_halted_child(later: TaskState, child: str) -> TaskState | None:
    """Work out a parent's state where a child that halted goes on; None if the child is not in its plan.

    What it has of other children stays, with what it decided on accepted ones; those that were cut off go on too.
    """
    state = at_children(later, child)
    if state is None:
        return None
    kept = {name: got for name, got in later.children.items() if got.halt is None or not got.halt.cuts_off}
    accepted = {got.report.child_task_id for got in kept.values() if got.passed}
    reviews = [review for review in later.reviews if review.child_task_id in accepted]
    return state.model_copy(update={"children": kept, "reviews": reviews, "revisions": later.revisions})


def resumable(stopped: TaskState) -> TaskState:
    """A task that a limit cut off and that goes on: with its children where it has some, else with its answer."""
    state = cleared(stopped)
    kept = {name: got for name, got in state.children.items() if got.halt is None or not got.halt.cuts_off}
    state = state.model_copy(update={"children": kept})
    planned = bool(state.plan) and state.attempt.start != "aggregate"
    return state.model_copy(update={"resume_at": "subtasks" if planned else state.attempt.start})


_NO_REVIEWS: dict[str, Any] = {"reviews": [], "next_actions": [], "pending_replans": [], "revisions": {}}
_NO_CHILDREN: dict[str, Any] = {**_NO_REVIEWS, "children": {}, "going_on": {}, "replans": 0}


def cleared(state: TaskState) -> TaskState:
    """Take out of a state what its attempt came to."""
    task = state.attempt
    update: dict[str, Any] = {
        "attempts": [known for known in state.attempts if known.attempt < task.attempt],
        "report": None,
        "verdict": None,
        "halt": None,
        "asking": False,
        "intervention": None,
        "failed_by": None,
        "out_of_budget": None,
        "reviewing": False,
        "replanning": False,
        "partial": [],
    }
    if state.best is not None and state.best.task_id == task.id:
        update |= {"best": None, "best_failures": 0}
    return state.model_copy(update=update)


def _earlier_attempt(state: TaskState, attempt: Attempt) -> Task:
    """An earlier attempt of a chain, with the failures that were known at its start."""
    task = state.attempt
    failures = [failure for failure in task.prior_failures if failure.attempt < attempt.attempt]
    spec = task.intent
    if failures:
        spec = recovery_spec(
            task.intent, failures, instructions=task.instructions, revision=task.revision, hints=task.hints
        )
    return task.model_copy(
        update={
            "id": attempt.id,
            "attempt": attempt.attempt,
            "spec": spec,
            "prior_failures": failures,
            "settled": [],
            "start": attempt.start if failures else "decompose",
        }
    )


def _unjudged(report: TaskReport) -> TaskReport:
    """A report as its maker gave it: a rejected one was made `partial`."""
    outcome = "satisfied" if report.validation.hard_passed and not report.validation.open_issues else "partial"
    return report.model_copy(update={"outcome": outcome, "remaining_issues": []})
