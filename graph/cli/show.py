"""`show` and `runs`: what the checkpoints tell."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple
from rich.console import Console
from rich.table import Table
from rich.text import Text

from langgraph_recursive.state.task_state import TaskState
from langgraph_recursive.state.usage import Usage

from ..history import TaskRecord
from ..view.growing import GrowingTree
from ..view.rows import Layout
from ..view.safe import one_line, shortened
from ..view.terminal import written
from ..view.views import TaskView
from .runs import Runs

__all__ = ("run_summary", "show_runs", "show_thread", "thread_as_json")

_EVIDENCE_LINES = 16
_TASK_CHARS = 60


# --- runs ---


def run_summary(runs: Runs, thread: str) -> dict[str, Any]:
    """One thread in a few values."""
    latest = runs.known(thread)
    root = runs.root(latest)
    usage = _spent(runs, thread, latest, root)
    return {
        "thread": thread,
        "task": "" if root is None else root.task.intent,
        "state": _thread_state(None if root is None else root.state, latest),
        "attempts": 0 if root is None else root.task.attempt,
        "tasks": usage.tasks,
        "calls": usage.calls,
        "when": str(latest.checkpoint["ts"]),
    }


def _spent(runs: Runs, thread: str, latest: CheckpointTuple, root: TaskRecord | None) -> Usage:
    """What the last run has spent: the root knows it at the end; until then it is added up."""
    total = latest.checkpoint["channel_values"].get("usage")
    if root is not None and root.state.ended and total is not None:
        return Usage.model_validate(total)
    return sum((record.usage for record in runs.tasks(thread)), Usage())


def _thread_state(root: TaskState | None, latest: CheckpointTuple) -> str:
    channels = {channel for _, channel, _ in latest.pending_writes or ()}
    if root is None or not root.ended:
        return "asks" if "__interrupt__" in channels else "unfinished"
    if root.halt is not None:
        return root.halt.type
    return "accepted" if root.verdict is not None and root.verdict.verified else "not checked"


_STATE_STYLES = {"accepted": "green", "not checked": "default", "unfinished": "yellow", "asks": "magenta"}


def show_runs(summaries: list[dict[str, Any]], console: Console) -> None:
    """Print the threads as a table."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("thread", "state"):
        table.add_column(name, no_wrap=True)
    for name in ("attempts", "calls"):
        table.add_column(name, no_wrap=True, justify="right")
    table.add_column("when", no_wrap=True)
    table.add_column("task", no_wrap=True, overflow="ellipsis")
    for entry in summaries:
        table.add_row(
            Text(one_line(entry["thread"])),
            Text(entry["state"], _STATE_STYLES.get(entry["state"], "red")),
            str(entry["attempts"]),
            str(entry["calls"]),
            Text(_local(entry["when"]), "dim"),
            Text(shortened(entry["task"], _TASK_CHARS)),
        )
    console.print(table)


def _local(stamp: str) -> str:
    return datetime.fromisoformat(stamp).astimezone().strftime("%Y-%m-%d %H:%M")


# --- show ---


def show_thread(tasks: list[TaskRecord], console: Console) -> None:
    """Print the tree with each task's attempts, verdicts and evidence."""
    width = console.width if console.is_terminal else None
    text = written(Layout(evidence=_EVIDENCE_LINES, width=width).lines(_tree(tasks).roots()))
    console.print(text, soft_wrap=True)


def _tree(tasks: list[TaskRecord]) -> GrowingTree:
    tree = GrowingTree()
    tree.load(tasks)
    return tree


def thread_as_json(tasks: list[TaskRecord], thread: str) -> dict[str, Any]:
    """A thread with all its tasks, for JSON."""
    records = {record.task.root_ref: record for record in tasks}
    found = _tree(tasks).tasks
    return {"thread": thread, "tasks": [_task_as_json(task, records.get(task.id)) for task in found.values()]}


def _task_as_json(task: TaskView, record: TaskRecord | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": task.id,
        "parent_id": task.parent,
        "objective": task.objective,
        "status": task.status,
        "attempt": max(1, len(task.attempts)),
        "calls": task.calls,
    }
    if record is not None:
        channels = {"attempts", "verdict", "halt", "report", "partial"}
        found |= record.state.model_dump(mode="json", include=channels)
        found["usage"] = record.usage
    return found
