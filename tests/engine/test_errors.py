"""Errors carry code, field and value, and survive pickle and deepcopy (style.md 5)."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.state import errors
from langgraph_recursive.state.errors import RecursiveSolverError


def family(cls: type[RecursiveSolverError]) -> list[type[RecursiveSolverError]]:
    return [cls, *(found for sub in cls.__subclasses__() for found in family(sub))]


FAMILY = family(RecursiveSolverError)


@pytest.mark.parametrize("cls", FAMILY, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("value", [None, "a text", 5, {"a": object()}, lambda: None])
def test_every_error_pickles_and_copies(cls: type[RecursiveSolverError], value: Any) -> None:
    error = cls("what is wrong", field="task", value=value)
    for again in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error), copy.copy(error)):
        assert type(again) is cls
        assert (str(again), again.field, again.value, again.code) == ("what is wrong", "task", error.value, cls.code)


def test_every_error_has_a_code_of_its_own() -> None:
    codes = [cls.code for cls in FAMILY]
    assert len(set(codes)) == len(codes)
    assert all(code.isidentifier() and code.islower() for code in codes)


def test_every_error_is_exported() -> None:
    ours = {cls.__name__ for cls in FAMILY if cls.__module__ == errors.__name__}
    assert ours <= set(errors.__all__)


def test_a_value_is_kept_bounded() -> None:
    assert RecursiveSolverError("x", value="y" * 100_000).value == "y" * 4_000
    assert len(str(RecursiveSolverError("x", value=["y"] * 100_000).value)) <= 200


@pytest.mark.parametrize(
    ("cls", "builtin"),
    [
        (errors.InvalidInputError, ValueError),
        (errors.InvalidPolicyError, ValueError),
        (errors.ComponentError, TypeError),
        (errors.CallTimeoutError, TimeoutError),
        (errors.UnknownThreadError, LookupError),
        (errors.MissingDependencyError, ImportError),
    ],
)
def test_an_error_is_also_the_builtin_kind(cls: type[Exception], builtin: type[Exception]) -> None:
    assert issubclass(cls, builtin)


def test_a_policy_error_names_field_value_and_rule() -> None:
    with pytest.raises(errors.InvalidPolicyError) as caught:
        SolvePolicy(max_depth=-1)
    assert caught.value.field == "max_depth"
    assert "max_depth = -1" in str(caught.value)
    assert "greater than or equal to 0" in str(caught.value)
