"""Each rule of artifacts holds in the sync world and in the async one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., dict[str, Any]]


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest) -> Run:
    """Run a graph to its end."""

    def to_end(graph: Any, given: Any, config: Any = None, **options: Any) -> dict[str, Any]:
        if request.param == "sync":
            return dict(graph.invoke(given, config, **options))
        return dict(asyncio.run(graph.ainvoke(given, config, **options)))

    return to_end
