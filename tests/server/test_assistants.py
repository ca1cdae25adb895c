"""What a client sees of a graph before it runs it."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph_sdk.client import LangGraphClient

from langgraph_recursive.graph.machine import NODES


@pytest.fixture
async def assistant(client: LangGraphClient) -> Any:
    return (await client.assistants.search(graph_id="solver"))[0]


def test_it_is_described(assistant: Any) -> None:
    assert (assistant["name"], assistant["description"]) == (
        "recursive_solver",
        "Answers, asks and waits as its task says.",
    )


async def test_schemas(client: LangGraphClient, assistant: Any) -> None:
    schemas: Any = await client.assistants.get_schemas(assistant["assistant_id"])
    assert {"task", "messages"} <= schemas["input_schema"]["properties"].keys()
    assert {"output", "success", "verified", "halt", "messages"} <= schemas["output_schema"]["properties"].keys()


@pytest.mark.parametrize("xray", [False, True, 3])
async def test_the_drawing_ends_though_the_graph_calls_itself(
    client: LangGraphClient, assistant: Any, xray: bool | int
) -> None:
    drawn = await client.assistants.get_graph(assistant["assistant_id"], xray=xray)
    assert {node["id"] for node in drawn["nodes"]} == {*NODES, "__start__", "__end__"}
    assert await client.assistants.get_subgraphs(assistant["assistant_id"], recurse=True) == {}
