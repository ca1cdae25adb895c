"""The graphs of `tests/server/project` on a server, and what their solver was called with."""

from __future__ import annotations

import shutil
from pathlib import Path

from dev_server import DevServer

__all__ = ("called", "served")

PROJECT = Path(__file__).parents[1] / "server" / "project"


def served(folder: Path) -> DevServer:
    """Start a server with a copy of the project."""
    shutil.copytree(PROJECT, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    server = DevServer(folder, folder / "langgraph.json")
    server.start()
    return server


def called(server: DevServer, thread: str) -> list[str]:
    """Ids of the tasks of a thread that its solver was called with, sorted."""
    lines = (server.folder / "calls.txt").read_text().splitlines()
    return sorted(task for owner, task in map(str.split, lines) if owner.startswith(thread))
