"""The database of runs: where it is, which threads it holds, what became of each."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from pydantic import ValidationError

from ..history import TaskRecord, last_run, records
from ..sqlite import GroupedSqliteSaver, open_sqlite
from .problems import FAILED, Problem, told
from .settings import Settings

__all__ = ("Runs", "default_db", "open_runs")


def default_db() -> Path:
    """`$XDG_STATE_HOME/langgraph-recursive/runs.db`, else below `~/.local/state`."""
    home = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(home).expanduser() / "langgraph-recursive" / "runs.db"


@contextlib.contextmanager
def open_runs(db: Path | None, *, make: bool = False) -> Iterator[Runs]:
    """Open the database.

    Args:
        db: Its file; None is the default one.
        make: Make it, and the folders above it, when missing.

    Raises:
        Problem: It cannot be opened, or is no database.
    """
    path = (db or default_db()).expanduser()
    if make:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Problem(f"--db {path}: cannot make its folder: {error.strerror}") from error
    elif not path.exists():
        raise Problem(f"there are no runs yet: no database at {path}")
    try:
        saver = open_sqlite(path)
    except sqlite3.DatabaseError as error:
        raise Problem(f"--db {path}: {told(error)}") from error
    try:
        with saver:
            yield Runs(path, saver)
    except sqlite3.Error as error:
        raise Problem(f"database {path}: {told(error)}", code=FAILED) from error


class Runs:
    """The threads in one database.

    Attributes:
        path: The file.
        saver: LangGraph's saver in it.
    """

    def __init__(self, path: Path, saver: GroupedSqliteSaver) -> None:
        self.path = path
        self.saver = saver

    def threads(self) -> list[str]:
        """All threads, the latest first."""
        with self.saver.cursor(transaction=False) as cursor:
            cursor.execute(
                "SELECT thread_id FROM checkpoints WHERE checkpoint_ns = '' "
                "GROUP BY thread_id ORDER BY MAX(checkpoint_id) DESC"
            )
            return [str(row[0]) for row in cursor.fetchall()]

    def latest(self, thread: str) -> CheckpointTuple | None:
        """The root's latest checkpoint."""
        return self.saver.get_tuple(_config(thread, checkpoint_ns=""))

    def has(self, thread: str) -> bool:
        """Whether something is stored under a thread."""
        return self.latest(thread) is not None

    def known(self, thread: str) -> CheckpointTuple:
        """The root's latest checkpoint.

        Raises:
            Problem: There is no such thread.
        """
        found = self.latest(thread)
        if found is None:
            raise Problem(
                f"there is no thread {thread!r} in {self.path}: `langgraph-recursive runs` lists them. Start a "
                "run again that was killed before its first checkpoint"
            )
        return found

    def settings(self, thread: str) -> Settings | None:
        """What a thread was started with; None when another program made it."""
        return Settings.stored(self.known(thread).metadata)

    def root(self, latest: CheckpointTuple) -> TaskRecord | None:
        """The root task; None when the thread is of another graph."""
        try:
            found = records([latest])
        except ValidationError:
            return None
        return found[0] if found else None

    def tasks(self, thread: str) -> list[TaskRecord]:
        """The tasks of a thread's last run, parents before children."""
        try:
            return last_run(records(self.saver.list(_config(thread))))
        except ValidationError:
            return []


def _config(thread: str, **more: Any) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, **more}}
