"""What the web tests share. `certs/` holds an authority and one certificate it signed, valid until 2120.

The certificate is for one.example.com, two.example.com and 93.184.216.34; its key protects nothing.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from langgraph_recursive.nodes.effects import Body, adrive, drive
from web_sites import Net, network


@pytest.fixture
def net() -> Iterator[Net]:
    with network() as net:
        yield net


def _awaited(body: Body[Any]) -> Any:
    return asyncio.run(adrive(body))


@pytest.fixture(params=[drive, _awaited], ids=["sync", "async"])
def perform(request: pytest.FixtureRequest) -> Callable[[Body[Any]], Any]:
    """Runs a body of effects, in both worlds."""
    runner: Callable[[Body[Any]], Any] = request.param
    return runner
