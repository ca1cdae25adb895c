"""The repository's own langgraph.json: a ready graph that is made of settings, not of code."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk.client import LangGraphClient

from dev_server import DevServer

CONFIG = Path(__file__).parents[2] / "langgraph.json"
NO_MODEL = (
    "no model is named: set LANGGRAPH_RECURSIVE_MODEL where the server is started, or `model` in the context of the "
    "run, to a name such as 'anthropic:claude-sonnet-4-5', or to 'embedded' for a try"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    running = DevServer(tmp_path_factory.mktemp("ready"), CONFIG, {"LANGGRAPH_RECURSIVE_MAX_DEPTH": "0"})
    running.start()
    yield running
    running.kill()


async def test_it_starts_and_shows_itself_without_a_model(client: LangGraphClient, thread: str) -> None:
    (assistant,) = await client.assistants.search()
    assert assistant["name"] == "recursive_solver"
    schemas: Any = await client.assistants.get_schemas(assistant["assistant_id"])
    assert "task" in schemas["input_schema"]["properties"]
    assert {"model", "verify", "max_depth"} <= schemas["context_schema"]["properties"].keys()
    assert (await client.threads.get_state(thread))["next"] == []


async def test_a_wrong_setting_is_told_before_anything_runs(client: LangGraphClient) -> None:
    told: dict[str, tuple[str, dict[str, Any]]] = {
        NO_MODEL: ("MissingSolverError", {}),
        "SolvePolicy.max_attempts = 0: Input should be greater than or equal to 1": (
            "InvalidPolicyError",
            {"context": {"model": "embedded", "max_attempts": 0}},
        ),
        "configurable.verify = 'perhaps': Input should be a valid boolean, unable to interpret input": (
            "InvalidInputError",
            {"config": {"configurable": {"verify": "perhaps"}}},
        ),
    }

    async def last(way: dict[str, Any]) -> Any:
        stream = client.runs.stream(None, "recursive_solver", input={"task": "a"}, **way)
        return [chunk async for chunk in stream][-1]

    chunks = await asyncio.gather(*[last(way) for _, way in told.values()])
    assert [chunk.event for chunk in chunks] == ["error"] * 3
    assert [chunk.data["error"] for chunk in chunks] == [kind for kind, _ in told.values()]
    assert [chunk.data["message"] for chunk in chunks] == list(told)


@pytest.mark.embedded
async def test_an_assistant_names_its_model(client: LangGraphClient, thread: str) -> None:
    assistant = await client.assistants.create("recursive_solver", context={"model": "embedded"}, name="small")
    task = {"task": "What is the capital of France?"}
    result: Any = await client.runs.wait(thread, assistant["assistant_id"], input=task)
    assert "Paris" in result["output"]
    assert (result["halt"], result["verified"], result["usage"]["tasks"]) == (None, False, 1)
    assert (await client.threads.get_state(thread))["values"]["output"] == result["output"]  # type: ignore[call-overload]
