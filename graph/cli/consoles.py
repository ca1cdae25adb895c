"""The two consoles: the answer goes to stdout, all else to stderr."""

from __future__ import annotations

import sys

from rich.console import Console

from ..view.terminal import console_for

__all__ = ("prepare_streams", "say", "stderr", "stdout")


def prepare_streams() -> None:
    """Never fail on a character that a stream cannot write."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def stdout() -> Console:
    """The console of results."""
    return console_for(sys.stdout)


def stderr() -> Console:
    """The console of progress and complaints."""
    return console_for(sys.stderr)


def say(message: str) -> None:
    """Write one line to stderr."""
    print(message, file=sys.stderr, flush=True)
