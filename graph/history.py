"""History: what the checkpoints of a thread tell about its tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple
from langgraph.types import Overwrite

from langgraph_recursive.state.task import Task
from langgraph_recursive.state.trace import SolveTrace
from langgraph_recursive.state.usage import Usage

__all__ = ("Spent", "TaskRecord", "records", "spent_by_run")

_RETURN = "__return__"


@dataclass(frozen=True)
class TaskRecord:
    """The latest checkpoint of one task.

    Attributes:
        namespace: Its checkpoint namespace.
        task: The attempt it is at.
        values: All its channels.
        usage: What it has spent, calls included whose node had not ended.
        log: Its traces, with the task's text.
        writes: What was written since the checkpoint, by channel.
    """

    namespace: str
    task: Task
    values: Mapping[str, Any]
    usage: Usage
    log: list[SolveTrace]
    writes: Mapping[str, Any]


@dataclass(frozen=True)
class Spent:
    """What earlier processes spent and did, by run number."""

    usage: dict[int, Usage]
    traces: dict[int, list[SolveTrace]]


def records(checkpoints: Iterable[CheckpointTuple], *, under: str = "") -> list[TaskRecord]:
    """Read the tasks of a thread, the latest checkpoint of each.

    Args:
        checkpoints: All checkpoints of a thread, of all namespaces, in any order.
        under: The solver's own namespace, where it is embedded in another graph.
    """
    latest: dict[str, CheckpointTuple] = {}
    for entry in checkpoints:
        namespace = entry.config["configurable"].get("checkpoint_ns", "")
        if under and namespace != under and not namespace.startswith(f"{under}|"):
            continue
        if namespace not in latest or entry.checkpoint["id"] > latest[namespace].checkpoint["id"]:
            latest[namespace] = entry
    found = (_record(namespace, entry) for namespace, entry in latest.items())
    return [record for record in found if record is not None]


def _record(namespace: str, entry: CheckpointTuple) -> TaskRecord | None:
    values = entry.checkpoint["channel_values"]
    writes = {channel: value for _, channel, value in entry.pending_writes or () if channel != _RETURN}
    current = writes.get("current", values.get("current"))
    if current is None:
        return None
    task = Task.model_validate(current)
    calls = [value for _, channel, value in entry.pending_writes or () if channel == _RETURN]
    log = _extended(values.get("log", []), writes.get("log", []))
    return TaskRecord(
        namespace=namespace,
        task=task,
        values=values,
        usage=_usage(values, writes, calls),
        log=[SolveTrace.model_validate(item).model_copy(update={"task": task.intent}) for item in log],
        writes=writes,
    )


def _usage(values: Mapping[str, Any], writes: Mapping[str, Any], calls: Iterable[Any]) -> Usage:
    base = Usage.model_validate(values.get("spent", Usage()))
    written = writes.get("spent")
    if written is None:  # the node had not ended: its finished calls have records of their own
        done = (call["usage"] for call in calls if isinstance(call, Mapping) and "usage" in call)
        return sum((Usage.model_validate(usage) for usage in done), base)
    if isinstance(written, Overwrite):
        return Usage.model_validate(written.value)
    return base + Usage.model_validate(written)


def _extended(log: list[Any], written: Any) -> list[Any]:
    return list(written.value) if isinstance(written, Overwrite) else [*log, *written]


def spent_by_run(tasks: Iterable[TaskRecord]) -> Spent:
    """Add up usage and traces of all tasks, run by run."""
    usage: dict[int, Usage] = defaultdict(Usage)
    traces: dict[int, list[SolveTrace]] = defaultdict(list)
    for record in tasks:
        usage[record.task.run] += record.usage
        traces[record.task.run] += record.log
    return Spent(dict(usage), dict(traces))
