"""A drained run starts no further call, keeps what is in flight, and goes on from there."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl

from langgraph_recursive.graph import SolvePolicy, create_recursive_solver

CHILDREN = 20
WIDTH = 2


@pytest.mark.parametrize("world", ["sync", "async"])
def test_a_drain_starts_no_further_call_and_loses_none(world: str) -> None:
    control = RunControl()
    called: list[str] = []
    lock = threading.Lock()

    def solver(task: Any) -> str:
        with lock:
            called.append(task.id)
        if len(called) == 3:
            control.request_drain("a test")
        return f"answer {task.id}"

    graph = create_recursive_solver(
        solver=solver,
        aggregator=lambda task, results: str(len(results)),
        decomposer=lambda task, depth: [f"part {number}" for number in range(CHILDREN)],
        atomizer=lambda task, depth: depth == 1,
        policy=SolvePolicy(max_children=CHILDREN, max_concurrency=WIDTH),
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": "1"}}

    def run(given: str | None, **more: Any) -> Any:
        if world == "sync":
            return graph.invoke(given, config, **more)
        return asyncio.run(graph.ainvoke(given, config, **more))

    with pytest.raises(GraphDrained):
        run("job", control=control)
    assert 3 <= len(called) < 3 + 2 * WIDTH
    assert run(None)["output"] == str(CHILDREN)
    assert sorted(called) == sorted(f"t.{number}" for number in range(1, CHILDREN + 1))
