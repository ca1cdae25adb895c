"""Reports: what a task hands up."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from ._model import Data, FilledText, Given, Texts, canonical_json
from .brief import TaskBrief

__all__ = (
    "ArtifactRef",
    "NextStepSuggestion",
    "ReportOutcome",
    "TaskReport",
    "Validation",
    "answer_report",
    "failed_report",
)

ReportOutcome = Literal["satisfied", "partial", "failed", "protocol_error"]
_SUMMARY_CHARS = 200


class Validation(Given):
    """An executor's own check of its work. It passes nothing by itself.

    Attributes:
        hard_passed: Whether the executor thinks every criterion is met.
        open_issues: What it knows to be open.
    """

    hard_passed: bool = False
    open_issues: Texts = Field(default_factory=list)


class NextStepSuggestion(Given):
    """What a child proposes next; the parent decides.

    Attributes:
        direction: `DESCEND` and `REFINE` need a suggested task.
        suggested_next_task: The brief proposed.
        reason: Why.

    Raises:
        pydantic.ValidationError: `DESCEND` or `REFINE` without a task.
    """

    direction: Literal["DESCEND", "REFINE", "ASCEND", "NONE"] = "NONE"
    suggested_next_task: TaskBrief | None = None
    reason: str = ""

    @model_validator(mode="after")
    def _task_given(self) -> Self:
        if self.direction in ("DESCEND", "REFINE") and self.suggested_next_task is None:
            raise ValueError(f"direction {self.direction} needs suggested_next_task")
        return self


class ArtifactRef(Given):
    """A real artifact that a trusted resolver can read and check; never a path."""

    artifact_id: FilledText
    version: FilledText
    content_hash: FilledText
    kind: FilledText
    mime_type: FilledText


class TaskReport(Data):
    """What a task hands up (protocol, TaskReport).

    Attributes:
        summary: What was done.
        outcome: What the task produced: `failed` means there is no answer; a rejected answer is `partial`.
        child_task_id: The attempt that reports; the framework fills it in.
        validation: The executor's own check.
        next_step_suggestion: What it proposes next.
        outputs: What was produced; `outputs[0]["text"]` is the answer.
        evidence: What supports it.
        artifact_refs: Real artifacts.
        source_urls: Public http(s) sources that validators may open.
        remaining_issues: What is open.
        missing: Ids of children that an aggregate under `best_effort` had to do without.
        sequence: Order among the reports, reviews and actions of one task.

    Raises:
        pydantic.ValidationError: A rule is broken; `satisfied` needs `hard_passed` and nothing open.
    """

    summary: FilledText
    outcome: ReportOutcome
    child_task_id: str = ""
    validation: Validation = Field(default_factory=Validation)
    next_step_suggestion: NextStepSuggestion = Field(default_factory=NextStepSuggestion)
    outputs: list[dict[str, Any]] = Field(default_factory=list)
    evidence: list[dict[str, Any]] = Field(default_factory=list)
    artifact_refs: list[ArtifactRef] = Field(default_factory=list)
    source_urls: Texts = Field(default_factory=list)
    remaining_issues: Texts = Field(default_factory=list)
    missing: list[str] = Field(default_factory=list)
    sequence: int = 0

    @property
    def text(self) -> str:
        """The answer: the first output's text, else the summary."""
        first = self.outputs[0].get("text") if self.outputs else None
        return first if isinstance(first, str) else self.summary

    @property
    def answered(self) -> bool:
        """Whether there is an answer at all."""
        return self.outcome in ("satisfied", "partial")

    @field_validator("outputs", "evidence")
    @classmethod
    def _json(cls, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        canonical_json(entries)
        return entries

    @model_validator(mode="after")
    def _satisfied_is_whole(self) -> Self:
        if self.outcome == "satisfied" and not (
            self.validation.hard_passed and not self.validation.open_issues and not self.remaining_issues
        ):
            raise ValueError(
                "outcome 'satisfied' needs validation.hard_passed=True and no open_issues or remaining_issues; "
                "report 'partial' otherwise"
            )
        return self


def answer_report(text: str) -> TaskReport:
    """Make the report of a plain text answer (rules.md 25)."""
    text = str(text)  # an `Answer` that is handed on would carry its own report into the checkpoint
    return TaskReport(
        summary=text.strip()[:_SUMMARY_CHARS] or "(empty answer)",
        outcome="satisfied",
        validation=Validation(hard_passed=True),
        outputs=[{"text": text}],
    )


def failed_report(reason: str, *, outcome: Literal["failed", "protocol_error"] = "failed", raw: str = "") -> TaskReport:
    """Make the report of a task that has no answer.

    Args:
        reason: Why, in words.
        outcome: `protocol_error` for output that could not be parsed.
        raw: That output, already bounded.
    """
    return TaskReport(
        summary=reason.strip()[:_SUMMARY_CHARS] or outcome,
        outcome=outcome,
        evidence=[{"raw": raw}] if raw else [],
        remaining_issues=[reason],
    )
