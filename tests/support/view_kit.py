"""One run with everything in it to look at: a fix, a stall, a task that never started, and hostile text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_recursive.graph import RecursiveSolver, SolvePolicy, create_recursive_solver
from langgraph_recursive.nodes import accept, reject
from langgraph_recursive.state import Verdict, bounded

HOSTILE = "<script>alert(1)</script> ]]> \"'`**b** \x1b[31mred\x1b[0m %%{init: {}}%%\n--> end; &amp; \u202e \ufffe #35;"
CONFIG: RunnableConfig = {"configurable": {"thread_id": "seen"}}


@dataclass
class Seen:
    """A run that has ended, and all that is known about it."""

    graph: RecursiveSolver
    events: list[dict[str, Any]]
    result: dict[str, Any]


def _verify(task: Any, result: str, attempt: int) -> Verdict:
    if task.brief.objective.startswith("stalls"):
        return reject("always the same")
    if task.brief.objective.startswith("repaired") and attempt < 3:
        evidence = bounded(f"{HOSTILE}\nFAILED test_{attempt}\n", label="stdout <b>")
        return reject(f"wrong {attempt} times\n{HOSTILE}", failure_code=f"code{attempt}", evidence=[evidence])
    return accept(HOSTILE)


def seen(plans: Iterator[list[Any]], **policy: Any) -> Seen:
    """Run a task that is split by these plans, one after the other."""
    graph = create_recursive_solver(
        atomizer=lambda task, depth: depth == 1,
        decomposer=lambda task, depth: next(plans),
        solver=lambda task: f"answer {len(task.prior_failures)} {HOSTILE}",
        aggregator=lambda task, results: " ".join(results),
        verifiers=[_verify],
        checkpointer=InMemorySaver(),
        policy=SolvePolicy(max_attempts=4, **policy),
    )
    events, result = [], {}
    for mode, value in graph.stream(f"the whole {HOSTILE}", CONFIG, stream_mode=["custom", "values"]):
        if mode == "custom":
            events.append(value)
        else:
            result = value
    return Seen(graph, events, result)
