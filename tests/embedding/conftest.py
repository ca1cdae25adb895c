"""Each embedding holds in the sync world and in the async one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def stream(way: str) -> Run:
    """Stream a Runnable to its end."""

    def streamed(runnable: Any, given: Any, config: Any = None, **kwargs: Any) -> list[Any]:
        async def collect() -> list[Any]:
            return [chunk async for chunk in runnable.astream(given, config, **kwargs)]

        return list(runnable.stream(given, config, **kwargs)) if way == "sync" else asyncio.run(collect())

    return streamed
