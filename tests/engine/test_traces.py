"""Traces, events and streams."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest
from langgraph.graph import START, MessagesState, StateGraph

from engine_kit import Solver, kinds, split
from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.graph.machine import NODES
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.verdict import accept, reject
from scripted import ScriptedChatModel

Run = Callable[..., dict[str, Any]]

TREE = {"w": ["a", "b"], "a": ["c", "d"]}


@pytest.fixture
def stream(way: str) -> Callable[..., list[Any]]:
    def collected(graph: Any, given: Any, **options: Any) -> list[Any]:
        async def chunks() -> list[Any]:
            return [chunk async for chunk in graph.astream(given, **options)]

        return list(graph.stream(given, **options)) if way == "sync" else asyncio.run(chunks())

    return collected


def tree(**parts: Any) -> Any:
    return create_recursive_solver(
        **{"solver": Solver(), "decomposer": split(TREE), "aggregator": lambda: "whole", **parts}
    )


def test_traces_tell_what_happened_to_each_task_with_depth_and_text(run: Run) -> None:
    result = run(tree(verifiers=[lambda: accept("fine")]), "w")
    assert kinds(result, "t") == ["DECOMPOSED", "AGGREGATED", "VERIFIED"]
    assert kinds(result, "t.1") == ["DECOMPOSED", "AGGREGATED", "VERIFIED"]
    assert kinds(result, "t.1.2") == ["SOLVED", "VERIFIED"]
    by_id = {entry.task_id: entry for entry in result["traces"]}
    assert {task_id: (entry.task, entry.depth) for task_id, entry in by_id.items()} == {
        "t": ("w", 0),
        "t.1": ("a", 1),
        "t.2": ("b", 1),
        "t.1.1": ("c", 2),
        "t.1.2": ("d", 2),
    }
    times = [entry.time for entry in result["traces"]]
    assert times == sorted(times)
    assert times[0] > 0


def test_answers_are_cut_to_80_and_feedback_is_whole(run: Run) -> None:
    long = "answer " * 40
    feedback = "because " * 100
    traces = run(create_recursive_solver(solver=lambda: long, verifiers=[lambda: accept(feedback)]), "w")["traces"]
    assert [entry.detail for entry in traces] == [long[:80], f"ACCEPTED: {feedback}"]


def test_the_attempt_is_counted_for_solved_only(run: Run) -> None:
    graph = create_recursive_solver(solver=Solver(), verifiers=[lambda attempt: reject(f"no {attempt}")])
    result = run(graph, "w")
    assert [(entry.type, entry.attempt) for entry in result["traces"]] == [
        ("SOLVED", 1),
        ("VERIFIED", 0),
        ("RECOVERED", 0),
        ("SOLVED", 2),
        ("VERIFIED", 0),
        ("RECOVERED", 0),
        ("SOLVED", 3),
        ("VERIFIED", 0),
        ("HALTED", 0),
    ]
    assert {entry.task for entry in result["traces"]} == {"w"}


def test_without_a_verifier_no_verification_is_claimed(run: Run) -> None:
    assert kinds(run(create_recursive_solver(solver=Solver()), "w")) == ["SOLVED"]


def test_an_errors_trace_says_so(run: Run) -> None:
    result = run(create_recursive_solver(solver=Solver(), verifiers=[lambda: None]), "w")
    assert result["traces"][1].detail.startswith("ERROR: verifier: the validator returned nothing")
    assert result["traces"][2].detail.startswith("validator_error: ")


# Events.


def test_events_of_nested_tasks_reach_the_caller_without_subgraphs(stream: Any) -> None:
    events = stream(tree(verifiers=[lambda: True]), "w", stream_mode="custom")
    seen: dict[str, list[str]] = defaultdict(list)
    for event in events:
        json.dumps(event, allow_nan=False)
        seen[event["task_id"]].append(event["type"])
    assert set(seen) == {"t", "t.1", "t.2", "t.1.1", "t.1.2"}
    for task, types in seen.items():
        begun = ["task_started"] if task == "t" else ["task_created", "task_started"]  # nobody planned the root
        assert types[: len(begun)] == begun
        assert [kind for kind in types if kind in ("accepted", "halted")] == ["accepted"]
    assert len({event["run_id"] for event in events}) == 1
    assert {event["parent_id"] for event in events if event["task_id"] == "t.1.1"} == {"t.1"}


def test_each_event_comes_once_also_with_subgraphs(stream: Any) -> None:
    plain = stream(tree(), "w", stream_mode="custom")
    nested = [event for _, event in stream(tree(), "w", stream_mode="custom", subgraphs=True)]
    shape = sorted((event["task_id"], event["type"]) for event in plain)
    assert shape == sorted((event["task_id"], event["type"]) for event in nested)


def test_a_call_finished_for_each_call(stream: Any) -> None:
    events = stream(tree(verifiers=[lambda: True]), "w", stream_mode="custom")
    calls = [event for event in events if event["type"] == "call_finished"]
    # decomposer 5, solver 3, aggregator 2, verifier 5
    assert len(calls) == 15
    assert all(event["duration_ms"] >= 0 and event["usage"]["calls"] == 1 for event in calls)


def test_recovery_and_halts_are_events(stream: Any) -> None:
    graph = create_recursive_solver(solver=Solver(), verifiers=[lambda: reject("same")])
    types = [event["type"] for event in stream(graph, "w", stream_mode="custom")]
    assert types.count("recovering") == 1
    assert [kind for kind in types if kind in ("accepted", "halted")] == ["halted"]


def test_an_embedded_solvers_events_reach_a_host_that_streams_subgraphs(stream: Any) -> None:
    host = StateGraph(MessagesState)
    host.add_node("solve", tree())
    host.add_edge(START, "solve")
    chunks = stream(host.compile(), {"messages": "w"}, stream_mode="custom", subgraphs=True)
    assert {event["task_id"] for _, event in chunks} == {"t", "t.1", "t.2", "t.1.1", "t.1.2"}


# Stream modes.


def test_values_end_with_the_result(stream: Any) -> None:
    last = stream(tree(), "w", stream_mode="values")[-1]
    assert (last["output"], last["success"]) == ("whole", True)


def test_updates_name_the_nodes_of_the_root(stream: Any) -> None:
    updates = stream(tree(verifiers=[lambda: True]), "w", stream_mode="updates")
    nodes = [name for update in updates for name in update if name in NODES]
    assert nodes == ["admit", "decompose", "subtasks", "review", "aggregate", "verify"]


def test_tokens_of_nested_model_calls_are_streamed_with_subgraphs(stream: Any) -> None:
    model = ScriptedChatModel(answers=lambda messages: f"answer to {messages[-1].text}")
    chunks = stream(tree(solver=model), "w", stream_mode="messages", subgraphs=True)
    texts = {message.text for _, (message, _) in chunks}
    assert {"answer to b", "answer to c", "answer to d"} <= texts


def test_a_failing_run_streams_its_end_too(stream: Any) -> None:
    last = stream(tree(solver=lambda: 1 // 0), "w", stream_mode="values")[-1]
    assert last["halt"].type == "child_failed"


def test_a_run_can_be_left_in_the_middle_of_its_stream(way: str) -> None:
    graph = tree(policy=SolvePolicy(max_concurrency=1))

    async def left() -> None:
        async for _ in graph.astream("w", stream_mode="custom"):
            break

    if way == "sync":
        for _ in graph.stream("w", stream_mode="custom"):
            break
    else:
        asyncio.run(left())


def test_a_task_in_a_trace_is_its_original_text_for_fixes_too(run: Run) -> None:
    def judge(task: Task, attempt: int) -> Any:
        return attempt > 1 or reject("no")

    result = run(tree(verifiers=[judge]), "w")
    assert {entry.task for entry in result["traces"]} == {"w", "a", "b", "c", "d"}
