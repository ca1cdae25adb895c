"""The tree of a thread's last run, from its checkpoints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from langgraph_recursive.state.errors import InvalidInputError, MissingThreadError
from langgraph_recursive.state.task_state import TaskState

from ..history import last_run, records
from .growing import GrowingTree

__all__ = ("grown_from", "source_of")


def source_of(graph: Any, config: RunnableConfig) -> tuple[BaseCheckpointSaver[Any], RunnableConfig]:
    """The saver of a graph, and the thread in it.

    Raises:
        InvalidInputError: The graph has no checkpointer.
        MissingThreadError: The config names no thread.
    """
    saver = getattr(graph, "checkpointer", None)
    if not isinstance(saver, BaseCheckpointSaver):
        raise InvalidInputError(
            "this graph has no checkpointer, so nothing of its runs is stored", field="checkpointer"
        )
    thread_id = (config.get("configurable") or {}).get("thread_id")
    if not thread_id:
        raise MissingThreadError(
            "the config names no thread: {'configurable': {'thread_id': 'my-thread'}}", field="thread_id"
        )
    return saver, {"configurable": {"thread_id": thread_id}}


def grown_from(checkpoints: Iterable[CheckpointTuple]) -> GrowingTree | None:
    """The tree of a thread's last run; None if the thread has no task."""
    found = last_run(records(entry for entry in checkpoints if _holds_task(entry)))
    if not found:
        return None
    tree = GrowingTree()
    tree.load(found)
    return tree


def _holds_task(entry: CheckpointTuple) -> bool:
    """Whether a checkpoint is of a task: a graph around the solver may have a channel of the same name."""
    written = [value for _, channel, value in entry.pending_writes or () if channel == "state"]
    stored = written[-1] if written else entry.checkpoint["channel_values"].get("state")
    return isinstance(stored, TaskState) or (isinstance(stored, Mapping) and bool(stored.get("current")))
