"""What is shown while a run goes on: a tree that grows, plain lines, or nothing."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from typing import Any, Protocol

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.live import Live
from rich.text import Text

from ..view.rows import Tree
from ..view.safe import one_line
from .consoles import animated, say, stderr
from .look import counts, drawn

__all__ = ("LinesProgress", "NoProgress", "Progress", "TreeProgress", "progress_for")

_PER_SECOND = 10
_BELOW = 3  # lines kept free below the tree


class Progress(Protocol):
    """Shows events."""

    def start(self) -> None:
        """Begin."""

    def event(self, event: Mapping[str, Any]) -> None:
        """Take one event in."""

    def note(self, message: str) -> None:
        """Say something in between."""

    def stop(self) -> None:
        """End; a second call does nothing."""


class NoProgress:
    """Shows nothing but notes."""

    def start(self) -> None:
        """Nothing."""

    def event(self, event: Mapping[str, Any]) -> None:
        """Nothing."""

    def note(self, message: str) -> None:
        """Say it on stderr."""
        say(message)

    def stop(self) -> None:
        """Nothing."""


class TreeProgress:
    """A tree that grows in place.

    Args:
        tree: What is known of the run so far.
        title: A line below it, such as the thread's name.
    """

    def __init__(self, tree: Tree, title: str) -> None:
        self.tree = tree
        self.title = title
        self.running = True
        self.remark = ""
        self.lock = threading.Lock()  # the picture is drawn in a thread of its own
        self.live = Live(self, console=stderr(), refresh_per_second=_PER_SECOND)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = max(4, console.height - _BELOW) if self.running else max(4, len(self.tree.rows) + 1)
        with self.lock:
            picture = drawn(self.tree, room, moving=self.running)
            foot = [counts(self.tree), self.title, *([self.remark] if self.remark else [])]
        yield Group(picture, Text(" · ".join(foot), "dim", no_wrap=True, overflow="ellipsis"))

    def start(self) -> None:
        """Draw it."""
        self.live.start()

    def event(self, event: Mapping[str, Any]) -> None:
        """Let the tree grow; the picture follows by itself."""
        with self.lock:
            self.tree.feed(event)

    def note(self, message: str) -> None:
        """Say it in the line below the tree."""
        self.remark = message

    def stop(self) -> None:
        """Leave the whole tree on the screen."""
        self.running = False
        self.remark = ""
        if self.live.is_started:
            self.live.stop()
            print(file=sys.stderr)


class LinesProgress:
    """One line an event, for a log.

    Args:
        tree: What is known of the run so far.
        title: The first line.
    """

    def __init__(self, tree: Tree, title: str) -> None:
        self.tree = tree
        self.title = title

    def start(self) -> None:
        """Write the title, once."""
        if self.title:
            say(self.title)
            self.title = ""

    def event(self, event: Mapping[str, Any]) -> None:
        """Write its line."""
        self.tree.feed(event)
        told = _told(event, self.tree.max_attempts)
        if told is not None:
            print(f"{event['task_id']:<12} {told}", file=sys.stderr, flush=True)

    def note(self, message: str) -> None:
        """Write it."""
        say(message)

    def stop(self) -> None:
        """Nothing."""


def _told(event: Mapping[str, Any], max_attempts: int) -> str | None:
    data, kind = event["data"], event["type"]
    match kind:
        case "task_started":
            told = f"attempt {event['attempt']}/{max_attempts}  {data['objective']}"
        case "decomposed":
            told = f"{len(data['children'])} sub-tasks"
        case "call_finished":
            told = f"{event['duration_ms']} ms  {data['call']}"
        case "verified":
            told = "  ".join([data["outcome"], *data["issues"]])
        case "recovering":
            told = (
                f"next {data['fix']}, with {data['failures']} failure{'' if data['failures'] == 1 else 's'} as evidence"
            )
        case "accepted":
            told = f"{'checked' if data['verified'] else 'not checked'}  {data['answer']}"
        case "halted":
            told = f"{data['halt']}: {data['detail']}"
        case "solved" | "aggregated":
            told = data["answer"]
        case _:
            return None
    return f"{kind.replace('call_finished', 'call'):<13} {one_line(told)}"


def progress_for(tree: Tree, title: str, *, quiet: bool, json: bool) -> Progress:
    """A tree on a terminal, lines elsewhere; nothing when it is not wanted."""
    if quiet:
        return NoProgress()
    if animated(stderr()):
        return TreeProgress(tree, title)
    return NoProgress() if json else LinesProgress(tree, title)
