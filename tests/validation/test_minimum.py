"""What a run is validated by when it begins holds to its end; whoever resumes it may only ask for more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_kit import kept
from langgraph_recursive.graph import create_recursive_solver
from langgraph_recursive.state.brief import BriefScope
from langgraph_recursive.state.errors import InvalidInputError
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.validation_policy import ValidationCheckSpec, ValidationMinimum, ValidationPolicy
from scripted import ScriptedChatModel
from validation_kit import Job, task

Run = Callable[..., dict[str, Any]]

CONFIG = {"configurable": {"thread_id": "1"}}


def check(check_id: str, criterion: str = "polite") -> ValidationCheckSpec:
    return ValidationCheckSpec(check_id=check_id, scope="task", criterion=criterion)


@pytest.mark.parametrize("less", [{"validation_policy": ValidationPolicy()}, {"validation_policy": None}])
def test_a_resume_asks_for_no_less_and_reuses_what_was_finished(run: Run, less: dict[str, Any]) -> None:
    job = Job()
    job.killed(run, CONFIG)
    assert run(job.build(**less), None, CONFIG)["verified"]
    assert job.calls == {"task": 1, "root": 1, "check t": 1}


def test_a_child_that_is_solved_after_the_resume_is_held_to_it_too(run: Run) -> None:
    job = Job(dies_in="solve")
    job.killed(run, CONFIG)
    assert run(job.build(validation_policy=ValidationPolicy()), None, CONFIG)["verified"]
    assert {"hypothesis", "output", "task", "root"} <= set(job.calls)


def test_the_gate_holds_for_who_resumes_without_one(run: Run) -> None:
    job = Job(dies_in="check t")
    job.killed(run, CONFIG)
    model = ScriptedChatModel(answers=job.answer)
    assert run(job.build(model=model, validation_policy=None, validator_model=None), None, CONFIG)["verified"]
    assert job.calls["root"] == 1


def test_a_resume_may_ask_for_more(run: Run) -> None:
    job = Job(dies_in="solve")
    job.killed(run, CONFIG)
    more = ValidationPolicy(scopes=["evidence"], checks=[check("tone")])
    run(job.build(validation_policy=more), None, CONFIG)
    assert set(job.calls) >= {"evidence", "hypothesis", "output", "task"}


def test_without_a_model_the_resume_is_refused_before_any_call(run: Run) -> None:
    job = Job()
    job.killed(run, CONFIG)
    with pytest.raises(InvalidInputError, match="began with independent validation") as raised:
        run(job.build(validation_policy=None, validator_model=None), None, CONFIG)
    assert raised.value.field == "validator_model"
    assert not job.calls
    assert run(job.build(), None, CONFIG)["verified"]  # and nothing is lost


def test_a_new_task_on_the_thread_is_held_to_nothing_that_was(run: Run) -> None:
    job = Job(dies_in="")
    run(job.build(), "sum", CONFIG)
    job.calls.clear()
    assert run(job.build(validation_policy=None, validator_model=None), "sum", CONFIG)["verified"]
    assert job.calls == {"check t.1": 1, "check t": 1, "solve": 1}


def test_a_task_given_as_data_brings_none(run: Run) -> None:
    given = task("t", parent_id=None, depth=0, minimum=ValidationMinimum(policy=ValidationPolicy(), sub_tasks=True))
    assert run(create_recursive_solver(solver=lambda task: "7"), {"task": given.model_dump()})["success"]


def test_only_the_root_stores_it(run: Run) -> None:
    seen: list[Task] = []
    job = Job(dies_in="")
    run(job.build(solver=lambda task: kept(seen, task, "7")), "sum", CONFIG)
    assert [found.minimum for found in seen] == [None]


def test_a_check_that_stands_keeps_its_words() -> None:
    fixed = ValidationPolicy(checks=[check("tone", "polite")])
    joined = fixed.joined(ValidationPolicy(checks=[check("tone", "rude"), check("length", "short")]))
    assert [(known.check_id, known.criterion) for known in joined.checks] == [("tone", "polite"), ("length", "short")]


scopes: list[BriefScope] = ["evidence", "hypothesis", "output", "task"]
policies = st.builds(
    ValidationPolicy,
    scopes=st.lists(st.sampled_from(scopes), unique=True),
    checks=st.lists(st.sampled_from("abc").map(check), unique_by=lambda known: known.check_id),
    max_tool_rounds=st.integers(1, 9),
)


@given(policies, policies)
def test_joining_never_takes_away_and_adds_once(fixed: ValidationPolicy, more: ValidationPolicy) -> None:
    joined = fixed.joined(more)
    assert {*joined.scopes} == {*fixed.scopes, *more.scopes}
    assert joined.checks[: len(fixed.checks)] == fixed.checks
    assert {known.check_id for known in joined.checks} == {known.check_id for known in fixed.checks + more.checks}
    assert joined.max_tool_rounds >= fixed.max_tool_rounds
    assert joined.joined(more) == joined
    assert fixed.joined(fixed).hash == fixed.hash
