"""A server that is killed and started again in its folder goes on from what it had written down."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_sync_client

from dev_server import DevServer
from served import called, served

FLUSH_SECONDS = 120.0  # the server writes its state down every ten seconds


@pytest.fixture
def server(tmp_path: Path) -> Iterator[DevServer]:
    running = served(tmp_path)
    yield running
    running.kill()


def wait_until_written(folder: Path) -> None:
    """Wait until all that the server keeps has been written after now."""
    now, deadline = time.time(), time.monotonic() + FLUSH_SECONDS
    while True:
        files = list((folder / ".langgraph_api").glob("*.pckl"))
        if any(file.name.startswith(".langgraph_checkpoint") for file in files) and all(
            file.stat().st_mtime > now for file in files
        ):
            return
        assert time.monotonic() < deadline, "the server does not write its state down"
        time.sleep(0.1)


@pytest.mark.slow
def test_questions_and_runs_survive_a_kill(server: DevServer) -> None:
    with get_sync_client(url=server.url) as client:
        asking = str(client.threads.create()["thread_id"])
        client.runs.wait(asking, "solver", input={"task": "ask a and b"})
        cut = str(client.threads.create()["thread_id"])
        stream = client.runs.stream(
            cut, "solver", input={"task": "wait a and b"}, stream_mode="custom", on_disconnect="continue"
        )
        events: Iterator[Any] = (chunk.data for chunk in stream if chunk.event == "custom")
        next(event for event in events if (event["task_id"], event["type"]) == ("t.2", "accepted"))
        wait_until_written(server.folder)

    server.kill()
    (server.folder / "go").touch()
    server.start()

    with get_sync_client(url=server.url) as client:
        assert client.threads.get_state(asking)["next"] == ["subtasks"]
        result: Any = client.runs.wait(asking, "solver", command={"resume": "yes"})
        assert (result["output"], result["usage"]["tasks"]) == ("a: yes; b!", 3)
        assert called(server, asking) == ["t.1", "t.1", "t.2"]

        (run,) = client.runs.list(cut)  # the server itself takes up again what ran
        result = client.runs.join(cut, run["run_id"])
        assert (result["output"], result["usage"]["tasks"]) == ("wait a!; b!", 3)
        assert called(server, cut) == ["t.1", "t.1", "t.2"]
