"""A run killed between its last node and its last checkpoint gives its whole result when it is resumed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_recursive.graph import create_recursive_solver

CONFIG: Any = {"configurable": {"thread_id": "1"}}


def without_last_checkpoint(saver: InMemorySaver) -> None:
    """Take the root's newest checkpoint away; what its last node wrote stays pending on the one before."""
    stored = saver.storage["1"][""]
    del stored[max(stored)]


@pytest.mark.parametrize("world", ["sync", "async"])
def test_the_result_is_whole_and_nothing_is_called_again(world: str) -> None:
    calls: list[str] = []
    saver = InMemorySaver()

    def solver(task: Any) -> str:
        calls.append(task.id)
        return f"answer {task.id}"

    graph = create_recursive_solver(
        solver=solver,
        aggregator=lambda task, results: "+".join(results),
        decomposer=lambda task, depth: ["one", "two"],
        atomizer=lambda task, depth: depth == 1,
        verifiers=[lambda task, result, attempt: True],
        checkpointer=saver,
    )

    def run(given: str | None) -> Any:
        return graph.invoke(given, CONFIG) if world == "sync" else asyncio.run(graph.ainvoke(given, CONFIG))

    whole = run("job")
    without_last_checkpoint(saver)
    resumed = run(None)
    assert sorted(calls) == ["t.1", "t.2"]
    assert [(trace.type, trace.task_id) for trace in resumed["traces"]] == [
        (trace.type, trace.task_id) for trace in whole["traces"]
    ]
    for key in ("output", "success", "verified", "usage", "attempts"):
        assert resumed[key] == whole[key]
