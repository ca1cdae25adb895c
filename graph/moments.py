"""Moments: where each task of a run was between two nodes, read from the checkpoints of its thread.

A task that is put back somewhere is nested, with where those above it were at the time, into the root's state: the run
goes on from there like any other that was cut off.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast, get_args

from langchain_core.messages import messages_to_dict
from langgraph.checkpoint.base import CheckpointTuple

from langgraph_recursive.nodes.subtasks import result_of, with_new_children
from langgraph_recursive.state.continuing import left_off
from langgraph_recursive.state.errors import UnknownTaskError, UnreachedPointError
from langgraph_recursive.state.ids import root_ref
from langgraph_recursive.state.intervening import was_cut_off
from langgraph_recursive.state.intervention import Intervention
from langgraph_recursive.state.plan import execution_order
from langgraph_recursive.state.rewinding import (
    Known,
    RewindPoint,
    anew,
    at_children,
    at_halted_child,
    at_point,
    renumbered,
    resumable,
    stored_elsewhere,
)
from langgraph_recursive.state.task import PlannedChild, Task
from langgraph_recursive.state.task_state import NextAction, NodeName, TaskState

from .history import writes_since
from .talk import said_before, said_by

__all__ = ("RunTree", "namespace_of")

_BRANCH = "branch:to:"
_SHOWN = 50
_NEVER = ("~", True)  # sorts behind every checkpoint


def namespace_of(entry: CheckpointTuple) -> str:
    """The checkpoint namespace of a checkpoint; empty for the root's."""
    return str(entry.config["configurable"].get("checkpoint_ns", ""))


@dataclass(frozen=True)
class _Moment:
    """A task between two nodes.

    Attributes:
        entry: The checkpoint.
        written: Whether the node that ran from it has ended, though no checkpoint followed yet.
        derived: The state at a point before, worked out from the one that is stored.
        point: That point.
    """

    entry: CheckpointTuple
    written: bool = False
    derived: TaskState | None = None
    point: NodeName | None = None

    def before(self, derived: TaskState, point: NodeName) -> _Moment:
        """The same task at a point before, of which no checkpoint is kept."""
        return dataclasses.replace(self, derived=derived, point=point)

    @property
    def order(self) -> tuple[str, bool]:
        """Sorts moments as they happened."""
        return self.entry.checkpoint["id"], self.written

    @property
    def namespace(self) -> str:
        """Its task's checkpoint namespace."""
        return namespace_of(self.entry)

    @cached_property
    def values(self) -> dict[str, Any]:
        """The channels."""
        if self.written:
            return {channel: value for _, channel, value in self.entry.pending_writes or ()}
        return self.entry.checkpoint["channel_values"]

    @cached_property
    def state(self) -> TaskState:
        """The task's state."""
        return self.derived or TaskState.model_validate(self.values["state"])

    @property
    def whole(self) -> TaskState:
        """The task's state with the conversation of an `agent_parent` about it, for when it goes on elsewhere."""
        said = said_by(self.entry, written=self.written)
        if self.point is not None:
            said = said_before(said, self.state.attempt.id, self.point)
        return self.state.model_copy(update={"said": messages_to_dict(said)}) if said else self.state

    @property
    def next(self) -> NodeName | None:
        """The node that runs next."""
        names = [name.removeprefix(_BRANCH) for name in self.values if name.startswith(_BRANCH)]
        return cast("NodeName | None", names[0] if names else None)

    def going_on(self) -> TaskState:
        """The state of a task that goes on right here."""
        attempt = self.values.get("attempt") if self.next == "admit" else None
        current = self.state.attempt if attempt is None else Task.model_validate(attempt)
        return self.whole.model_copy(update={"current": current, "resume_at": self.next})


def _moments(checkpoints: Iterable[CheckpointTuple]) -> Iterator[_Moment]:
    for entry in checkpoints:
        if "state" in entry.checkpoint["channel_values"]:
            yield _Moment(entry)
        if any(channel == "state" for _, channel, _ in writes_since(entry)):
            yield _Moment(entry, written=True)


