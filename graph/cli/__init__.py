"""The command line: `langgraph-recursive`, or `python -m langgraph_recursive.graph.cli`."""

from __future__ import annotations

import importlib.util
import sys

__all__ = ("main",)

_NEEDED = ("typer", "rich", "langgraph.checkpoint.sqlite")


def main() -> None:
    """Run the command line and exit with its code: 0 accepted, 1 no accepted answer, 2 usage, 130 on Ctrl-C."""
    if any(importlib.util.find_spec(name) is None for name in _NEEDED):
        print('the command line needs: pip install "langgraph-recursive[cli]"', file=sys.stderr)
        raise SystemExit(2)
    from .entry import run_app

    raise SystemExit(run_app(sys.argv[1:]))
