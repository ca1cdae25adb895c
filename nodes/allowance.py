"""Allowances: how much each task has read of context references, exact under parallel reads."""

from __future__ import annotations

import contextvars
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping

from langgraph_recursive.state.context_reads import ContextRead, chars_read
from langgraph_recursive.state.task import Task

__all__ = ("Allowances", "call_reads")

call_reads: contextvars.ContextVar[list[ContextRead] | None] = contextvars.ContextVar(
    "langgraph_recursive_call_reads", default=None
)
"""What the component call under way has read. Its record holds it, so that a resume knows it too."""


class Allowances:
    """One account per task and run, all attempts of a task together. Nothing read is ever given back.

    Args:
        history: Characters that earlier processes read, by run number and task, as read from the checkpoints.
    """

    def __init__(self, history: Mapping[tuple[int, str], int] | None = None) -> None:
        self._lock = threading.Lock()
        self._used: dict[tuple[int, str], int] = defaultdict(int, history or {})

    def know(self, task: Task, reads: Iterable[ContextRead]) -> None:
        """Take in what a task's state says that it has read."""
        with self._lock:
            key = (task.run, task.root_ref)
            self._used[key] = max(self._used[key], chars_read(reads))

    def take(self, task: Task, chars: int, *, limit: int) -> int | None:
        """Book a read and return what is left; None, and nothing booked, when it does not fit."""
        with self._lock:
            key = (task.run, task.root_ref)
            if self._used[key] + chars > limit:
                return None
            self._used[key] += chars
            return limit - self._used[key]

    def left(self, task: Task, *, limit: int) -> int:
        """Characters that a task may still read."""
        with self._lock:
            return max(0, limit - self._used[task.run, task.root_ref])
