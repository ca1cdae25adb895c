"""Reviewers: a parent's decision on a child's report and verdict, made by a model or by a person."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.types import interrupt
from pydantic import BaseModel, Field, ValidationError

from langgraph_recursive.state.brief import ContextRef, render_brief
from langgraph_recursive.state.decisions import ReviewContext
from langgraph_recursive.state.errors import UnparsableOutputError, invalid_fields
from langgraph_recursive.state.report import TaskReport
from langgraph_recursive.state.review import ReviewDecision, TaskReview
from langgraph_recursive.state.verdict import ValidationResult

from ..components import Part
from ..context import invoke
from .ask import Prompt, Structured, ask, checked_model, fenced, refs_to_pass_on

__all__ = ("MEANINGS", "HumanReviewer", "LLMReviewer", "human_reviewer", "llm_reviewer", "review_material")

_D = ReviewDecision

MEANINGS = {
    _D.ACCEPT_REFINE: "accept the report and follow its suggestion: approved_next_task, or without one what it "
    "suggests, becomes one more sub-task",
    _D.REJECT_REFINE: "accept the report and follow no suggestion",
    _D.REVISE_CHILD: "have the same sub-task done once more; approved_next_task, if given, becomes its brief",
    _D.DESCEND_AGAIN: "accept the report and add one more sub-task: approved_next_task",
    _D.REPLAN_CURRENT: "plan what is not accepted anew, once all reports are reviewed",
    _D.ASCEND: "accept the report; nothing more is needed, so the results are combined",
    _D.FAIL: "give up the whole task",
}
"""What each decision does, in the words a model or a person reads."""

_JSON = (
    'Answer with one JSON object and nothing else: {"decision": ..., "reason": ..., "approved_next_task": null or '
    '{"objective": ..., "reason": ..., "completion_criteria": [...], "expected_outputs": [...]}}.'
)
_FIELDS = "Leave approved_next_task null unless the decision needs it."


class NextTask(BaseModel):
    """The brief of a sub-task that is added or revised."""

    objective: str = Field(description="What is to be done, complete in itself.")
    reason: str = Field(description="Why it is needed.")
    completion_criteria: list[str] = Field(description="When it is done; at least one.")
    expected_outputs: list[str] = Field(description="What is to be delivered; at least one.")
    parent_findings: list[str] = Field(default_factory=list, description="What is known already.")
    constraints: list[str] = Field(default_factory=list, description="Further hard constraints.")
    context_refs: list[ContextRef] = Field(
        default_factory=list, description="Context references that it has to read, of those listed; mostly empty."
    )


class ReviewAnswer(BaseModel):
    """A decision on one report."""

    decision: ReviewDecision
    reason: str = Field(description="Why, and for a revision what has to change.")
    approved_next_task: NextTask | None = Field(default=None, description="Only where the decision needs it.")


def llm_reviewer(model: BaseChatModel) -> LLMReviewer:
    """Make a reviewer that asks a model.

    It is shown the report, the verdict with its failures, and only the decisions that are allowed. An answer that is
    forbidden or has another form is asked for again, twice at most; then the parent fails, with the last answer in its
    report's evidence.

    Args:
        model: The chat model; one with structured output fills in a form, another one answers in JSON.

    Raises:
        ComponentError: It is no chat model.
    """
    return LLMReviewer(model)


class LLMReviewer(Part):
    """Has a model decide; made by `llm_reviewer`.

    Attributes:
        asks: How often it is asked about one report, the first time included.
    """

    name = "llm_reviewer"
    asks: int | None = 3

    def __init__(self, model: BaseChatModel) -> None:
        self.model = checked_model(model, self.name)
        self.structured = Structured.of(self.model, ReviewAnswer)
        self.prompt = Prompt("reviewer")

    async def run(
        self, report: TaskReport, result: ValidationResult, ctx: ReviewContext, *, complaint: str | None = None
    ) -> TaskReview:
        """Ask for the decision.

        Raises:
            UnparsableOutputError: The answer does not have its form.
        """
        form = _JSON if self.structured is None else _FIELDS
        material = review_material(report, result, ctx)
        messages = self.prompt.messages(ctx.task, complaint=complaint, form=form, **material)
        if self.structured is None:
            return _review(await ask("reviewer", self.model, messages))
        answer, text = await self.structured.ask("reviewer", messages)
        return _review(text if answer is None else answer.model_dump(mode="json"))


def human_reviewer() -> HumanReviewer:
    """Make a reviewer that asks a person, with LangGraph's `interrupt`.

    The interrupt's value is JSON: `report`, `verdict`, `allowed` (the decisions, with what each does) and, once an
    answer was refused, the `complaint`. It is answered by
    `Command(resume={"decision": ..., "reason": ..., "approved_next_task": ...})` or by a `TaskReview`. An answer
    that is forbidden or has another form interrupts again with the reason, until one fits.

    The solver needs a checkpointer. Several tasks of the tree may wait for their reviews at once.
    """
    return HumanReviewer()


class HumanReviewer(Part):
    """Has a person decide; made by `human_reviewer`.

    Attributes:
        asks: None: until the answer fits.
    """

    name = "human_reviewer"
    asks: int | None = None

    async def run(
        self, report: TaskReport, result: ValidationResult, ctx: ReviewContext, *, complaint: str | None = None
    ) -> TaskReview:
        """Interrupt, and read the answer.

        Raises:
            UnparsableOutputError: It is no review.
        """
        question = {
            "type": "review",
            "task_id": ctx.task.id,
            "child_task_id": report.child_task_id,
            "brief": ctx.child.brief.model_dump(mode="json"),
            "report": report.model_dump(mode="json"),
            "verdict": result.model_dump(mode="json"),
            "allowed": {decision.value: MEANINGS[decision] for decision in _D if decision in ctx.allowed},
            "pending": list(ctx.pending),
            "next_actions": [{"kind": action.kind, "child_id": action.child_id} for action in ctx.next_actions],
            "places_left": ctx.places_left,
            "complaint": complaint,
        }
        return _review(await invoke("reviewer", _asked_of_a_person, question))


def _asked_of_a_person(question: dict[str, Any]) -> Any:
    """Interrupt; a review is stored as plain data."""
    answer = interrupt(question)
    return answer.model_dump(mode="json") if isinstance(answer, BaseModel) else answer


def _review(answer: Any) -> TaskReview:
    """Read an answer: data, or a text with a JSON object in it."""
    data = _object_in(answer) if isinstance(answer, str) else answer
    if not isinstance(data, Mapping):
        raise UnparsableOutputError(
            "a review is an object with decision, reason and approved_next_task", value=str(answer)
        )
    known = {name: value for name, value in data.items() if name in ("decision", "reason", "approved_next_task")}
    try:
        return TaskReview.model_validate(known)
    except ValidationError as error:
        raise UnparsableOutputError(invalid_fields("review", error), value=str(answer)) from error


def _object_in(text: str) -> Any:
    start = text.find("{")
    try:
        return json.JSONDecoder().raw_decode(text, start)[0] if start >= 0 else None
    except ValueError:
        return None


def review_material(report: TaskReport, result: ValidationResult, ctx: ReviewContext) -> dict[str, str]:
    """Write what a model has to know for a decision, as values for a prompt; all that is not the parent's is fenced."""
    child = report.child_task_id
    return {
        "asked": fenced(ctx.task.intent, kind="task"),
        "brief": fenced(render_brief(ctx.child.brief), kind="brief", of=child),
        "report": fenced(_told(report), kind="report", of=child),
        "outcome": result.outcome,
        "verdict": fenced("\n".join(_findings(result)), kind="verdict", of=child),
        "open": "\n\n".join(filter(None, ["\n".join(_open(ctx)), refs_to_pass_on(ctx.task)])),
        "allowed": "\n".join(f"- {decision}: {MEANINGS[decision]}" for decision in _D if decision in ctx.allowed),
    }


