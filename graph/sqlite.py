"""A SQLite saver for wide recursion: one transaction for all writes that wait.

LangGraph's own savers commit, with a full fsync, after every write. When hundreds of nested graphs
save at once, nearly all their time goes there. This one subclasses LangGraph's `SqliteSaver` and
keeps its tables, statements and serializer; only who runs the statements, and when, is different:

- writes go to one thread, which puts all that arrived while a transaction ran into the next one;
- a write returns when its transaction is on the disk, and fails alone when only it is at fault;
- reads have connections of their own (WAL), so they never wait for a writer;
- the same saver serves `invoke` and `ainvoke`.

    with open_sqlite("runs.db") as saver:
        create_recursive_solver(..., checkpointer=saver).invoke(...)

Needs the extra `sqlite` (langgraph-checkpoint-sqlite).
"""

from __future__ import annotations

import asyncio
import functools
import os
import sqlite3
from collections.abc import AsyncIterator, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from types import TracebackType
from typing import Any, Self, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from langgraph_recursive.state.errors import MissingDependencyError

try:
    from langgraph.checkpoint.sqlite import SqliteSaver
except ImportError as error:
    raise MissingDependencyError(
        'open_sqlite needs: pip install "langgraph-recursive[sqlite]"', field="langgraph-checkpoint-sqlite"
    ) from error

from .database import Database, Statements

__all__ = ["DEFAULT_TIMEOUT", "GroupedSqliteSaver", "open_sqlite"]

DEFAULT_TIMEOUT = 30.0
"""Seconds to wait for another process that holds the database before an error."""

_LIST_CHUNK = 32

_T = TypeVar("_T")

_deferred: ContextVar[Statements | None] = ContextVar("deferred_statements", default=None)


_NESTED = "|"
_DELETE_OLDER = "DELETE FROM {table} WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id < ?"


