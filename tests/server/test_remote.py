"""RemoteGraph: a solver on a server as a node of a user's own graph, or called directly."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.pregel.remote import RemoteException, RemoteGraph
from langgraph.types import Command
from langgraph_sdk import get_client, get_sync_client

from dev_server import DevServer


class Order(TypedDict, total=False):
    task: str
    output: str
    price: int


@pytest.fixture
def remote(server: DevServer) -> Iterator[RemoteGraph]:
    with get_sync_client(url=server.url) as client:
        yield RemoteGraph("solver", sync_client=client)


@pytest.fixture
def config() -> RunnableConfig:
    return {"configurable": {"thread_id": str(uuid.uuid4())}}  # the server takes nothing else for a thread


def hosting(remote: RemoteGraph) -> Any:
    graph = StateGraph(Order)
    graph.add_node("solve", remote)
    graph.add_node("price", lambda state: {"price": len(state["output"])})
    graph.add_edge(START, "solve")
    graph.add_edge("solve", "price")
    return graph.compile(checkpointer=InMemorySaver())


def test_as_a_node(remote: RemoteGraph, config: RunnableConfig) -> None:
    result = hosting(remote).invoke({"task": "a and err b"}, config)
    assert result == {"task": "a and err b", "output": "a!; err b!", "price": 10}


async def test_as_a_node_on_the_event_loop(server: DevServer, config: RunnableConfig) -> None:
    async with get_client(url=server.url) as client:
        host = hosting(RemoteGraph("solver", client=client))
        assert (await host.ainvoke({"task": "a and b"}, config))["output"] == "a!; b!"


async def test_a_graph_on_the_same_server_calls_it_on_another_thread(server: DevServer) -> None:
    async with get_client(url=server.url) as client:
        result: Any = await client.runs.wait(None, "relay", input={"task": "a and b"})
        assert result["output"] == "a!; b!"


def test_events_arrive_at_the_hosts_caller(remote: RemoteGraph, config: RunnableConfig) -> None:
    chunks = list(hosting(remote).stream({"task": "a and b"}, config, stream_mode="custom", subgraphs=True))
    assert {space[0].partition(":")[0] for space, _ in chunks} == {"solve"}
    assert {event["task_id"] for _, event in chunks} == {"t", "t.1", "t.2"}


def test_called_directly_it_asks_and_is_resumed(remote: RemoteGraph, config: RunnableConfig) -> None:
    asked = remote.invoke({"task": "ask a and b"}, config)
    assert [entry["value"] for entry in asked["__interrupt__"]] == [{"about": "a"}]
    result = remote.invoke(Command(resume="yes"), config)
    assert (result["output"], result["verdict"]["outcome"]) == ("a: yes; b!", "passed")
    assert remote.get_state(config).values["output"] == "a: yes; b!"


def test_what_it_asks_as_a_node_is_answered_on_its_own_thread(remote: RemoteGraph, config: RunnableConfig) -> None:
    host = hosting(remote)
    assert [entry.value for entry in host.invoke({"task": "ask a"}, config)["__interrupt__"]] == [{"about": "a"}]
    answered = remote.invoke(Command(resume="yes"), config)
    host.update_state(config, {"output": answered["output"]}, as_node="solve")
    assert host.invoke(None, config) == {"task": "ask a", "output": "a: yes", "price": 6}


def test_bad_input_is_told(remote: RemoteGraph, config: RunnableConfig) -> None:
    with pytest.raises(RemoteException, match=r"InvalidInputError.*task is empty: say what is to be done"):
        remote.invoke({"task": ""}, config)
