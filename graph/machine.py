"""The state machine: one graph per task, and it calls itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.graph import END, START, StateGraph

from langgraph_recursive.nodes.admit import admit
from langgraph_recursive.nodes.aggregate import aggregate
from langgraph_recursive.nodes.components import Components
from langgraph_recursive.nodes.decompose import decompose
from langgraph_recursive.nodes.intervene import intervene
from langgraph_recursive.nodes.node import Node, NodeBody
from langgraph_recursive.nodes.recovery import recovery
from langgraph_recursive.nodes.review import review
from langgraph_recursive.nodes.solve import solve
from langgraph_recursive.nodes.subtasks import subtasks
from langgraph_recursive.nodes.verify import verify
from langgraph_recursive.state.channels import SolverInput, SolverOutput, SolverState

from .routing import (
    after_admit,
    after_answer,
    after_decompose,
    after_intervene,
    after_recovery,
    after_review,
    after_verify,
)

__all__ = ("NODES", "Route", "state_machine")

NODES: dict[str, NodeBody] = {
    "admit": admit,
    "decompose": decompose,
    "subtasks": subtasks,
    "review": review,
    "solve": solve,
    "aggregate": aggregate,
    "verify": verify,
    "recovery": recovery,
    "intervene": intervene,
}


class Route(Runnable[dict[str, Any], str]):
    """A routing function as LangGraph runs it: in place, where a plain function would get a thread of its own.

    Args:
        function: Takes the channels and names the next node.
    """

    def __init__(self, function: Callable[[Mapping[str, Any]], str]) -> None:
        self.function = function
        self.name = function.__name__

    def invoke(self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any) -> str:
        """Name the next node."""
        return self.function(input)

    async def ainvoke(self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any) -> str:
        """Name the next node, without leaving the event loop."""
        return self.function(input)


def state_machine(parts: Components, name: str) -> StateGraph[SolverState, None, SolverInput, SolverOutput]:
    """Wire the nodes (design.md section 3)."""
    later = [node for node in NODES if node != "admit"]  # a rewind may put a task at any of them
    halted = ["intervene", END]
    graph = StateGraph(SolverState, input_schema=SolverInput, output_schema=SolverOutput)
    for node_name, body in NODES.items():
        graph.add_node(node_name, cast(Any, Node(node_name, body, parts, name)))
    graph.add_edge(START, "admit")
    graph.add_conditional_edges("admit", Route(after_admit), [*later, END])
    graph.add_conditional_edges("decompose", Route(after_decompose), ["subtasks", "solve", *halted])
    graph.add_edge("subtasks", "review")
    graph.add_conditional_edges(
        "review", Route(after_review), ["aggregate", "decompose", "review", "subtasks", *halted]
    )
    graph.add_conditional_edges("solve", Route(after_answer), ["verify", *halted])
    graph.add_conditional_edges("aggregate", Route(after_answer), ["verify", *halted])
    graph.add_conditional_edges("verify", Route(after_verify), ["recovery", *halted])
    graph.add_conditional_edges("recovery", Route(after_recovery), ["admit", *halted])
    graph.add_conditional_edges("intervene", Route(after_intervene), ["admit", END])
    return graph
