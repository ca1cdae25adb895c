"""EventEmitter: handlers for a solver's events, wherever the solver runs."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.tools import ToolException
from langgraph.graph import START, MessagesState, StateGraph

from engine_kit import split
from langgraph_recursive.graph import EventEmitter, create_recursive_solver, solver_tool
from langgraph_recursive.nodes import reject
from langgraph_recursive.state.errors import ComponentError, InvalidInputError, RecursiveSolverError
from langgraph_recursive.state.event import Event

Run = Callable[..., Any]


def tree(**parts: Any) -> Any:
    given = {
        "solver": lambda task: f"{task}!",
        "decomposer": split({"w": ["a", "b"], "a": ["c", "d"]}),
        "aggregator": lambda results: "+".join(results),
    }
    return create_recursive_solver(**{**given, **parts})


def config(emitter: EventEmitter) -> Any:
    return {"callbacks": [emitter]}


def test_a_handler_gets_each_event_of_its_type_in_order_before_the_run_returns(run: Run) -> None:
    emitter, seen = EventEmitter(), list[Event]()
    emitter.subscribe("accepted", seen.append)
    run(tree(), "w", config(emitter))
    assert Counter(event["task_id"] for event in seen) == Counter(["t.1.1", "t.1.2", "t.1", "t.2", "t"])
    assert {event["type"] for event in seen} == {"accepted"}
    assert seen[-1]["task_id"] == "t"


def by_task(events: list[Event]) -> dict[str, list[Event]]:
    """What siblings tell at the same moment may come in any order."""
    return {name: [event for event in events if event["task_id"] == name] for name in {e["task_id"] for e in events}}


def test_all_types_are_those_of_the_custom_stream(stream: Run) -> None:
    emitter, seen = EventEmitter(), list[Event]()
    emitter.subscribe("*", seen.append)
    streamed = stream(tree(), "w", config(emitter), stream_mode="custom")
    assert by_task(seen) == by_task(streamed)


def test_an_async_handler_is_awaited(run: Run) -> None:
    emitter, seen = EventEmitter(), list[str]()

    async def handle(event: Event) -> None:
        await asyncio.sleep(0.001)
        seen.append(event["task_id"])

    emitter.subscribe("accepted", handle)
    run(tree(), "w", config(emitter))
    assert len(seen) == 5


def test_a_slow_handler_does_not_hold_up_the_run(run: Run) -> None:
    emitter, at_the_end, seen = EventEmitter(), threading.Event(), list[bool]()

    def slow(event: Event) -> None:
        seen.append(at_the_end.wait(10))

    def last(results: list[str]) -> str:
        at_the_end.set()
        return "x"

    emitter.subscribe("solved", slow)
    solver = create_recursive_solver(solver=str, decomposer=split({"w": list("abcd")}), aggregator=last)
    run(solver, "w", config(emitter))
    assert seen == [True] * 4


def test_unsubscribe_ends_a_subscription(run: Run) -> None:
    emitter, seen = EventEmitter(), list[Event]()
    emitter.subscribe("accepted", seen.append)
    end = emitter.subscribe("solved", seen.append)
    end()
    emitter.unsubscribe("accepted", seen.append)
    emitter.unsubscribe("halted", seen.append)  # there is none
    run(tree(), "w", config(emitter))
    assert seen == []


def test_a_handler_that_raises_is_logged_and_the_next_is_called(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    emitter, seen = EventEmitter(), list[Event]()

    def broken(event: Event) -> None:
        raise ValueError("broken handler")

    emitter.subscribe("halted", broken)
    emitter.subscribe("halted", seen.append)
    with caplog.at_level(logging.ERROR):
        result = run(create_recursive_solver(solver=str, verifiers=[lambda: reject("no")]), "w", config(emitter))
    assert "broken handler" in caplog.text
    assert [event["data"]["halt"] for event in seen] == [result["halt"].type]


def test_a_run_that_fails_waits_for_the_handlers_too(run: Run) -> None:
    emitter, seen = EventEmitter(), list[Event]()

    def slow(event: Event) -> None:
        time.sleep(0.05)
        seen.append(event)

    emitter.subscribe("task_started", slow)
    with pytest.raises(ComponentError):
        run(create_recursive_solver(solver=lambda: 5), "w", config(emitter))
    assert len(seen) == 1


def test_in_a_host_in_a_chain_and_as_a_tool(run: Run) -> None:
    graph = StateGraph(MessagesState)
    graph.add_node("work", tree())
    graph.add_edge(START, "work")
    for runnable, given in (
        (graph.compile(), {"messages": "w"}),
        (tree() | (lambda result: result), "w"),
        (solver_tool(tree()), {"task": "w"}),
    ):
        emitter, seen = EventEmitter(), list[Event]()
        emitter.subscribe("accepted", seen.append)
        run(runnable, given, config(emitter))
        assert len(seen) == 5


def test_within_a_hosts_node_the_call_that_it_is_given_to_waits_for_the_handlers(run: Run, way: str) -> None:
    emitter, seen, found = EventEmitter(), list[Event](), list[int]()

    def slow(event: Event) -> None:
        time.sleep(0.01)
        seen.append(event)

    def work(state: MessagesState) -> None:
        tree().invoke("w", config(emitter))
        found.append(len(seen))

    async def awork(state: MessagesState) -> None:
        await tree().ainvoke("w", config(emitter))
        found.append(len(seen))

    emitter.subscribe("accepted", slow)
    graph = StateGraph(MessagesState)
    graph.add_node("work", work if way == "sync" else awork)
    graph.add_edge(START, "work")
    run(graph.compile(), {"messages": "w"})
    assert found == [5]


def test_a_tool_that_fails_waits_for_the_handlers_too(run: Run) -> None:
    emitter, seen = EventEmitter(), list[Event]()

    def slow(event: Event) -> None:
        time.sleep(0.05)
        seen.append(event)

    emitter.subscribe("halted", slow)
    made = solver_tool(create_recursive_solver(solver=str, verifiers=[lambda: reject("no")]))
    made.handle_tool_error = False
    with pytest.raises(ToolException):
        run(made, {"task": "w"}, config(emitter))
    assert len(seen) == 1


def test_several_runs_at_once_share_one_emitter() -> None:
    emitter, seen = EventEmitter(), list[Event]()
    emitter.subscribe("accepted", seen.append)
    asyncio.run(tree().abatch(["w"] * 5, config(emitter)))
    assert len(seen) == 25
    assert len({event["run_id"] for event in seen}) == 5


def test_a_handler_may_run_a_solver_with_the_same_emitter(run: Run) -> None:
    emitter, seen = EventEmitter(), list[str]()

    def again(event: Event) -> None:
        seen.append(event["task_id"])
        if len(seen) == 1:
            create_recursive_solver(solver=str).invoke({"task": "x", "task_id": "u"}, config(emitter))

    emitter.subscribe("accepted", again)
    run(create_recursive_solver(solver=str), "w", config(emitter))
    assert seen == ["t", "u"]


def test_a_custom_event_of_someone_else_is_passed_over() -> None:
    emitter, seen = EventEmitter(), list[Event]()
    emitter.subscribe("*", seen.append)
    for name, data in (("mine", {"type": "solved"}), ("solved", "text"), ("solved", {"type": "solved"})):
        emitter.on_custom_event(name, data)
    emitter.wait()
    assert seen == []


def test_no_thread_stays_behind(run: Run) -> None:
    emitter = EventEmitter()
    emitter.subscribe("*", lambda event: None)
    run(tree(), "w", config(emitter))
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline and any("recursive-events" in t.name for t in threading.enumerate()):
        time.sleep(0.01)
    assert not any("recursive-events" in thread.name for thread in threading.enumerate())


@pytest.mark.parametrize("kind", ["solvd", "", None, 5, Event])
def test_an_unknown_type_is_refused(kind: Any) -> None:
    for method in (EventEmitter().subscribe, EventEmitter().unsubscribe):
        with pytest.raises(InvalidInputError, match=r"event_type = .*must be one of task_created, .*\*") as caught:
            method(kind, print)
        assert caught.value.field == "event_type"


@pytest.mark.parametrize("handler", [None, "print", lambda: None, lambda one, two: None])
def test_a_handler_of_the_wrong_shape_is_refused(handler: Any) -> None:
    with pytest.raises(RecursiveSolverError, match="must be callable with one event") as caught:
        EventEmitter().subscribe("solved", handler)
    assert caught.value.field == "handler"
