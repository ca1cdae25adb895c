"""Aggregators: one answer from the results of sub-tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from langchain_core.language_models import BaseChatModel

from langgraph_recursive.state.errors import UnparsableOutputError
from langgraph_recursive.state.report import TaskReport, answer_report
from langgraph_recursive.state.task import Task

from ..components import Part
from .ask import Prompt, as_task, ask, checked_model, fenced, filled, inputs_of, prompt_text

__all__ = ("LLMAggregator", "aggregation_prompt", "aggregation_task", "llm_aggregator")

Missing = Sequence[str] | Mapping[str, str]


def llm_aggregator(model: BaseChatModel) -> LLMAggregator:
    """Make an aggregator that asks a model, with a prompt that lists the task and each sub-task with its result.

    Args:
        model: The chat model.

    Raises:
        ComponentError: It is no chat model.
    """
    return LLMAggregator(model)


class LLMAggregator(Part):
    """Has a model combine results; made by `llm_aggregator`."""

    name = "llm_aggregator"

    def __init__(self, model: BaseChatModel) -> None:
        self.model = checked_model(model, self.name)
        self.prompt = Prompt("aggregator")

    def with_model(self, model: BaseChatModel) -> LLMAggregator:
        """The same aggregator with another model."""
        return LLMAggregator(model)

    async def run(
        self,
        task: Task | str,
        results: Sequence[str],
        *,
        missing: Missing = (),
        complaint: str | None = None,
    ) -> TaskReport:
        """Combine the results.

        Raises:
            UnparsableOutputError: The answer is empty.
        """
        task = as_task(task)
        material = aggregation_prompt(task, results, missing)
        text = await ask("aggregator", self.model, self.prompt.messages(task, complaint=complaint, material=material))
        if not text.strip():
            raise UnparsableOutputError("the answer is empty", value=text)
        return answer_report(text)


def aggregation_prompt(task: Task | str, results: Sequence[str], missing: Missing = ()) -> str:
    """Write what an aggregator has to know, as one text.

    For a fix, the task's spec already holds the failures of the earlier attempts.

    Args:
        task: The task that was split.
        results: Results of its sub-tasks, as `Answer`s or plain texts.
        missing: Ids of sub-tasks without an accepted result, or their objectives by id.
    """
    task = as_task(task)
    values = {
        "spec": task.spec,
        "inputs": inputs_of(task),
        "results": "\n\n".join(_section(number, result) for number, result in enumerate(results, 1)) or "None.",
        "missing": _missing(missing),
    }
    return filled(prompt_text("aggregation"), values)


def aggregation_task(task: Task | str, results: Sequence[str], missing: Missing = ()) -> Task:
    """Make the task that a solver is called with when it also combines (rules.md 31).

    Args:
        task: The task that was split.
        results: Results of its sub-tasks.
        missing: Ids of sub-tasks without an accepted result, or their objectives by id.
    """
    task = as_task(task)
    # The prompt already shows the inputs.
    return task.model_copy(update={"spec": aggregation_prompt(task, results, missing), "inputs": []})


def _section(number: int, result: str) -> str:
    task_id = getattr(result, "task_id", "") or str(number)
    objective = getattr(result, "task", "")
    lacks = result.report.missing if hasattr(result, "report") else []
    head = f"## Sub-task {number} ({task_id})" if task_id != str(number) else f"## Sub-task {number}"
    note = f"Its own parts {', '.join(lacks)} are missing." if lacks else ""
    return "\n\n".join(filter(None, [head, objective, note, fenced(str(result), result_of=task_id)]))


def _missing(missing: Missing) -> str:
    if not missing:
        return ""
    named = missing.items() if isinstance(missing, Mapping) else ((task_id, "") for task_id in missing)
    lines = [f"- {task_id}: {objective}" if objective else f"- {task_id}" for task_id, objective in named]
    return "\n".join(["# Missing: these sub-tasks have no accepted result", "", *lines])