class RunTree:
    """Every moment of the tasks of one run.

    Args:
        checkpoints: Those of the thread.
        root: The root's attempt, for the number of the run.
        max_attempts: The policy's.
    """

    def __init__(self, checkpoints: list[CheckpointTuple], root: Task, max_attempts: int) -> None:
        self.max_attempts = max_attempts
        self.checkpoints = {(namespace_of(entry), entry.checkpoint["id"]): entry for entry in checkpoints}
        moments = sorted(_moments(checkpoints), key=lambda moment: moment.order)
        self.moments = [m for m in moments if m.state.current is not None and m.state.attempt.run == root.run]
        self.known = Known()
        self.seeds: dict[str, tuple[tuple[str, bool], TaskState]] = {}
        for moment in self.moments:
            self.known.add(moment.state)
            self._keep_seeds(moment.state, moment.order)

    def _keep_seeds(self, state: TaskState, order: tuple[str, bool]) -> None:
        for name, seed in state.going_on.items():
            self.seeds[name] = order, seed
            self._keep_seeds(seed, order)

    def rewound(self, task_id: str, to: RewindPoint) -> tuple[Task, TaskState]:
        """The task's attempt that runs next, and the root's state from which it does."""
        point = self._point(task_id, to)
        state = renumbered(point.whole, self.known, max_attempts=self.max_attempts)
        if to == "subtasks":
            state = anew(state)
        again = state.attempt
        elapsed = self._latest(again.root_ref).state.elapsed
        state = stored_elsewhere(state, resume_at=to, elapsed=elapsed, going_on={})
        child = again.root_ref
        for parent in self._ancestors(point, child):
            state = self._back_at_children(parent, child, state)
            child = state.attempt.root_ref
        return again, state

    def going_on(self, chain: str, decision: Intervention) -> TaskState:
        """The root's state from which a halted task goes on, as a person decided.

        Where a limit cut the task off, what is unfinished below it goes on where it was.

        Args:
            chain: The id of the task's first attempt.
            decision: What is decided.
        """
        halted = self._latest(chain)
        state = self.known.informed(halted.whole)
        if was_cut_off(state):
            passed = {name: result for name, result in state.children.items() if result.passed}
            state = self._folded(state.model_copy(update={"children": passed}), "", revived=True)
        state = stored_elsewhere(state, resume_at="intervene", asking=True, intervention=decision)
        child = chain
        for parent in self._above(halted) or self._ancestors(halted, child):
            state = self._back_at_children(parent, child, state)
            child = state.attempt.root_ref
        return state

    def halted(self) -> dict[str, TaskState]:
        """The tasks that ended without an accepted answer, by the id of their first attempt."""
        latest = {moment.state.attempt.root_ref: moment.state for moment in self.moments}
        return {chain: state for chain, state in latest.items() if state.halted}

    def last_open(self, chain: str) -> CheckpointTuple:
        """The last checkpoint of a task at which it had not ended."""
        moments = [moment for moment in self._of_chain(chain) if not moment.state.ended]
        return (moments or self._of_chain(chain))[-1].entry

    def root_moment(self, task_id: str, to: RewindPoint) -> CheckpointTuple:
        """The root's checkpoint at that point."""
        point = self._point(task_id, to)
        return [point, *self._ancestors(point, root_ref(task_id))][-1].entry

    def _point(self, task_id: str, to: RewindPoint) -> _Moment:
        if task_id not in self.known.ids:
            known = list(self.known.ids)
            more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
            raise UnknownTaskError(
                f"the last run has no task {task_id!r}: it has {', '.join(known[:_SHOWN])}{more}",
                field="task_id",
                value=task_id,
            )
        if found := self._found(task_id, to):
            return found
        reached = ", ".join(point for point in get_args(RewindPoint) if self._found(task_id, point))
        raise UnreachedPointError(
            f"task {task_id} never came to {to}, or nothing that tells of it is kept (a saver with "
            f"nested_history=True keeps all): it can go back to {reached or 'no point'}",
            field="to",
            value=to,
        )

    def _found(self, task_id: str, to: RewindPoint) -> _Moment | None:
        own = [moment for moment in self.moments if moment.state.attempt.id == task_id]
        # Between two reviews of one batch is no point: those of the batch begin together.
        there = [moment for moment in own if moment.next == to and not (to == "review" and moment.state.reviewing)]
        if there and to != "admit":
            return there[-1]
        for moment in [*own[:1], *self._of_chain(root_ref(task_id))[-1:]]:
            if derived := at_point(moment.state, task_id, to):
                return moment.before(derived, to)
        return None

    def _ancestors(self, moment: _Moment, child: str) -> list[_Moment]:
        """Where those above a task were when it ran, the root last."""
        parents = moment.entry.metadata.get("parents", {})
        steps = moment.namespace.split("|") if moment.namespace else []
        found = []
        for length in range(len(steps) - 2, -1, -2):
            name = "|".join(steps[:length])
            found.append(self._at_children(name, parents[name], child))
            child = found[-1].state.attempt.root_ref
        return found

    def _above(self, halted: _Moment) -> list[_Moment]:
        """Where those above a task that halted have it go on, the root last; empty if one has planned anew since."""
        found: list[_Moment] = []
        task = halted.state.attempt
        while task.parent_id is not None:
            parent = self._latest(root_ref(task.parent_id))
            state = at_halted_child(self._waiting(parent.state.attempt.root_ref) or parent.state, task.root_ref)
            if state is None:
                return []
            found.append(parent.before(state, "subtasks"))
            task = parent.state.attempt
        return found

    def _at_children(self, namespace: str, checkpoint_id: str, child: str) -> _Moment:
        kept = self.checkpoints.get((namespace, checkpoint_id))
        if kept is not None:
            return _Moment(kept)
        newest = [moment for moment in self.moments if moment.namespace == namespace][-1]
        derived = at_children(newest.state, child)
        if derived is None:
            raise UnreachedPointError(
                f"task {newest.state.attempt.id} has planned anew since {child} ran, and the saver keeps no checkpoint "
                "from before: use one with nested_history=True, or rewind the parent",
                field="task_id",
                value=child,
            )
        return newest.before(derived, "subtasks")

    def _latest(self, chain: str) -> _Moment:
        return self._of_chain(chain)[-1]

    def _of_chain(self, chain: str) -> list[_Moment]:
        return [moment for moment in self.moments if moment.state.attempt.root_ref == chain]

    def _back_at_children(self, parent: _Moment, child: str, seed: TaskState) -> TaskState:
        """A parent that runs its children, of which one was taken back."""
        failed = self._latest(child).state.halt is not None
        latest = self._latest(parent.state.attempt.root_ref)
        folded = self._folded(parent.whole, child, revived=failed)
        folded = folded.model_copy(
            update={
                "going_on": {**folded.going_on, child: seed},
                "sequence": max(folded.sequence, latest.state.sequence),
            }
        )
        if parent.derived or (latest.order, latest.namespace) != (parent.order, parent.namespace):
            folded = renumbered(folded, self.known, max_attempts=self.max_attempts)
        return stored_elsewhere(folded, resume_at="subtasks", elapsed=latest.state.elapsed)

    def _folded(self, state: TaskState, without: str, *, revived: bool) -> TaskState:
        """Take in what became of the children of a task that is at `subtasks`.

        Args:
            state: The task's state.
            without: A child that is left out.
            revived: Whether children that were stopped go on.
        """
        batch = _Batch(state, without)
        for child in execution_order(with_new_children(state).plan):
            latest = self._progress(child, state)
            if child.id == without or latest is None:
                continue
            if batch.outdated(child, self._last(child.id)):
                batch.run_again(child, self.known.informed(batch.left_of(child, latest)))
            elif child.id not in batch.children:
                left = self._left(child.id, latest, revived)
                if left is not None:
                    batch.going_on[child.id] = left
                else:
                    batch.take(child, latest, self._latest(child.id).order)
        return batch.state

    def _progress(self, child: PlannedChild, parent: TaskState) -> TaskState | None:
        """What became of a child last, if it has run since its parent launched it."""
        latest = self._waiting(child.id) or next((moment.whole for moment in self._of_chain(child.id)[-1:]), None)
        action = next((action for action in parent.next_actions if action.child_id == child.id), None)
        if latest is None or action is None or action.left is None:
            return latest
        return latest if latest.attempt.attempt > action.left.attempt.attempt else None

    def _waiting(self, chain: str) -> TaskState | None:
        """Where a task goes on that an earlier rewind put somewhere, if it has not run since."""
        order, seed = self.seeds.get(chain, (None, None))
        moments = self._of_chain(chain)
        return seed if order is not None and (not moments or order > moments[-1].order) else None

    def _left(self, chain: str, latest: TaskState, revived: bool) -> TaskState | None:
        """Where a child goes on; None where it has a result."""
        if seed := self._waiting(chain):
            return seed
        return None if latest.ended and not (revived and was_cut_off(latest)) else self._continued(chain, revived)

    def _last(self, chain: str) -> tuple[str, bool]:
        """When a task was heard of last: run, or put back to run again."""
        waiting = self._waiting(chain)
        return self._latest(chain).order if waiting is None else self.seeds[chain][0]

    def _continued(self, chain: str, revived: bool) -> TaskState:
        """Where an unfinished task goes on."""
        moments = self._of_chain(chain)
        open_moments = [m for m in moments if not m.state.ended and m.state.out_of_budget is None and m.next]
        if revived and open_moments and open_moments[-1].next == "review" and _lacks_children(open_moments[-1].state):
            open_moments = [moment for moment in open_moments if moment.next == "subtasks"]
        state = open_moments[-1].going_on() if open_moments else resumable(self._latest(chain).whole)
        if state.resume_at == "subtasks":
            state = self._folded(state, "", revived=revived)
        return stored_elsewhere(state)


