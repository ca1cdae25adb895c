"""The two consoles: the answer goes to stdout, all else to stderr."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from rich.console import Console

__all__ = ("animated", "console_for", "prepare_streams", "say", "stderr", "stdout")

_PIPE_WIDTH = 160


def prepare_streams() -> None:
    """Never fail on a character that a stream cannot write."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def console_for(stream: TextIO) -> Console:
    """A console without markup, emoji codes or guessed highlights; wide when it is no terminal."""
    width = None if stream.isatty() or "COLUMNS" in os.environ else _PIPE_WIDTH
    return Console(file=stream, markup=False, emoji=False, highlight=False, width=width)


def stdout() -> Console:
    """The console of results."""
    return console_for(sys.stdout)


def stderr() -> Console:
    """The console of progress and complaints."""
    return console_for(sys.stderr)


def animated(console: Console) -> bool:
    """Whether a tree can grow in place there."""
    return console.file.isatty() and not console.is_dumb_terminal


def say(message: str) -> None:
    """Write one line to stderr."""
    print(message, file=sys.stderr, flush=True)
