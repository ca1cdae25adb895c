"""Each rule of validation holds in the sync world and in the async one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., dict[str, Any]]


@pytest.fixture(params=["sync", "async"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def run(way: str) -> Run:
    """Run a graph to its end."""

    def to_end(graph: Any, given: Any, config: Any = None) -> dict[str, Any]:
        if way == "sync":
            return dict(graph.invoke(given, config))
        return dict(asyncio.run(graph.ainvoke(given, config)))

    return to_end
