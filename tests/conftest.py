"""Settings that must stand before LangGraph is imported, and what most folders share."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

import pytest

os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")
os.environ.setdefault("LANGSMITH_TRACING", "false")


@pytest.fixture(params=["sync", "async"])
def way(request: pytest.FixtureRequest) -> str:
    """Each rule holds in the sync world and in the async one."""
    return str(request.param)


@pytest.fixture
def run(way: str) -> Callable[..., Any]:
    """Invoke a Runnable: a graph runs to its end, or to its next interrupt."""

    def invoked(runnable: Any, given: Any, config: Any = None, **options: Any) -> Any:
        if way == "sync":
            return runnable.invoke(given, config, **options)
        return asyncio.run(runnable.ainvoke(given, config, **options))

    return invoked
