"""Small parts for tests of the engine: a decomposer from a table, a solver that remembers its calls, a peak counter."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from langgraph_recursive.state.task import Task

__all__ = ("Peak", "Solver", "ids", "kept", "kinds", "split")

T = TypeVar("T")


def split(table: Mapping[str, Sequence[Any]]) -> Callable[[Task, int], list[Any]]:
    """A decomposer that looks a task's objective up; what is not in the table is not split."""
    return lambda task, depth: list(table.get(task.brief.objective, []))


class Solver:
    """Answers with a function of the task, and remembers the tasks."""

    def __init__(self, answer: Callable[[Task], Any] | str = "done") -> None:
        self.answer = answer
        self.tasks: list[Task] = []
        self._lock = threading.Lock()

    def __call__(self, task: Task) -> Any:
        with self._lock:
            self.tasks.append(task)
        return self.answer if isinstance(self.answer, str) else self.answer(task)

    @property
    def ids(self) -> list[str]:
        return [task.id for task in self.tasks]


class Peak:
    """Counts how many are inside at once."""

    def __init__(self) -> None:
        self.now = self.most = self.total = 0
        self._lock = threading.Lock()

    @contextmanager
    def inside(self) -> Iterator[None]:
        with self._lock:
            self.now += 1
            self.total += 1
            self.most = max(self.most, self.now)
        try:
            yield
        finally:
            with self._lock:
                self.now -= 1

    def sleeping(self, seconds: float, value: Any = "done") -> Callable[..., Any]:
        """A component that takes a while."""

        def component(task: Task) -> Any:
            with self.inside():
                time.sleep(seconds)
            return value

        return component


def kept(into: list[Any], seen: Any, answer: T) -> T:
    """Remember what a lambda saw, and answer."""
    into.append(seen)
    return answer


def ids(result: Mapping[str, Any]) -> list[str]:
    """Ids of the root's attempts."""
    return [attempt.id for attempt in result["attempts"]]


def kinds(result: Mapping[str, Any], task_id: str | None = None) -> list[str]:
    """Types of the traces, of one task or of all."""
    return [entry.type for entry in result["traces"] if task_id is None or entry.task_id == task_id]