class GroupedSqliteSaver(SqliteSaver):
    """LangGraph's SQLite saver with grouped writes, for sync and async use alike.

    Safe to share between threads, event loops and graphs. Copies made by `with_allowlist` share the
    database, so closing any of them closes all. Not to be used across a fork.

    Args:
        path: The database file, made when missing. An in-memory database has no second connection
            and is refused: use `InMemorySaver`.
        timeout: Seconds to wait while another process holds the database.
        serde: The serializer; LangGraph's default when None.
        nested_history: Whether to keep every checkpoint of nested graphs, as LangGraph's own savers do. Only the newest
            of each is ever read to resume, show or rewind a task, so by default the older ones go as it is stored: a
            wide tree takes a fraction of the room. The outermost graph keeps its whole history either way.

    Raises:
        ValueError: The path names an in-memory database.
        sqlite3.OperationalError: The file cannot be opened, or stayed locked for `timeout`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        timeout: float = DEFAULT_TIMEOUT,
        serde: SerializerProtocol | None = None,
        nested_history: bool = False,
    ) -> None:
        self._nested_history = nested_history
        self._db = Database(os.fspath(path), timeout)
        super().__init__(self._db.writer.conn, serde=serde)
        self.is_setup = True

    @classmethod
    @contextmanager
    def from_conn_string(cls, conn_string: str) -> Iterator[GroupedSqliteSaver]:
        """Open a database file, as LangGraph's saver spells it.

        Args:
            conn_string: The database file.

        Yields:
            The saver, closed on leaving.
        """
        with cls(conn_string) as saver:
            yield saver

    @property
    def commits(self) -> int:
        """Transactions committed so far; far fewer than writes when many arrive at once."""
        return self._db.writer.commits

    def close(self) -> None:
        """Commit what was handed in and close the database. A second call does nothing."""
        self._db.close()

    async def aclose(self) -> None:
        """Like `close`, without blocking the event loop."""
        await asyncio.to_thread(self._db.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    # Writing: the inherited `put`, `put_writes` and `delete_thread` ask for a cursor and get a
    # recorder, so their SQL stays LangGraph's own.

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        """Give the inherited methods a cursor: a reader's, or one that records writes."""
        if not transaction:
            with self._reader() as reader, reader.cursor(transaction=False) as cursor:
                yield cursor
            return
        recorder = _Recorder()
        yield cast(sqlite3.Cursor, recorder)
        deferred = _deferred.get()
        if deferred is None:
            self._db.writer.write(recorder.statements)
        else:
            deferred.extend(recorder.statements)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint; in the same transaction a nested graph's older ones go."""
        namespace = config["configurable"].get("checkpoint_ns", "")
        if self._nested_history or _NESTED not in namespace:
            return super().put(config, checkpoint, metadata, new_versions)
        older = (config["configurable"]["thread_id"], namespace, checkpoint["id"])
        with self._one_write():
            stored = super().put(config, checkpoint, metadata, new_versions)
            with self.cursor() as cursor:
                for table in ("checkpoints", "writes"):
                    cursor.execute(_DELETE_OLDER.format(table=table), older)
        return stored

    @contextmanager
    def _one_write(self) -> Iterator[None]:
        """Put the writes made inside into one job."""
        if _deferred.get() is not None:
            yield
            return
        with _recording() as statements:
            yield
        self._db.writer.write(statements)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint; returns when it is on the disk."""
        with _recording() as statements:
            stored = self.put(config, checkpoint, metadata, new_versions)
        await self._db.writer.awrite(statements)
        return stored

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Save a task's writes; returns when they are on the disk."""
        with _recording() as statements:
            self.put_writes(config, writes, task_id, task_path)
        await self._db.writer.awrite(statements)

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete all checkpoints and writes of a thread, in all its namespaces."""
        with _recording() as statements:
            self.delete_thread(thread_id)
        await self._db.writer.awrite(statements)

    # Reading: LangGraph's own saver on a connection from the pool.

    @contextmanager
    def _reader(self) -> Iterator[SqliteSaver]:
        reader = self._db.take_reader()
        try:
            # Savers derived by `with_allowlist` share the pool and differ in the serializer.
            reader.serde = self.serde
            yield reader
        finally:
            self._db.return_reader(reader)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read one checkpoint: the one named in the config, or the namespace's latest."""
        with self._reader() as reader:
            return reader.get_tuple(config)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Generator[CheckpointTuple, None, None]:
        """List checkpoints, newest first; of all namespaces when the config names none.

        Unlike the inherited one it holds no lock, so the saver can be used while iterating.
        """
        with self._reader() as reader:
            yield from reader.list(config, filter=filter, before=before, limit=limit)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Read what delta channels gathered along a checkpoint's ancestors."""
        with self._reader() as reader:
            return reader.get_delta_channel_history(config=config, channels=channels)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read one checkpoint: the one named in the config, or the namespace's latest."""
        return await asyncio.wrap_future(self._db.read(self.get_tuple, config))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """List checkpoints, newest first; of all namespaces when the config names none."""
        rows = self.list(config, filter=filter, before=before, limit=limit)
        fetch = self._db.read(_next_chunk, rows)
        try:
            while chunk := await asyncio.wrap_future(fetch):
                for row in chunk:
                    yield row
                fetch = self._db.read(_next_chunk, rows)
        finally:
            # A cancelled consumer leaves the thread inside the generator: close it after that.
            fetch.add_done_callback(lambda _: rows.close())

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Read what delta channels gathered along a checkpoint's ancestors."""
        read = functools.partial(self.get_delta_channel_history, config=config, channels=channels)
        return await asyncio.wrap_future(self._db.read(read))


def open_sqlite(
    path: str | os.PathLike[str],
    *,
    timeout: float = DEFAULT_TIMEOUT,
    serde: SerializerProtocol | None = None,
    nested_history: bool = False,
) -> GroupedSqliteSaver:
    """Open a saver in a SQLite file, for `with`, `async with`, or `close` by hand.

    Args:
        path: The database file, made when missing.
        timeout: Seconds to wait while another process holds the database.
        serde: The serializer; LangGraph's default when None.
        nested_history: Whether to keep every checkpoint of nested graphs; by default only the newest of each.

    Returns:
        The saver, for `invoke` and `ainvoke` alike.
    """
    return GroupedSqliteSaver(path, timeout=timeout, serde=serde, nested_history=nested_history)


class _Recorder:
    """Stands in for a cursor and keeps the statements instead of running them."""

    def __init__(self) -> None:
        self.statements: Statements = []

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> Self:
        self.statements.append((sql, [parameters]))
        return self

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> Self:
        if kept := list(rows):
            self.statements.append((sql, kept))
        return self


@contextmanager
def _recording() -> Iterator[Statements]:
    """Collect the statements of the writes made inside, instead of running them."""
    statements: Statements = []
    token = _deferred.set(statements)
    try:
        yield statements
    finally:
        _deferred.reset(token)


def _next_chunk(rows: Iterator[_T]) -> list[_T]:
    return list(islice(rows, _LIST_CHUNK))
