"""What is shown while a run goes on: a tree that grows, plain lines, or nothing."""

from __future__ import annotations

import sys

from ..view.live import LiveTree
from ..view.screens import LinesScreen, Screen
from ..view.terminal import TerminalScreen, animated
from .consoles import say, stderr

__all__ = ("QuietScreen", "progress_for")


class QuietScreen(Screen):
    """Shows nothing but notes."""

    def note(self, message: str) -> None:
        """Say it on stderr."""
        say(message)


def progress_for(tree: LiveTree, title: str, *, quiet: bool, json: bool) -> Screen:
    """A tree on a terminal, lines elsewhere; nothing when it is not wanted."""
    if quiet:
        return QuietScreen(tree)
    console = stderr()
    if animated(console):
        return TerminalScreen(tree, console, title)
    return QuietScreen(tree) if json else LinesScreen(tree, sys.stderr, title)
