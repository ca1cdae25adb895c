"""What LangChain's callbacks see: a trace that nests by node and task, and our events as custom events."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.tracers.base import BaseTracer
from langchain_core.tracers.schemas import Run as Traced
from langgraph.graph import START, MessagesState, StateGraph

from engine_kit import split
from langgraph_recursive.graph import create_recursive_solver, solver_tool
from langgraph_recursive.nodes import reject
from langgraph_recursive.nodes.listener import Listener
from scripted import ScriptedChatModel

Run = Callable[..., Any]


def tree(**parts: Any) -> Any:
    """t with the children t.1 (with t.1.1 and t.1.2) and t.2."""
    given = {
        "solver": lambda task: f"{task}!",
        "decomposer": split({"w": ["a", "b"], "a": ["c", "d"]}),
        "aggregator": lambda results: "+".join(results),
    }
    return create_recursive_solver(**{**given, **parts})


def host() -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node("work", tree())
    graph.add_edge(START, "work")
    return graph.compile()


class Tracer(BaseTracer):
    """Keeps the trees of runs."""

    def __init__(self) -> None:
        super().__init__()
        self.roots: list[Traced] = []

    def _persist_run(self, run: Traced) -> None:
        self.roots.append(run)


def paths(run: Traced, above: str = "") -> list[str]:
    """Each run of a trace, as the names on its way from the root."""
    path = f"{above}/{run.name}"
    return [path, *(found for child in run.child_runs for found in paths(child, path))]


def test_a_trace_nests_by_node_and_task(run: Run) -> None:
    tracer = Tracer()
    model = ScriptedChatModel(answers=lambda messages: "x")
    run(tree(solver=model), "w", {"callbacks": [tracer]})
    [root] = tracer.roots
    found = paths(root)
    assert root.name == "recursive_solver"
    nodes = ["admit", "decompose", "subtasks", "review", "aggregate", "verify"]
    assert [child.name for child in root.child_runs] == nodes
    deep = "/recursive_solver/subtasks/t.1/t.1/subtasks/t.1.1/t.1.1/solve/ScriptedChatModel"
    assert Counter(found)[deep] == 1
    assert sum(path.endswith("/ScriptedChatModel") for path in found) == 3


def test_a_tasks_run_says_which_attempt_it_is(run: Run) -> None:
    tracer = Tracer()
    run(tree(), "w", {"callbacks": [tracer], "tags": ["mine"]})
    child = next(found for found in tracer.roots[0].child_runs if found.name == "subtasks").child_runs[0].child_runs[0]
    assert child.extra is not None
    assert (child.extra["metadata"]["task_id"], child.extra["metadata"]["attempt"]) == (child.name, 1)


def test_in_a_host_the_trace_is_under_the_hosts_node(run: Run) -> None:
    tracer = Tracer()
    run(host(), {"messages": "w"}, {"callbacks": [tracer]})
    assert any(
        path.startswith("/LangGraph/work/recursive_solver/subtasks/t.2/t.2/solve") for path in paths(tracer.roots[0])
    )


class Heard(BaseCallbackHandler):
    """Keeps custom events."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.runs: set[UUID] = set()

    def on_custom_event(self, name: str, data: Any, *, run_id: UUID, **kwargs: Any) -> None:
        assert name == data["type"]
        json.dumps(data, allow_nan=False)
        self.events.append(data)
        self.runs.add(run_id)


class HeardLater(AsyncCallbackHandler):
    """Keeps custom events, after a while."""

    def __init__(self) -> None:
        self.events: list[Any] = []

    async def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        await asyncio.sleep(0.001)
        self.events.append(data)


def told(events: list[Any]) -> Counter[tuple[str, str]]:
    return Counter((event["task_id"], event["type"]) for event in events)


@pytest.mark.parametrize("handler", [Heard, HeardLater])
def test_callbacks_hear_each_event_once_of_nested_tasks_too(
    stream: Run, handler: type[Heard] | type[HeardLater]
) -> None:
    heard = handler()
    streamed = stream(tree(), "w", {"callbacks": [heard]}, stream_mode="custom")
    assert told(heard.events) == told(streamed)
    assert {event["task_id"] for event in heard.events} == {"t", "t.1", "t.2", "t.1.1", "t.1.2"}


