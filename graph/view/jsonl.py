"""Events in a file: one JSON object a line, readable while it is written and after a crash."""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from .promised import as_event

__all__ = ("EventLog", "EventWriter", "events_to_jsonl", "read_events")


class EventLog(list[dict[str, Any]]):
    """Events that were read from a file.

    Attributes:
        note: Which lines were left out, and why; empty when the file is whole.
    """

    def __init__(self, events: Iterable[dict[str, Any]] = (), note: str = "") -> None:
        super().__init__(events)
        self.note = note


class EventWriter:
    """Writes events to a file, each line whole and at once. A context manager that is called with each event."""

    def __init__(self, path: str | PathLike[str], *, append: bool) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        cut = append and self.path.exists() and self.path.read_bytes()[-1:] not in (b"", b"\n")
        self._file = self.path.open("a" if append else "w", encoding="utf-8")
        if cut:  # what a crash left of a line must not spoil the next one
            self._file.write("\n")

    def __call__(self, event: Any) -> None:
        """Write one event. What else is in the custom stream is passed over."""
        if as_event(event) is None:
            return
        with self._lock:
            self._file.write(json.dumps(event, default=str) + "\n")
            self._file.flush()

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        with self._lock:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def events_to_jsonl(path: str | PathLike[str], *, append: bool = True) -> EventWriter:
    """Write the events of a run to a file, from which `read_events` reads them again.

        with events_to_jsonl("run.jsonl") as write:
            for event in solver.stream(task, config, stream_mode="custom"):
                write(event)

    Args:
        path: The file; each line is one event.
        append: Keep what is there, as on a resume. Otherwise it is written over.
    """
    return EventWriter(path, append=append)


def read_events(path: str | PathLike[str]) -> EventLog:
    """Read a file of events, as far as it goes.

    A line that is cut in the middle, as a crash leaves it, or that is no event, is left out: the log's `note` says
    which, and so does a warning.

    Args:
        path: What `events_to_jsonl` wrote, or a run that still writes.
    """
    events: list[dict[str, Any]] = []
    faults: list[str] = []
    lines = Path(path).read_bytes().split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        event = _parsed(line)
        if event is not None:
            events.append(event)
        else:
            last = number == len(lines)
            faults.append(f"line {number} is {'cut in the middle' if last else 'no event'}")
    note = ""
    if faults:
        more = f", and {len(faults) - 3} more" if len(faults) > 3 else ""
        note = f"{Path(path).name}: {'; '.join([*faults[:2], *faults[2:][-1:]])}{more}: {len(events)} events read"
        warnings.warn(note, stacklevel=2)
    return EventLog(events, note)


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        return as_event(json.loads(line))
    except (ValueError, RecursionError):
        return None
