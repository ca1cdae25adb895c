"""What components may return, and the type each role makes of it (rules.md 25).

A value of the wrong shape is a `ComponentError`: a fault of the program. A text without the form that was asked for is
an `UnparsableOutputError`: a model's, and it is asked for again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage
from pydantic import ValidationError

from langgraph_recursive.state.brief import SubTask, TaskBrief
from langgraph_recursive.state.errors import ComponentError, UnparsableOutputError, invalid_fields
from langgraph_recursive.state.goal_state import AgentResult
from langgraph_recursive.state.report import TaskReport, answer_report, failed_report
from langgraph_recursive.state.review import TaskReview
from langgraph_recursive.state.verdict import ValidationCheck, Verdict, accept, reject

from .parsing import bullets, judgement, says_yes

__all__ = (
    "as_bool",
    "as_lenient_verdict",
    "as_plan",
    "as_report",
    "as_review",
    "as_verdict",
    "message_text",
    "well_formed",
)


def message_text(value: Any) -> Any:
    """Reduce what chat models and agents return to its text; anything else stays as it is."""
    if isinstance(value, Mapping) and value.get("messages"):
        value = value["messages"][-1]
    # A message's text is a subclass of str, which a strict checkpoint would not take.
    return well_formed(str(value.text)) if isinstance(value, BaseMessage) else value


def well_formed(text: str) -> str:
    """Repair a text with halves of surrogate pairs, as streamed JSON may give: no store takes them."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def as_bool(value: Any) -> bool:
    """An atomizer's answer: a bool, or a text that starts with "yes"."""
    value = message_text(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return says_yes(value)
    raise _wrong(value, "a bool")


def as_plan(value: Any) -> list[SubTask]:
    """A decomposer's answer: a list of texts, briefs and sub-tasks, or a text with a bulleted list. None is empty."""
    value = message_text(value)
    if value is None:
        return []
    if isinstance(value, str):
        return [SubTask(line) for line in bullets(value)]
    if not isinstance(value, list | tuple):
        raise _wrong(value, "a list of str, TaskBrief or SubTask")
    return [_sub_task(entry) for entry in value]


def _sub_task(entry: Any) -> SubTask:
    if isinstance(entry, SubTask):
        return entry
    if isinstance(entry, TaskBrief) or (isinstance(entry, str) and entry.strip()):
        return SubTask(entry)
    if isinstance(entry, Mapping):
        return _read(SubTask if "task" in entry else TaskBrief, entry, SubTask)
    raise _wrong(entry, "a list with an entry that is not a filled str, TaskBrief or SubTask", inside=True)


def _read(kind: Any, entry: Mapping[str, Any], wanted: type[SubTask]) -> SubTask:
    try:
        value = kind(**entry)
    except (ValidationError, TypeError) as error:
        text = invalid_fields(kind.__name__, error) if isinstance(error, ValidationError) else str(error)
        raise ComponentError(f"a sub-task that is not valid: {text}", value=dict(entry)) from error
    return value if isinstance(value, wanted) else wanted(value)


def as_report(value: Any) -> TaskReport:
    """A solver's or aggregator's answer: a text, a message, an agent's state, a report, or a nested solver's result."""
    if isinstance(value, TaskReport):
        return value
    if isinstance(value, AgentResult) or AgentResult.told_by(value):
        return AgentResult.model_validate(value).report()
    if isinstance(value, Mapping) and "success" in value and "report" in value:
        return _nested(value)
    text = message_text(value)
    if isinstance(text, str):
        if text is not value and not text.strip():  # a model's; a function that returns "" means it
            raise UnparsableOutputError("the answer is empty", value=text)
        return answer_report(well_formed(text))
    if isinstance(value, Mapping) and "outcome" in value:
        try:
            return TaskReport.model_validate(value)
        except ValidationError as error:
            raise ComponentError(
                f"a report that is not valid: {invalid_fields('TaskReport', error)}", value=value
            ) from error
    raise _wrong(value, "a str, a message or a TaskReport")


def _nested(result: Mapping[str, Any]) -> TaskReport:
    """The report of a solver that was used as a component of another one."""
    if result["success"]:
        return answer_report(str(result.get("output")))
    halt = result.get("halt")
    return failed_report(f"the nested solver halted: {getattr(halt, 'type', halt)}: {getattr(halt, 'detail', '')}")


def as_verdict(value: Any) -> Verdict:
    """A validator's answer: a verdict, a bool, one or several checks, or a text that starts with ACCEPT or REJECT.

    None is an error verdict: who says nothing has passed nothing. What it says is repaired (`well_formed`): it goes
    into reports and specs.
    """
    verdict = _as_said(value)
    checks = [
        check.model_copy(update={name: well_formed(getattr(check, name)) for name in ("check_id", "justification")})
        for check in verdict.checks
    ]
    said = {
        name: text and well_formed(text) for name, text in (("feedback", verdict.feedback), ("error", verdict.error))
    }
    return verdict.model_copy(update={"checks": checks, **said})


def _as_said(value: Any) -> Verdict:
    value = message_text(value)
    if value is None:
        return Verdict(error="the validator returned nothing")
    if isinstance(value, Verdict):
        return value
    if isinstance(value, bool):
        return accept() if value else reject("rejected without a reason")
    if isinstance(value, ValidationCheck):
        return Verdict(checks=[value], feedback=value.justification)
    if isinstance(value, list) and all(isinstance(check, ValidationCheck) for check in value):
        return Verdict(checks=value)
    if isinstance(value, str):
        return _judged(value)
    raise _wrong(value, "a Verdict, a bool or checks")


def as_lenient_verdict(value: Any) -> Verdict:
    """The same, where a text that says neither ACCEPT nor REJECT rejects (the `RecursiveTaskSolver` front)."""
    try:
        return as_verdict(value)
    except UnparsableOutputError as error:
        return reject(str(error.value or "").strip() or "the verdict is empty")


def _judged(text: str) -> Verdict:
    decision, feedback = judgement(text)
    if decision is None:
        raise UnparsableOutputError("the verdict starts with neither ACCEPT nor REJECT", value=text)
    return accept(feedback) if decision else reject(feedback or "rejected without a reason")


def as_review(value: Any) -> TaskReview:
    """A reviewer's answer: a review."""
    if isinstance(value, TaskReview):
        return value
    if isinstance(value, Mapping):
        try:
            return TaskReview.model_validate(value)
        except ValidationError as error:
            raise ComponentError(
                f"a review that is not valid: {invalid_fields('TaskReview', error)}", value=value
            ) from error
    raise _wrong(value, "a TaskReview")


def _wrong(value: Any, wanted: str, *, inside: bool = False) -> ComponentError:
    what = "None" if value is None else f"{type(value).__name__} {value!r}"[:200]
    return ComponentError(f"{wanted}: {what}" if inside else f"{what}, not {wanted}", value=value)
