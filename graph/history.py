"""History: what the checkpoints of a thread tell about its tasks."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple

from langgraph_recursive.nodes.call import question
from langgraph_recursive.nodes.call_tasks import StoredTasks
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.state.context_reads import ContextRead, chars_read
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.task_state import TaskState
from langgraph_recursive.state.trace import SolveTrace
from langgraph_recursive.state.usage import Usage

__all__ = (
    "Spent",
    "TaskRecord",
    "last_run",
    "raised_policy",
    "records",
    "spent_by_run",
    "stored_tasks",
    "writes_since",
)

_RETURN = "__return__"
_INTERRUPT = "__interrupt__"
_WAITS = ("branch:to:", "__start__")


@dataclass(frozen=True)
class TaskRecord:
    """The latest that the checkpoints hold of one task.

    Attributes:
        namespace: Its checkpoint namespace.
        state: Its state, also where it was written but not yet in a checkpoint.
        usage: What it has spent, calls included whose node had not ended.
        reads: What it has read of context references, likewise.
        asks: What a person is asked by its calls and by those below it, by the interrupt's id.
    """

    namespace: str
    state: TaskState
    usage: Usage
    reads: list[ContextRead]
    asks: dict[str, str] = field(default_factory=dict)

    @property
    def task(self) -> Task:
        """The attempt it is at."""
        return self.state.attempt

    @property
    def log(self) -> list[SolveTrace]:
        """Its traces, with the task's text."""
        return [entry.model_copy(update={"task": self.task.intent}) for entry in self.state.log]


@dataclass(frozen=True)
class Spent:
    """What earlier processes spent and did, by run number; what they read, in characters, also by task."""

    usage: dict[int, Usage]
    traces: dict[int, list[SolveTrace]]
    reads: dict[tuple[int, str], int]


def writes_since(entry: CheckpointTuple) -> Sequence[tuple[str, str, Any]]:
    """What was written since a checkpoint by what runs from it.

    A `rewind` or `continue_from_halt` that is killed may leave writes where nothing runs: nobody ever takes them up.
    """
    waits = any(name.startswith(_WAITS) for name in entry.checkpoint["channel_values"])
    return (entry.pending_writes or ()) if waits else ()


def records(checkpoints: Iterable[CheckpointTuple], *, under: str = "") -> list[TaskRecord]:
    """Read the tasks of a thread, the latest checkpoint of each.

    Args:
        checkpoints: All checkpoints of a thread, of all namespaces, in any order.
        under: The solver's own namespace, where it is embedded in another graph.
    """
    latest = _latest(checkpoints)
    if under:
        inside = f"{under}|"
        latest = {name: entry for name, entry in latest.items() if name == under or name.startswith(inside)}
    found = (_record(namespace, entry) for namespace, entry in latest.items())
    return [record for record in found if record is not None]


def stored_tasks(checkpoints: Iterable[CheckpointTuple]) -> StoredTasks:
    """Read how a run that was cut off kept the results of its calls, from all checkpoints of a thread."""
    latest = _latest(checkpoints)
    writers = {
        namespace: frozenset(
            task for task, channel, _ in entry.pending_writes or () if channel in (_RETURN, _INTERRUPT)
        )
        for namespace, entry in latest.items()
    }
    return StoredTasks(frozenset(latest), writers)


def _latest(checkpoints: Iterable[CheckpointTuple]) -> dict[str, CheckpointTuple]:
    """The newest checkpoint of each namespace."""
    latest: dict[str, CheckpointTuple] = {}
    for entry in checkpoints:
        namespace = entry.config["configurable"].get("checkpoint_ns", "")
        if namespace not in latest or entry.checkpoint["id"] > latest[namespace].checkpoint["id"]:
            latest[namespace] = entry
    return latest


def _record(namespace: str, entry: CheckpointTuple) -> TaskRecord | None:
    writes = writes_since(entry)
    written = [value for _, channel, value in writes if channel == "state"]
    stored = written[-1] if written else entry.checkpoint["channel_values"].get("state")
    if stored is None:
        return None
    state = TaskState.model_validate(stored)
    # Calls of a node that has not ended have records of their own; one that has ended counted them.
    calls = [] if written else [value for _, channel, value in writes if channel == _RETURN]
    done = _receipts([call for call in calls if isinstance(call, Mapping)])
    usage = sum((Usage.model_validate(call["usage"]) for call in done), state.spent)
    reads = [ContextRead.model_validate(read) for call in done for read in call.get("reads", ())]
    asked = [entry for _, channel, value in writes if channel == _INTERRUPT for entry in value]
    asks = {entry.id: question(entry.value) for entry in asked}
    return TaskRecord(namespace, state, usage, [*state.context_reads, *reads], asks)


def _receipts(records: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """What each finished call spent and read: by its own record, or by that of the branch it was made in."""
    found: dict[str, Mapping[str, Any]] = {}
    for number, record in enumerate(records):
        made = [record] if "usage" in record else record.get("calls", ())
        found |= {call.get("id", f"{number}"): call for call in made}
    return list(found.values())


def last_run(found: Iterable[TaskRecord]) -> list[TaskRecord]:
    """The tasks of a thread's last run, parents before children, of one task what it came to last at the end."""
    tasks = list(found)
    last = max((record.task.run for record in tasks), default=1)
    return sorted(
        (record for record in tasks if record.task.run == last),
        key=lambda record: (record.task.depth, record.state.last_number, record.state.ended),
    )


def raised_policy(policy: SolvePolicy, tasks: Iterable[TaskRecord]) -> SolvePolicy:
    """The limits of a thread's last run: the solver's, with what persons raised since it began."""
    attempts = [attempt for record in last_run(tasks) for attempt in record.state.attempts]
    raised = [attempt.intervention.limits for attempt in attempts if attempt.intervention is not None]
    return functools.reduce(SolvePolicy.raised, filter(None, raised), policy)


def spent_by_run(tasks: Iterable[TaskRecord]) -> Spent:
    """Add up usage and traces of all tasks, run by run.

    A task that was revised or rewound has several records, each with what it had read: each read counts once.
    """
    usage: dict[int, Usage] = defaultdict(Usage)
    traces: dict[int, list[SolveTrace]] = defaultdict(list)
    reads: dict[tuple[int, str], dict[str, ContextRead]] = defaultdict(dict)
    for record in tasks:
        usage[record.task.run] += record.usage
        traces[record.task.run] += record.log
        key = (record.task.run, record.task.root_ref)
        reads[key] |= {read.id: read for read in record.reads}
    return Spent(dict(usage), dict(traces), {key: chars_read(read.values()) for key, read in reads.items()})
