"""The state machine: one graph per task, and it calls itself."""

from __future__ import annotations

from typing import Any, cast

from langgraph.graph import END, START, StateGraph

from langgraph_recursive.nodes.admit import admit
from langgraph_recursive.nodes.aggregate import aggregate
from langgraph_recursive.nodes.components import Components
from langgraph_recursive.nodes.decompose import decompose
from langgraph_recursive.nodes.node import Node, NodeBody
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.nodes.recovery import recovery
from langgraph_recursive.nodes.review import review
from langgraph_recursive.nodes.solve import solve
from langgraph_recursive.nodes.subtasks import subtasks
from langgraph_recursive.nodes.verify import verify
from langgraph_recursive.state.channels import SolverInput, SolverOutput, SolverState

from .routing import after_admit, after_answer, after_decompose, after_recovery, after_review, after_verify

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
}


def state_machine(
    parts: Components, policy: SolvePolicy, name: str
) -> StateGraph[SolverState, None, SolverInput, SolverOutput]:
    """Wire the nodes (design.md section 3)."""
    graph = StateGraph(SolverState, input_schema=SolverInput, output_schema=SolverOutput)
    for node_name, body in NODES.items():
        graph.add_node(node_name, cast(Any, Node(node_name, body, parts, policy, name)))
    graph.add_edge(START, "admit")
    graph.add_conditional_edges("admit", after_admit, ["decompose", "solve", "aggregate", END])
    graph.add_conditional_edges("decompose", after_decompose, ["subtasks", "solve", END])
    graph.add_edge("subtasks", "review")
    graph.add_conditional_edges("review", after_review, ["aggregate", "decompose", "review", "subtasks", END])
    graph.add_conditional_edges("solve", after_answer, ["verify", END])
    graph.add_conditional_edges("aggregate", after_answer, ["verify", END])
    graph.add_conditional_edges("verify", after_verify, ["recovery", END])
    graph.add_conditional_edges("recovery", after_recovery, ["admit", END])
    return graph
