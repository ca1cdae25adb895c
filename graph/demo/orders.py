"""The demo's solver: parts that fit together, and limits that fit the file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.base import BaseCheckpointSaver

from langgraph_recursive.nodes.components import inline
from langgraph_recursive.nodes.parts.atomizers import depth_based
from langgraph_recursive.nodes.parts.embedded import EmbeddedChatModel
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.state.task import Task

from ..builder import create_recursive_solver
from ..solver import RecursiveSolver
from .checks import CHECKS
from .order import demo_task, split_by_message
from .reader import OrderReader
from .table import make_table

__all__ = ("demo_policy", "demo_solver", "demo_task", "orders_solver")

_ATTEMPTS = 4
_TOKENS = 96


def demo_policy(messages: Sequence[str], *, attempts: int = _ATTEMPTS) -> SolvePolicy:
    """Limits that fit a file: a child for each message, fixes for all of them, and a table of what was accepted.

    Args:
        messages: The messages.
        attempts: Attempts for each message, the first included.
    """
    return SolvePolicy(
        max_depth=1,
        max_children=max(1, len(messages)),
        max_attempts=attempts,
        max_fixes_total=len(messages) * (attempts - 1),
        max_spec_chars=max(SolvePolicy().max_spec_chars, len(demo_task(messages))),
        on_child_failure="best_effort",
    )


def demo_solver(
    model: BaseChatModel | None = None,
    *,
    messages: Sequence[str],
    policy: SolvePolicy | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
) -> RecursiveSolver:
    """Build the solver that makes a table of orders; `demo_task(messages)` is what it is invoked with.

    Args:
        model: A chat model with structured output; None is the embedded one.
        messages: The messages, for the limits.
        policy: Other limits.
        checkpointer: LangGraph saver; needed to resume.

    Raises:
        InvalidInputError: There is no message, there are too many, or one is empty or too long.
    """
    reader = OrderReader(model if model is not None else EmbeddedChatModel(max_tokens=_TOKENS))
    return orders_solver(reader, policy=policy or demo_policy(messages), checkpointer=checkpointer)


def orders_solver(
    reader: Callable[[Task], str],
    *,
    policy: SolvePolicy,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
) -> RecursiveSolver:
    """Put the demo's parts around any reader of single messages.

    Args:
        reader: The solver: gets the task of one message and answers with the JSON of an order.
        policy: The limits.
        checkpointer: LangGraph saver.
    """
    return create_recursive_solver(
        atomizer=depth_based(1),
        decomposer=inline(split_by_message),
        solver=reader,
        aggregator=make_table,
        verifiers=CHECKS,
        policy=policy,
        checkpointer=checkpointer,
        name="orders_demo",
    )
