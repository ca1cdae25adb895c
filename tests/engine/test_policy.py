"""SolvePolicy: its defaults, its bounds, and that nothing unknown is dropped in silence."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.nodes.retry import is_transient
from langgraph_recursive.state.errors import CallTimeoutError, InvalidPolicyError


def test_the_defaults_are_the_issues() -> None:
    policy = SolvePolicy()
    assert (policy.max_depth, policy.max_children, policy.max_attempts, policy.max_fixes_total) == (5, 6, 3, 10)
    assert (policy.max_concurrency, policy.stall_window, policy.max_replans, policy.max_revisions) == (4, 1, 1, 1)
    assert policy.on_child_failure is None
    assert policy.max_task_seconds is None


def test_an_unknown_field_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(InvalidPolicyError, match="max_dept = 3") as caught:
        SolvePolicy(max_dept=3)
    assert caught.value.field == "max_dept"
    assert "max_depth" in str(caught.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_depth", -1),
        ("max_children", 0),
        ("max_attempts", 0),
        ("max_fixes_total", -1),
        ("max_concurrency", 0),
        ("stall_window", -1),
        ("call_timeout", 0),
        ("max_task_seconds", -0.5),
        ("max_spec_chars", 0),
        ("max_replans", -1),
        ("on_child_failure", "ignore"),
        ("max_depth", "deep"),
        ("max_depth", 1.5),
        ("retry", "always"),
    ],
)
def test_a_value_out_of_bounds_is_an_error_with_field_and_value(field: str, value: object) -> None:
    with pytest.raises(InvalidPolicyError, match=f"SolvePolicy.{field} = ") as caught:
        SolvePolicy(**{field: value})
    assert caught.value.field == field


def test_it_is_frozen() -> None:
    with pytest.raises(ValidationError):
        setattr(SolvePolicy(), "max_depth", 3)  # noqa: B010 - mypy would refuse it, as it should


@given(attempts=st.integers(1, 50), children=st.integers(1, 50), replans=st.integers(0, 5))
def test_the_recursion_limit_covers_every_pass(attempts: int, children: int, replans: int) -> None:
    policy = SolvePolicy(max_attempts=attempts, max_children=children, max_replans=replans)
    # admit, decompose, subtasks, review, aggregate, verify, recovery; a replan adds decompose, subtasks, review.
    assert policy.recursion_limit >= attempts * (7 + 3 * replans)


class RateLimitError(Exception):
    pass


class Status(Exception):  # noqa: N818 - stands in for a provider's error
    def __init__(self, status_code: int) -> None:
        self.status_code = status_code


@pytest.mark.parametrize(
    "error", [ConnectionError(), TimeoutError(), RateLimitError(), Status(429), Status(503), Status(529)]
)
def test_what_passes_by_itself_is_transient(error: Exception) -> None:
    assert is_transient(error)


@pytest.mark.parametrize(
    "error", [ValueError(), Status(400), Status(401), Status(404), CallTimeoutError("x"), KeyError("timeout")]
)
def test_what_does_not_is_not(error: Exception) -> None:
    assert not is_transient(error)


@pytest.mark.parametrize("policy", [{"max_attempts": 2}, 3])
def test_a_policy_that_is_none_is_refused(policy: Any) -> None:
    with pytest.raises(InvalidPolicyError, match="give a SolvePolicy"):
        create_recursive_solver(solver=str, policy=policy)
