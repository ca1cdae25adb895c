"""Reports: what a task hands up (rule 25)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from langgraph_recursive.state.answer import Answer
from langgraph_recursive.state.report import (
    NextStepSuggestion,
    TaskReport,
    Validation,
    answer_report,
    failed_report,
)


@given(st.text(max_size=500))
def test_a_text_answer_is_a_satisfied_report_that_keeps_it_whole(text: str) -> None:
    report = answer_report(text)
    assert (report.outcome, report.text, report.answered) == ("satisfied", text, True)
    assert report.validation.hard_passed
    assert 0 < len(report.summary) <= 200


@pytest.mark.parametrize(
    "fields",
    [
        {"validation": Validation(hard_passed=False)},
        {"validation": Validation(hard_passed=True, open_issues=["x"])},
        {"validation": Validation(hard_passed=True), "remaining_issues": ["x"]},
    ],
)
def test_satisfied_needs_everything_passed_and_nothing_open(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="report 'partial' otherwise"):
        TaskReport(summary="s", outcome="satisfied", **fields)
    assert TaskReport(summary="s", outcome="partial", **fields).answered


@pytest.mark.parametrize("outcome", ["failed", "protocol_error"])
def test_a_failed_report_has_no_answer_and_says_why(outcome: Any) -> None:
    report = failed_report("because", outcome=outcome, raw="raw text")
    assert not report.answered
    assert report.remaining_issues == ["because"]
    assert report.evidence == [{"raw": "raw text"}]


@pytest.mark.parametrize(
    "fields", [{"outputs": [{"x": object()}]}, {"evidence": [{"x": float("inf")}]}, {"summary": " "}]
)
def test_a_report_is_json_and_has_a_summary(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        TaskReport(**{"summary": "s", "outcome": "partial", **fields})


@pytest.mark.parametrize("direction", ["DESCEND", "REFINE"])
def test_a_suggestion_to_go_on_needs_a_task(direction: Any) -> None:
    with pytest.raises(ValidationError, match="needs suggested_next_task"):
        NextStepSuggestion(direction=direction)


def test_the_answer_is_the_first_outputs_text_else_the_summary() -> None:
    assert TaskReport(summary="s", outcome="partial", outputs=[{"rows": 1}]).text == "s"
    assert TaskReport(summary="s", outcome="partial", outputs=[{"text": "a"}, {"text": "b"}]).text == "a"


def test_an_answer_is_its_text_and_carries_its_report() -> None:
    import copy
    import pickle

    answer = Answer(answer_report("hello").model_copy(update={"child_task_id": "t.1"}), task="greet")
    assert answer == "hello"
    for again in (pickle.loads(pickle.dumps(answer)), copy.deepcopy(answer)):
        assert (again, again.task_id, again.task, again.report) == ("hello", "t.1", "greet", answer.report)


def test_an_answer_that_is_handed_on_leaves_its_report_behind() -> None:
    report = answer_report(Answer(answer_report("hello")))
    assert type(report.outputs[0]["text"]) is str
