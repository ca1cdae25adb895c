"""Decomposers: what a task is split into."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel, Field, ValidationError

from langgraph_recursive.state.brief import ContextRef, SubTask, TaskBrief, child_brief
from langgraph_recursive.state.errors import InvalidInputError
from langgraph_recursive.state.task import Task

from ..components import Part
from ..parsing import bullets
from .ask import Prompt, Structured, as_task, ask, checked_count, checked_model, inputs_of, refs_to_pass_on, spec_of

__all__ = ("LLMDecomposer", "llm_decomposer")

_BULLETS = "Answer with a bulleted list and nothing else: one sub-task a line, each line starting with `- `."
_FIELDS = (
    "Number the sub-tasks from 1 in the order you list them. Let one depend on another only if it cannot be done "
    "without that one's result."
)


class PlannedTask(BaseModel):
    """One sub-task."""

    objective: str = Field(description="What is to be done, complete in itself.")
    completion_criteria: list[str] = Field(default_factory=list, description="When it is done; may be empty.")
    depends_on: list[int] = Field(
        default_factory=list, description="Numbers, from 1, of the sub-tasks whose results it needs; mostly empty."
    )
    context_refs: list[ContextRef] = Field(
        default_factory=list, description="Context references that it has to read, of those listed; mostly empty."
    )


class Plan(BaseModel):
    """The sub-tasks that a task is split into; empty when it is better not split."""

    subtasks: list[PlannedTask]


def llm_decomposer(model: BaseChatModel, *, max_subtasks: int = 5, min_subtasks: int = 2) -> LLMDecomposer:
    """Make a decomposer that asks a model for independent sub-tasks.

    A model with structured output may also give each its criteria and what it depends on. Of a text the lines that
    start with `- ` or `* ` are kept; an answer without a list is an empty plan: the task is then solved directly.

    Args:
        model: The chat model.
        max_subtasks: How many it is asked for at most.
        min_subtasks: And at least; lowered to `max_subtasks` where that is smaller.

    Raises:
        ComponentError: `model` is no chat model.
        InvalidInputError: A number is not a whole number of at least 1.
    """
    return LLMDecomposer(model, max_subtasks=max_subtasks, min_subtasks=min_subtasks)


class LLMDecomposer(Part):
    """Asks a model for a plan; made by `llm_decomposer`.

    Attributes:
        plans_with_model: A failed child is planned anew by default: a model may find another plan.
    """

    name = "llm_decomposer"
    plans_with_model = True

    def __init__(self, model: BaseChatModel, *, max_subtasks: int, min_subtasks: int) -> None:
        self.model = checked_model(model, self.name)
        self.most = checked_count(max_subtasks, "max_subtasks", least=1)
        self.least = min(checked_count(min_subtasks, "min_subtasks", least=1), self.most)
        self.structured = Structured.of(self.model, Plan)
        self.prompt = Prompt("decomposer")

    def with_model(self, model: BaseChatModel) -> LLMDecomposer:
        """The same decomposer with another model."""
        return LLMDecomposer(model, max_subtasks=self.most, min_subtasks=self.least)

    async def run(self, task: Task | str, depth: int, *, complaint: str | None = None) -> list[SubTask]:
        """Ask for a plan."""
        task = as_task(task)
        messages = self.prompt.messages(
            task,
            complaint=complaint,
            least=self.least,
            most=self.most,
            form=_BULLETS if self.structured is None else _FIELDS,
            spec=spec_of(task),
            inputs="\n\n".join(filter(None, [inputs_of(task), refs_to_pass_on(task)])),
        )
        if self.structured is None:
            return _listed(await ask("decomposer", self.model, messages))
        plan, text = await self.structured.ask("decomposer", messages)
        return _listed(text) if plan is None else _sub_tasks(plan.subtasks, task)


def _listed(text: str) -> list[SubTask]:
    return [SubTask(line) for line in bullets(text)]


def _sub_tasks(planned: Sequence[PlannedTask], task: Task) -> list[SubTask]:
    """Drop entries without an objective and count the others from 0.

    A number that never was one of the list stays out of range, for the plan's check to find.
    """
    filled = [number for number, entry in enumerate(planned, 1) if entry.objective.strip()]
    place = {number: index for index, number in enumerate(filled)}
    dropped = set(range(1, len(planned) + 1)) - set(filled)
    return [
        SubTask(
            _task(planned[number - 1], task),
            [place.get(wanted, wanted - 1) for wanted in planned[number - 1].depends_on if wanted not in dropped],
        )
        for number in filled
    ]


def _task(entry: PlannedTask, task: Task) -> str | TaskBrief:
    """Make a brief of a sub-task with criteria or references; one that breaks a bound keeps its objective alone."""
    objective = entry.objective.strip()
    criteria = [text for text in entry.completion_criteria if text.strip()]
    if not criteria and not entry.context_refs:
        return objective
    try:
        plain = child_brief(objective, parent_objective=task.brief.objective)
        given = {"completion_criteria": criteria or plain.completion_criteria, "context_refs": entry.context_refs}
        return TaskBrief.model_validate({**plain.model_dump(), **given})
    except (InvalidInputError, ValidationError):
        return objective
