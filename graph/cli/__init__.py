"""The command line: `langgraph-recursive`, or `python -m langgraph_recursive.graph.cli`."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ("main",)

_NEEDED = ("typer", "rich", "langgraph.checkpoint.sqlite")
_STOPPED = 130


def main() -> None:
    """Run the command line and exit with its code: 0 accepted, 1 no accepted answer, 2 usage, 130 on Ctrl-C."""
    try:
        with _ended_by_ctrl_c():
            if any(importlib.util.find_spec(name) is None for name in _NEEDED):
                print('the command line needs: pip install "langgraph-recursive[cli]"', file=sys.stderr)
                raise SystemExit(2)
            from .entry import run_app
        raise SystemExit(run_app(sys.argv[1:]))
    except KeyboardInterrupt:  # before or after all that would tell of it
        raise SystemExit(_STOPPED) from None


@contextmanager
def _ended_by_ctrl_c() -> Iterator[None]:
    """End the process at once on Ctrl-C: while modules are imported there is nothing to tell or to put in order.

    An exception would not do. It may come anywhere in foreign code, which prints it or makes another one of it.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # in the background of a shell it is ignored
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: os._exit(_STOPPED))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
