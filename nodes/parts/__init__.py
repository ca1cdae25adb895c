"""The built-in parts: atomizers, decomposers, solvers, aggregators, verifiers, reviewers."""

from typing import TYPE_CHECKING, Any

from .agent_parent import agent_parent
from .aggregators import aggregation_prompt, llm_aggregator
from .atomizers import depth_based, llm_atomizer
from .commands import command_validator
from .decomposers import llm_decomposer
from .prechecks import meta_spec
from .reviewers import human_reviewer, llm_reviewer
from .solvers import llm_solver
from .verifiers import always_accept, llm_verifier

if TYPE_CHECKING:
    from .embedded import EmbeddedChatModel

__all__ = (
    "EmbeddedChatModel",
    "agent_parent",
    "aggregation_prompt",
    "always_accept",
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
)


def __getattr__(name: str) -> Any:
    if name != "EmbeddedChatModel":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .embedded import EmbeddedChatModel  # on first use: it needs the `local` extra

    return EmbeddedChatModel