def _lacks_children(state: TaskState) -> bool:
    """Whether children were stopped, or never started."""
    halts = [state.children[name].halt if name in state.children else None for name in state.missing]
    return any(halt is None or halt.cuts_off for halt in halts)


class _Batch:
    """The children of a task that is at `subtasks`, being put together.

    Args:
        state: The task's state.
        without: A child that is left out: it is taken back.
    """

    def __init__(self, state: TaskState, without: str) -> None:
        self.parent = state
        self.children = {name: result for name, result in state.children.items() if name != without}
        self.going_on = {name: left for name, left in state.going_on.items() if name != without}
        self.actions = list(state.next_actions)
        self.sequence = state.sequence
        self.without = without
        self._ended: dict[str, tuple[str, bool]] = {}

    def outdated(self, child: PlannedChild, last: tuple[str, bool]) -> bool:
        """Whether something that a child needs has its result since the child was heard of last, or has none."""
        return any(self._has_ended(wanted) > last for wanted in child.depends_on)

    def _has_ended(self, child: str) -> tuple[str, bool]:
        if child in self._ended:
            return self._ended[child]
        return ("", False) if child in self.children else _NEVER

    def left_of(self, child: PlannedChild, latest: TaskState) -> TaskState:
        """Where a child left off that runs again."""
        approved = self._approved(child.id)
        if approved is not None and approved.left is not None:
            return approved.left
        return left_off(latest).model_copy(update={"resume_at": None, "going_on": {}})

    def run_again(self, child: PlannedChild, left: TaskState) -> None:
        """Have a child run again as its next fix, without a failure added (rules.md 13)."""
        approved = self._approved(child.id)
        if approved is None:
            approved = NextAction(kind="rerun", child_id=child.id, reason="what it needs was taken back")
            self.actions.append(approved)
        again = approved.model_copy(update={"left": left})
        self.actions = [again if action is approved else action for action in self.actions]
        self.children.pop(child.id, None)
        self.going_on.pop(child.id, None)

    def _approved(self, child: str) -> NextAction | None:
        return next((action for action in self.actions if action.child_id == child and action.kind != "create"), None)

    def take(self, child: PlannedChild, ended: TaskState, order: tuple[str, bool]) -> None:
        """Take a child's result in."""
        self.sequence += 1
        result = result_of(child, ended, keep=True)
        report = result.report.model_copy(update={"sequence": self.sequence})
        self.children[child.id] = result.model_copy(update={"report": report})
        self.going_on.pop(child.id, None)
        self.actions = [action for action in self.actions if action is not self._approved(child.id)]
        self._ended[child.id] = order

    @property
    def state(self) -> TaskState:
        """The task's state with its children."""
        return self.parent.model_copy(
            update={
                "children": self.children,
                "going_on": self.going_on,
                "next_actions": self.actions,
                "sequence": self.sequence,
            }
        )