def _told(report: TaskReport) -> str:
    parts = [f"outcome: {report.outcome}", f"summary: {report.summary}", f"answer:\n{report.text}"]
    parts += [f"open: {issue}" for issue in report.remaining_issues]
    suggestion = report.next_step_suggestion
    if suggestion.direction != "NONE":
        parts.append(f"suggests {suggestion.direction}: {suggestion.reason or 'no reason given'}")
    if suggestion.suggested_next_task is not None:
        parts.append(f"suggested sub-task:\n{render_brief(suggestion.suggested_next_task)}")
    return "\n".join(parts)


def _findings(result: ValidationResult) -> list[str]:
    checks = [
        f"{check.status} {check.validator_id}/{check.check_id} ({check.severity}): {check.justification}"
        for check in result.checks
    ]
    return checks or result.issues or ["nothing was checked"]


def _open(ctx: ReviewContext) -> list[str]:
    others = [name for name in ctx.pending if name != ctx.child.id]
    return [
        f"- reports still to be reviewed: {', '.join(others) or 'none'}",
        f"- approved and not yet run: {', '.join(_names(ctx)) or 'nothing'}",
        f"- sub-tasks that may still be added: {ctx.places_left}",
    ]


def _names(ctx: ReviewContext) -> list[str]:
    return [f"{action.kind} {action.child_id}" for action in ctx.next_actions]
