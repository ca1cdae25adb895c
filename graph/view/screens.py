"""Where a run is watched: in a notebook's cell, or as plain lines. A terminal's screen is in terminal.py."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from .html import html_of
from .live import LiveTree
from .safe import one_line
from .text import text_of
from .views import summary_of
from .words import counted

__all__ = ("LinesScreen", "NotebookScreen", "Screen")

_EVERY = 0.1
_SHARE = 10  # drawing takes at most one part in so many of the time


class Screen:
    """Shows a run while it goes on, and what it came to.

    Args:
        tree: What is known of the run so far.
    """

    def __init__(self, tree: LiveTree) -> None:
        self.tree = tree

    def start(self) -> None:
        """Begin; a second call does nothing."""

    def event(self, event: Mapping[str, Any]) -> None:
        """Take an event in."""
        self.tree.feed(event)

    def note(self, message: str) -> None:
        """Say something in between."""

    def stop(self) -> None:
        """Leave the last picture there; a second call does nothing."""


class NotebookScreen(Screen):
    """The output of a notebook's cell, drawn anew at most ten times a second, and less often where that takes long."""

    def __init__(self, tree: LiveTree) -> None:
        super().__init__(tree)
        self._changed = threading.Event()
        self._ended = threading.Event()
        self._handle: Any = None
        self._drawing: threading.Thread | None = None

    def start(self) -> None:
        """Show it, and draw it anew in a thread of its own, so that the run does not wait for it."""
        from IPython.display import display  # only in a notebook

        if self._handle is None:
            picture = self._picture(now=time.time())
            self._handle = display(picture, raw=True, display_id=True)  # type: ignore[no-untyped-call]  # IPython's
            context = contextvars.copy_context()  # by which the kernel knows the cell
            self._drawing = threading.Thread(target=context.run, args=(self._draw,), daemon=True)
            self._drawing.start()

    def event(self, event: Mapping[str, Any]) -> None:
        """Take an event in; the picture follows by itself."""
        super().event(event)
        self._changed.set()

    def stop(self) -> None:
        """Leave the whole tree in the cell."""
        if self._drawing is None:
            return
        self._ended.set()
        self._changed.set()
        self._drawing.join()
        self._drawing = None
        self._handle.update(self._picture(), raw=True)

    def _draw(self) -> None:
        pause = _EVERY
        while not self._ended.wait(pause):
            self._changed.wait(1)  # once a second anyhow, for the times that run on
            self._changed.clear()
            if self._ended.is_set():
                return
            began = time.monotonic()
            self._handle.update(self._picture(now=time.time()), raw=True)
            pause = max(_EVERY, _SHARE * (time.monotonic() - began))

    def _picture(self, now: float | None = None) -> dict[str, str]:
        with self.tree.lock:
            roots = self.tree.roots()
            foot = " · ".join(summary_of(roots, self.tree.budget))
            return {"text/html": html_of(roots, foot, now=now), "text/plain": text_of(roots, foot)}


class LinesScreen(Screen):
    """One line an event, for a log.

    Args:
        tree: What is known of the run so far.
        file: Where they are written.
        title: The first line.
    """

    def __init__(self, tree: LiveTree, file: TextIO, title: str = "") -> None:
        super().__init__(tree)
        self.file = file
        self.title = title

    def start(self) -> None:
        """Write the title."""
        if self.title:
            self.note(self.title)
            self.title = ""

    def event(self, event: Mapping[str, Any]) -> None:
        """Write its line."""
        super().event(event)
        told = _told(event)
        if told is not None:
            kind = event["type"].replace("call_finished", "call")
            self.note(f"{one_line(event['task_id']):<12} {kind:<13} {one_line(told)}")

    def note(self, message: str) -> None:
        """Write it."""
        with self.tree.lock:  # the run's threads tell at the same moment
            print(f"{message}\n", end="", file=self.file, flush=True)


def _told(event: Mapping[str, Any]) -> str | None:
    tell = _TOLD.get(event["type"])
    return None if tell is None else tell(event, event["data"])


def _started(event: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    limit = f"/{data['max_attempts']}" if "max_attempts" in data else ""
    return f"attempt {event['attempt']}{limit}: {data['objective']}"


def _answer(event: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    return str(data["answer"])


def _ended(event: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    error = f": {data['error']}" if data.get("error") else ""
    return f"{event['duration_ms']} ms, {data['call']}{error}"


_TOLD: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any]], str]] = {
    "task_started": _started,
    "decomposed": lambda event, data: counted(len(data["children"]), "sub-task"),
    "call_finished": lambda event, data: (
        f"{event['duration_ms']} ms  {data['call']}  {data.get('error') or ''}".rstrip()
    ),
    "interrupted": lambda event, data: f"asks: {data['value']}",
    "solved": _answer,
    "aggregated": _answer,
    "verified": lambda event, data: ": ".join(filter(None, (data["outcome"], "; ".join(data["issues"])))),
    "stalled": lambda event, data: f"exactly as {data['repeats']}",
    "recovering": lambda event, data: f"next {data['fix']}, with {counted(data['failures'], 'failure')} as evidence",
    "intervened": lambda event, data: f"{data['by']} decides: {data['decision']}",
    "budget_spent": lambda event, data: str(data["detail"]),
    "accepted": lambda event, data: f"{'checked' if data['verified'] else 'not checked'}: {data['answer']}",
    "halted": lambda event, data: f"{data['halt']}: {data['detail']}",
}
