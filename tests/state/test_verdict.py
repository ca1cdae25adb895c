"""Verdicts: what counts as a pass (rules 9, 18, 26)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_recursive.state.evidence import bounded
from langgraph_recursive.state.failure import failures_of
from langgraph_recursive.state.verdict import (
    ScopeValidationResult,
    ValidationCheck,
    ValidationResult,
    Verdict,
    accept,
    reject,
    worst,
)

CHECKS = st.lists(
    st.builds(
        ValidationCheck,
        check_id=st.text(min_size=1, max_size=5),
        status=st.sampled_from(["passed", "failed", "unknown"]),
        required=st.booleans(),
    ),
    max_size=6,
)
OUTCOMES = st.lists(st.sampled_from(["passed", "unknown", "failed", "error"]), max_size=6)


@given(OUTCOMES)
def test_error_beats_failed_beats_unknown_beats_passed(outcomes: list[Any]) -> None:
    order = ["passed", "unknown", "failed", "error"]
    assert worst(outcomes) == (max(outcomes, key=order.index) if outcomes else "error")


@given(CHECKS)
def test_every_required_check_must_pass_and_nothing_said_is_an_error(checks: list[ValidationCheck]) -> None:
    verdict = Verdict(checks=checks)
    required = [check.status for check in checks if check.required]
    assert verdict.accepted is (bool(checks) and all(status == "passed" for status in required))
    assert (verdict.outcome == "error") is (not checks)


@given(CHECKS)
def test_an_error_is_never_a_pass(checks: list[ValidationCheck]) -> None:
    assert Verdict(checks=checks, error="").outcome == "error"
    assert Verdict(checks=checks, error="broken").outcome == "error"


def test_accept_and_reject() -> None:
    assert accept("fine").outcome == "passed"
    made = reject("bad", check_id="c", failure_code="x", evidence=[bounded("seen")])
    assert (made.outcome, made.feedback, made.checks[0].failure_code) == ("failed", "bad", "x")


def test_severity_follows_from_required() -> None:
    assert ValidationCheck(check_id="c", status="failed").severity == "blocker"
    assert ValidationCheck(check_id="c", status="failed", required=False).severity == "warning"


@given(CHECKS, st.integers(1, 9))
def test_every_check_that_did_not_pass_is_a_failure_with_its_attempt(checks: list[ValidationCheck], n: int) -> None:
    scope = ScopeValidationResult(scope="task", outcome="failed", checks=checks)
    result = ValidationResult(evaluated_task_id="t", outcome="failed", scope_results=[scope])
    found = failures_of(result, attempt=n)
    assert [failure.check_id for failure in found] == [c.check_id for c in checks if c.status != "passed"]
    assert {failure.attempt for failure in found} <= {n}
    assert all(
        (failure.severity == "blocker") is check.required
        for failure, check in zip(found, [c for c in checks if c.status != "passed"], strict=True)
    )


@pytest.mark.parametrize(("outcome", "checked", "verified"), [("passed", True, True), ("passed", False, False)])
def test_verified_needs_a_real_check(outcome: Any, checked: bool, verified: bool) -> None:
    assert ValidationResult(evaluated_task_id="t", outcome=outcome, checked=checked).verified is verified


@given(st.text(max_size=400), st.integers(2, 200))
def test_evidence_is_bounded_and_says_what_it_dropped(text: str, limit: int) -> None:
    seen = bounded(text, limit=limit)
    assert len(seen.head) + len(seen.tail) <= max(limit, len(seen.head) if not seen.truncated else limit)
    assert seen.size == len(text)
    assert seen.truncated is (len(text) > limit)
    if seen.truncated:
        assert text.startswith(seen.head)
        assert text.endswith(seen.tail)
    else:
        assert seen.text == text


@given(CHECKS)
def test_a_verdict_survives_json(checks: list[ValidationCheck]) -> None:
    verdict = Verdict(checks=checks, feedback="f")
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict
