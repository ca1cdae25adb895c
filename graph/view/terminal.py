"""Trees on a terminal: the layout of rows.py in colours, and the picture that grows while a run goes on. Needs rich."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from .live import LiveTree
from .rows import Layout, Line
from .safe import one_line
from .screens import Screen
from .views import summary_of
from .words import Tone

__all__ = ("TerminalScreen", "animated", "console_for", "written")

_PER_SECOND = 10
_BELOW = 3  # lines kept free below the tree
_PIPE_WIDTH = 160
_STYLES: dict[Tone, str] = {
    "": "",
    "bold": "bold",
    "soft": "dim",
    "good": "green",
    "bad": "red",
    "busy": "yellow",
    "idle": "dim",
}


def console_for(stream: TextIO) -> Console:
    """A console without markup, emoji codes or guessed highlights; wide when it is no terminal."""
    width = None if stream.isatty() or "COLUMNS" in os.environ else _PIPE_WIDTH
    return Console(file=stream, markup=False, emoji=False, highlight=False, width=width)


def animated(console: Console) -> bool:
    """Whether a tree can grow in place there."""
    return console.file.isatty() and not console.is_dumb_terminal


def written(lines: Sequence[Line]) -> Text:
    """Lines in colours; a text in them is never markup."""
    texts = [Text.assemble(*((text, _STYLES[tone]) for text, tone in line)) for line in lines]
    return Text("\n").join(texts)


class TerminalScreen(Screen):
    """A tree that grows in place, and stays as the whole tree when the run has ended.

    Args:
        tree: What is known of the run so far.
        console: Where it is drawn.
        title: What stands in the line below it, such as the thread's name.
    """

    def __init__(self, tree: LiveTree, console: Console, title: str = "") -> None:
        self.tree = tree
        self.title = title
        self.remark = ""
        self.running = True
        # The picture is drawn in a thread of its own, so that events do not wait for it.
        self.live = Live(self, console=console, refresh_per_second=_PER_SECOND)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        layout = Layout(width=console.width)
        if self.running:
            height = max(4, console.height - _BELOW)
            layout = Layout(details=False, width=console.width, height=height, now=time.time())
        with self.tree.lock:
            roots = self.tree.roots()
            lines = layout.lines(roots)
            foot = [*summary_of(roots, self.tree.budget), *filter(None, (self.title, self.remark))]
        text = written([*lines, [(one_line(" · ".join(foot)), "soft")]])
        text.no_wrap, text.overflow = self.running, "ellipsis" if self.running else "fold"
        yield text

    def start(self) -> None:
        """Draw it."""
        self.live.start()

    def note(self, message: str) -> None:
        """Say it in the line below the tree."""
        self.remark = message

    def stop(self) -> None:
        """Leave the whole tree on the screen."""
        self.running = False
        self.remark = ""
        if self.live.is_started:
            self.live.stop()
