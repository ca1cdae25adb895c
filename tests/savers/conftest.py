"""Fixtures for the saver tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from langgraph_recursive.graph.sqlite import GroupedSqliteSaver, open_sqlite


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def saver(db: Path) -> Iterator[GroupedSqliteSaver]:
    with open_sqlite(db) as opened:
        yield opened
