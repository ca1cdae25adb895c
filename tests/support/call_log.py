"""A log of component calls that outlives a killed process, and calls that kill it."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from langgraph.checkpoint.base import BaseCheckpointSaver

from langgraph_recursive.state.task import Task

Moment = Literal["called", "returned", "stored"]
"""When a process dies: in the call, before what it returned is stored, or right after that was acknowledged."""

Key = tuple[str, int, str]
"""Task id, attempt, role."""


class CallLog:
    """Writes a line for each call, fsynced, when it starts and when it returns.

    Args:
        path: The file; several processes may append to it, one after the other.
        kill_at: The process dies at its n-th call; 0 for never.
        moment: When exactly.
    """

    def __init__(self, path: Path, *, kill_at: int = 0, moment: Moment = "called") -> None:
        self.kill_at = kill_at
        self.moment = moment
        self.doomed = False
        self._count = 0
        self._lock = threading.Lock()
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def close(self) -> None:
        os.close(self._file)

    @contextmanager
    def call(self, task: Task, role: str) -> Iterator[None]:
        """Log one call; the body is the call's work."""
        with self._lock:
            self._count += 1
            last = self._count == self.kill_at
        self._write("start", task, role)
        yield
        if last and self.moment == "called":
            die()
        self._write("end", task, role)
        self.doomed = self.doomed or last

    def storing(self) -> bool:
        """Called by the saver before it stores something; whether that is after the last call returned."""
        if self.doomed and self.moment == "returned":
            die()
        return self.doomed

    def stored(self, doomed: bool) -> None:
        """Called by the saver when it has acknowledged something."""
        if doomed:
            die()

    def _write(self, what: str, task: Task, role: str) -> None:
        os.write(self._file, f"{what} {task.id} {task.attempt} {role}\n".encode())
        os.fsync(self._file)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    threading.Event().wait()


def made_deadly(saver: BaseCheckpointSaver[Any], log: CallLog) -> None:
    """Make a saver kill the process once its log says so: before it stores anything more, or right after."""
    kind: Any = type(saver)
    if log.moment == "called":
        return

    class Deadly(kind):  # type: ignore[misc]  # whatever saver it is
        def put(self, *args: Any, **kwargs: Any) -> Any:
            log.storing()
            return super().put(*args, **kwargs)

        def put_writes(self, *args: Any, **kwargs: Any) -> None:
            doomed = log.storing()
            super().put_writes(*args, **kwargs)
            log.stored(doomed)

        async def aput(self, *args: Any, **kwargs: Any) -> Any:
            log.storing()
            return await super().aput(*args, **kwargs)

        async def aput_writes(self, *args: Any, **kwargs: Any) -> None:
            doomed = log.storing()
            await super().aput_writes(*args, **kwargs)
            log.stored(doomed)

    saver.__class__ = Deadly


def logged(path: Path, what: Literal["start", "end"] = "start") -> Counter[Key]:
    """How often each call was started, or returned."""
    calls: Counter[Key] = Counter()
    for line in path.read_text().splitlines():
        kind, task_id, attempt, role = line.split()
        if kind == what:
            calls[task_id, int(attempt), role] += 1
    return calls
