"""How tests start the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

__all__ = ("JOB", "Finished", "command", "graph")

JOB = Path(__file__).parents[1] / "cli" / "job.py"
Finished = subprocess.CompletedProcess[str]


def command(*arguments: str) -> list[str]:
    """The command line of a process."""
    return [sys.executable, "-m", "langgraph_recursive.graph.cli", *arguments]


def graph(name: str) -> list[str]:
    """The option for one of the solvers in tests/cli/job.py."""
    return ["--graph", f"{JOB}:{name}"]
