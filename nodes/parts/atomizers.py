"""Atomizers: whether a task is solved directly."""

from __future__ import annotations

from collections.abc import Callable

from langchain_core.language_models import BaseChatModel

from langgraph_recursive.state.task import Task

from ..components import Part, inline
from ..parsing import says_yes
from .ask import Prompt, as_task, ask, checked_count, checked_model, inputs_of, spec_of

__all__ = ("LLMAtomizer", "depth_based", "llm_atomizer")


def depth_based(n: int) -> Callable[[Task | str, int], bool]:
    """Make an atomizer that calls a task atomic once its depth is at least `n`.

    Args:
        n: The depth; the root is 0. With 0 nothing is ever split.

    Raises:
        InvalidInputError: It is negative or not a whole number.
    """
    limit = checked_count(n, "n", least=0)

    @inline
    def atomizer(task: Task | str, depth: int) -> bool:
        return depth >= limit

    atomizer.__name__ = "depth_based"
    return atomizer


def llm_atomizer(model: BaseChatModel) -> LLMAtomizer:
    """Make an atomizer that asks a model; an answer that starts with "yes", in any case, means atomic.

    Args:
        model: The chat model.

    Raises:
        ComponentError: It is no chat model.
    """
    return LLMAtomizer(model)


class LLMAtomizer(Part):
    """Asks a model whether a task is atomic; made by `llm_atomizer`."""

    name = "llm_atomizer"

    def __init__(self, model: BaseChatModel) -> None:
        self.model = checked_model(model, self.name)
        self.prompt = Prompt("atomizer")

    def with_model(self, model: BaseChatModel) -> LLMAtomizer:
        """The same atomizer with another model."""
        return LLMAtomizer(model)

    async def run(self, task: Task | str, depth: int) -> bool:
        """Ask."""
        task = as_task(task)
        messages = self.prompt.messages(task, spec=spec_of(task), inputs=inputs_of(task))
        return says_yes(await ask("atomizer", self.model, messages))
