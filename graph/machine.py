"""The state machine: one graph per task, and it calls itself."""

from __future__ import annotations

from typing import Any, cast

from langgraph.graph import END, START, StateGraph

from langgraph_recursive.nodes.admit import admit
from langgraph_recursive.nodes.aggregate import aggregate
from langgraph_recursive.nodes.components import Components
from langgraph_recursive.nodes.decompose import decompose
from langgraph_recursive.nodes.intervene import intervene
from langgraph_recursive.nodes.node import Node, NodeBody, Route
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
    after_subtasks,
    after_verify,
)

__all__ = ("NODES", "state_machine")

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


_HALTED = ("intervene", END)
ROUTES: dict[str, tuple[Route, tuple[str, ...]]] = {
    "admit": (after_admit, (*(node for node in NODES if node != "admit"), END)),  # a rewind may put a task at any node
    "decompose": (after_decompose, ("subtasks", "solve", *_HALTED)),
    "subtasks": (after_subtasks, ("review",)),
    "review": (after_review, ("aggregate", "decompose", "review", "subtasks", *_HALTED)),
    "solve": (after_answer, ("verify", *_HALTED)),
    "aggregate": (after_answer, ("verify", *_HALTED)),
    "verify": (after_verify, ("recovery", *_HALTED)),
    "recovery": (after_recovery, ("admit", *_HALTED)),
    "intervene": (after_intervene, ("admit", END)),
}
"""Of each node: how the next one is found, and which it may be."""


def state_machine(parts: Components, name: str) -> StateGraph[SolverState, None, SolverInput, SolverOutput]:
    """Wire the nodes (design.md section 3)."""
    graph = StateGraph(SolverState, input_schema=SolverInput, output_schema=SolverOutput)
    for node_name, body in NODES.items():
        route, destinations = ROUTES[node_name]
        graph.add_node(node_name, cast(Any, Node(node_name, body, route, parts, name)), destinations=destinations)
    graph.add_edge(START, "admit")
    return graph
