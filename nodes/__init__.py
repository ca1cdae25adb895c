"""What happens to a task: one file per node, and in `parts` one per family of replaceable parts."""

from typing import TYPE_CHECKING, Any

if __name__ != "langgraph_recursive.nodes":
    raise ImportError("import this room as langgraph_recursive.nodes")

from langgraph_recursive.state.verdict import accept, reject

from .artifacts import StoreArtifacts
from .components import Part
from .context_store import ContextStore
from .parts import (
    agent_parent,
    always_accept,
    command_validator,
    depth_based,
    human_reviewer,
    llm_aggregator,
    llm_atomizer,
    llm_decomposer,
    llm_reviewer,
    llm_solver,
    llm_verifier,
    meta_spec,
)
from .policy import SolvePolicy
from .reading import aread_context, read_context

if TYPE_CHECKING:
    from .parts.embedded import EmbeddedChatModel

__all__ = (
    "ContextStore",
    "EmbeddedChatModel",
    "Part",
    "SolvePolicy",
    "StoreArtifacts",
    "accept",
    "agent_parent",
    "always_accept",
    "aread_context",
    "command_validator",
    "depth_based",
    "human_reviewer",
    "llm_aggregator",
    "llm_atomizer",
    "llm_decomposer",
    "llm_reviewer",
    "llm_solver",
    "llm_verifier",
    "meta_spec",
    "read_context",
    "reject",
)


def __getattr__(name: str) -> Any:
    if name == "EmbeddedChatModel":  # on first use: it needs the extra `local`
        from .parts.embedded import EmbeddedChatModel

        return EmbeddedChatModel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
