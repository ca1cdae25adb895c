"""One server for all tests of a worker, with the graphs of `project/`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterator
from typing import Any

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from dev_server import DevServer
from served import served


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    running = served(tmp_path_factory.mktemp("server"))
    yield running
    running.kill()


@pytest.fixture
async def client(server: DevServer) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=server.url) as connected:
        yield connected


@pytest.fixture
async def thread(client: LangGraphClient) -> str:
    """The id of a new thread."""
    return str((await client.threads.create())["thread_id"])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Show what the server printed where a test fails."""
    report = yield
    server = getattr(item, "funcargs", {}).get("server")
    if report.failed and isinstance(server, DevServer):
        report.sections.append(("server", server.output()))
    return report
