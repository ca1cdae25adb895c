"""The SQLite database behind `open_sqlite`: one thread that writes in groups, and connections that read."""

from __future__ import annotations

import asyncio
import atexit
import copy
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from langgraph.checkpoint.sqlite import SqliteSaver

__all__ = ("Database", "Statements")

_READ_THREADS = 2
_IDLE_READERS = 16

_T = TypeVar("_T")
Statements = list[tuple[str, list[Sequence[Any]]]]
"""SQL statements, each with the rows of parameters that it runs with."""


@dataclass(slots=True, eq=False)
class Job:
    """One caller's write: all of it or nothing."""

    statements: Statements
    waiter: Future[None] | asyncio.Future[None]
    error: Exception | None = None

    def settle(self) -> None:
        if self.waiter.done():  # cancelled: no one waits any more
            return
        if self.error is None:
            self.waiter.set_result(None)
        else:
            self.waiter.set_exception(self.error)


class Writer:
    """The only thread that writes. It commits whatever has gathered, again and again."""

    def __init__(self, conn: sqlite3.Connection, path: str, timeout: float) -> None:
        self.conn = conn
        self.commits = 0
        self._path = path
        self._timeout = timeout
        self._pid = os.getpid()
        self._waiting: list[Job] = []
        self._closing = False
        self._changed = threading.Condition()
        # A daemon, or a saver that was never closed would keep the interpreter from exiting.
        self._thread = threading.Thread(target=self._run, name="sqlite-write", daemon=True)
        self._thread.start()

    def write(self, statements: Statements) -> None:
        """Wait until the statements are committed."""
        self.check_open()
        if statements:
            waiter: Future[None] = Future()
            self._hand_in(Job(statements, waiter))
            waiter.result()

    async def awrite(self, statements: Statements) -> None:
        """Wait until the statements are committed, leaving the event loop free."""
        self.check_open()
        if statements:
            waiter = asyncio.get_running_loop().create_future()
            self._hand_in(Job(statements, waiter))
            await waiter

    def close(self) -> None:
        """Commit what waits, then end the thread."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    @property
    def closed(self) -> bool:
        """Whether no more writes are taken."""
        return self._closing

    @property
    def forked(self) -> bool:
        """Whether this is a forked child, which has no writer thread and must not touch the file."""
        return self._pid != os.getpid()

    def check_open(self) -> None:
        """Refuse to work when closed or forked."""
        if self._closing:
            raise sqlite3.ProgrammingError(f"the SQLite saver of {self._path} is closed")
        if self.forked:
            raise sqlite3.ProgrammingError(f"the SQLite saver of {self._path} was opened before a fork: open it again")

    def _hand_in(self, job: Job) -> None:
        with self._changed:
            self.check_open()  # again: it may have been closed since
            self._waiting.append(job)
            self._changed.notify()

    def _run(self) -> None:
        while group := self._next_group():
            self._commit(group)
            _settle(group)

    def _next_group(self) -> list[Job]:
        with self._changed:
            while not self._waiting and not self._closing:
                self._changed.wait()
            group, self._waiting = self._waiting, []
            return group

    def _commit(self, group: list[Job]) -> None:
        try:
            self.conn.execute("BEGIN IMMEDIATE")
            for job in group:
                self._apply(job)
            self.conn.execute("COMMIT")
            self.commits += 1
        except Exception as error:  # noqa: BLE001 - whatever it is, those who wait must hear of it
            with suppress(sqlite3.Error):
                self.conn.execute("ROLLBACK")
            for job in group:
                job.error = job.error or self._own_copy(error)

    def _apply(self, job: Job) -> None:
        self.conn.execute("SAVEPOINT job")
        try:
            for sql, rows in job.statements:
                self.conn.executemany(sql, rows)
        except Exception as error:
            if not self.conn.in_transaction:  # SQLite gave up the others' work as well
                raise
            self.conn.execute("ROLLBACK TO job")
            job.error = error
        self.conn.execute("RELEASE job")

    def _own_copy(self, error: Exception) -> Exception:
        """One exception raised in many threads would mix up their tracebacks."""
        own = copy.copy(error)
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
            own.args = (f"{error}: {self._path} was in use elsewhere for {self._timeout:g} s",)
        own.__cause__ = error
        return own


def _settle(group: list[Job]) -> None:
    """Tell the callers. An event loop is woken once for all of its own."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Job]] = {}
    for job in group:
        if isinstance(job.waiter, Future):
            job.settle()
        else:
            by_loop.setdefault(job.waiter.get_loop(), []).append(job)
    for loop, jobs in by_loop.items():
        with suppress(RuntimeError):  # the loop was closed: no one waits there any more
            loop.call_soon_threadsafe(_settle_in_loop, jobs)


def _settle_in_loop(jobs: list[Job]) -> None:
    for job in jobs:
        job.settle()


@dataclass(eq=False)
class Database:
    """The connections of one file, shared by a saver and its copies."""

    path: str
    timeout: float
    writer: Writer = field(init=False)
    _idle: list[SqliteSaver] = field(init=False, default_factory=list)
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)

    def __post_init__(self) -> None:
        if self.path in ("", ":memory:"):
            raise ValueError(f"path {self.path!r} is an in-memory database: give a file, or use InMemorySaver")
        self._threads = ThreadPoolExecutor(_READ_THREADS, thread_name_prefix="sqlite-read")
        self.writer = Writer(self._open_for_writing(), self.path, self.timeout)
        atexit.register(self.close)

    def close(self) -> None:
        """Drain the writes, then close every connection."""
        if self.writer.forked:
            return
        atexit.unregister(self.close)
        self.writer.close()
        self._threads.shutdown()
        with self._lock:
            idle, self._idle = self._idle, []
        for reader in idle:
            reader.conn.close()
        # Last, since the last connection to close folds the log into the database file.
        self.writer.conn.close()

    def take_reader(self) -> SqliteSaver:
        """Lend LangGraph's own saver on a connection that no one else uses meanwhile."""
        with self._lock:
            self.writer.check_open()
            if self._idle:
                return self._idle.pop()
        return self._open_for_reading()

    def return_reader(self, reader: SqliteSaver) -> None:
        """Take a reader back; close it when there are plenty, or the saver is closed."""
        with self._lock:
            kept = len(self._idle) < _IDLE_READERS and not self.writer.closed
            if kept:
                self._idle.append(reader)
        if not kept:
            reader.conn.close()

    def read(self, call: Callable[..., _T], *args: Any) -> Future[_T]:
        """Run a read in a thread, for an event loop to wait for."""
        self.writer.check_open()
        return self._threads.submit(call, *args)

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(
            self.path,
            timeout=self.timeout,
            isolation_level=None,  # transactions are written out here
            check_same_thread=False,  # a connection changes threads, but is never used by two
        )

    def _open_for_reading(self) -> SqliteSaver:
        reader = SqliteSaver(self._connect())
        reader.conn.execute("PRAGMA query_only=ON")
        reader.is_setup = True
        return reader

    def _open_for_writing(self) -> sqlite3.Connection:
        conn = self._connect()
        try:
            self._set_up(conn)
            conn.execute("PRAGMA synchronous=FULL")
        except BaseException:
            conn.close()
            raise
        return conn

    def _set_up(self, conn: sqlite3.Connection) -> None:
        """Make the tables, and turn WAL on, for which SQLite does not wait by itself."""
        deadline = time.monotonic() + self.timeout
        while True:
            try:
                return SqliteSaver(conn).setup()
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