def test_events_of_an_embedded_solver_are_heard(run: Run) -> None:
    inside, in_a_tool = Heard(), Heard()
    run(host(), {"messages": "w"}, {"callbacks": [inside]})
    run(solver_tool(tree()), {"task": "w"}, {"callbacks": [in_a_tool]})
    assert told(inside.events) == told(in_a_tool.events)
    assert told(inside.events)["t", "accepted"] == 1


def test_an_events_run_is_the_roots_node(run: Run) -> None:
    heard, tracer = Heard(), Tracer()
    run(tree(), "w", {"callbacks": [heard, tracer]})
    assert heard.runs == {node.id for node in tracer.roots[0].child_runs}


def test_a_handler_that_raises_is_reported_and_changes_nothing(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(BaseCallbackHandler):
        def on_custom_event(self, *args: Any, **kwargs: Any) -> None:
            raise ValueError("broken handler")

    with caplog.at_level(logging.WARNING):
        assert run(tree(), "w", {"callbacks": [Broken()]})["success"]
    assert "broken handler" in caplog.text


def test_a_handler_that_is_to_stop_the_run_does(run: Run) -> None:
    class Strict(BaseCallbackHandler):
        raise_error = True

        def on_custom_event(self, name: str, *args: Any, **kwargs: Any) -> None:
            if name == "aggregated":
                raise ValueError("stop here")

    with pytest.raises(ValueError, match="stop here"):
        run(tree(), "w", {"callbacks": [Strict()]})


@pytest.mark.parametrize("callbacks", [None, [], [Tracer()], [AsyncCallbackHandler()]])
def test_nothing_is_dispatched_where_nobody_hears(
    run: Run, monkeypatch: pytest.MonkeyPatch, callbacks: list[BaseCallbackHandler] | None
) -> None:
    def never(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("dispatched")

    monkeypatch.setattr("langgraph_recursive.nodes.listener.dispatch_custom_event", never)
    monkeypatch.setattr("langgraph_recursive.nodes.listener.adispatch_custom_event", never)
    assert run(tree(), "w", {"callbacks": callbacks})["success"]


def test_handlers_may_be_given_as_a_plain_list() -> None:
    written: list[Any] = []
    listener = Listener(written.append, {"callbacks": [Tracer()]})
    listener.tell({"type": "solved"})  # type: ignore[typeddict-item]  # no more is needed here
    assert written == [{"type": "solved"}]


# astream_events.


def events_of(graph: Any, given: Any, **options: Any) -> list[Any]:
    async def collected() -> list[Any]:
        return [event async for event in graph.astream_events(given, version="v2", **options)]

    return asyncio.run(collected())


def test_astream_events_shows_our_events_among_langchains() -> None:
    model = ScriptedChatModel(answers=lambda messages: "x")
    seen = events_of(tree(solver=model), "w")
    ours = [event for event in seen if event["event"] == "on_custom_event"]
    assert {event["data"]["task_id"] for event in ours} == {"t", "t.1", "t.2", "t.1.1", "t.1.2"}
    assert next(event["name"] for event in ours if event["data"]["task_id"] == "t") == "task_started"
    assert seen[-1]["event"] == "on_chain_end"
    assert seen[-1]["data"]["output"]["success"] is True
    assert sum(event["event"] == "on_chat_model_end" for event in seen) == 3


def test_astream_events_of_a_chain_and_of_a_host() -> None:
    chain = (lambda text: text) | tree()
    for graph, given in ((chain, "w"), (host(), {"messages": "w"})):
        ours = [event for event in events_of(graph, given) if event["event"] == "on_custom_event"]
        assert {event["data"]["task_id"] for event in ours} == {"t", "t.1", "t.2", "t.1.1", "t.1.2"}


def test_astream_events_can_be_asked_for_some() -> None:
    graph = create_recursive_solver(solver=lambda: "bad", verifiers=[lambda: reject("no")])
    seen = events_of(graph, "w", include_names=["recovering", "halted"])
    assert [event["name"] for event in seen] == ["recovering", "halted"]
