"""Plans: what is checked, in which order, and what a verdict is bound to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_recursive.state.brief import RootTaskAnchor
from langgraph_recursive.state.errors import InvalidPolicyError
from langgraph_recursive.state.report import ArtifactRef, TaskReport
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.validation import (
    FRAMEWORK,
    Judged,
    ValidationPlan,
    aggregated,
    compile_plan,
    model_validator_id,
    scope_result,
)
from langgraph_recursive.state.validation_policy import ValidationCheckSpec, ValidationPolicy
from langgraph_recursive.state.verdict import Outcome, Scope, ValidationCheck, Verdict, accept, reject
from validation_kit import ANCHOR, brief, plan_of, report, task

OUTCOMES: dict[str, Verdict] = {
    "passed": accept("fine"),
    "unknown": Verdict(checks=[ValidationCheck(check_id="c1", status="unknown")]),
    "failed": reject("wrong"),
    "error": Verdict(error="broke"),
}


def judged(plan: ValidationPlan, name: str, verdict: Verdict, *, token: str | None = None) -> Judged:
    return Judged(validator_id=name, verdict=verdict, token=plan.token if token is None else token)


def test_scopes_come_in_the_protocols_order_and_task_always() -> None:
    selected = task(brief=brief(validation_scopes=["output", "hypothesis", "evidence"]))
    assert plan_of(selected).scopes == ["evidence", "hypothesis", "output", "task"]
    assert plan_of(task()).scopes == ["task"]


def test_the_policy_is_the_minimum_and_briefs_add_to_it() -> None:
    policy = ValidationPolicy(
        scopes=["evidence"],
        checks=[ValidationCheckSpec(check_id="tone", scope="task", criterion="polite", required=False)],
    )
    plan = plan_of(task(brief=brief(validation_scopes=["output"])), policy=policy)
    assert plan.scopes == ["evidence", "output", "task"]
    assert [(check.check_id, check.scope, check.required) for check in plan.checks] == [
        ("evidence", "evidence", True),
        ("o1", "output", True),
        ("c1", "task", True),
        ("policy-tone", "task", False),
    ]


def test_the_root_gate_has_one_scope_with_the_anchors_criteria_and_constraints() -> None:
    anchor = RootTaskAnchor(objective="o", completion_criteria=["one", "two"], constraints=["be brief"])
    root = task("t", parent_id=None, anchor=anchor, brief=brief(validation_scopes=["evidence"]))
    plan = plan_of(root, gate=True, verifiers={"tests": ""})
    assert plan.scopes == ["root"]
    assert [check.check_id for check in plan.of("root", "model")] == ["c1", "c2", "constraints", "evidence"]
    assert [check.check_id for check in plan.of("root", "verifier")] == ["tests"]


def test_user_verifiers_are_required_checks_of_scope_task() -> None:
    plan = plan_of(task(brief=brief(validation_scopes=["evidence"])), verifiers={"tests": "", "judge": ""})
    assert [(check.check_id, check.required) for check in plan.of("task", "verifier")] == [
        ("tests", True),
        ("judge", True),
    ]
    assert plan.of("evidence", "verifier") == []


def test_without_a_model_only_the_users_verifiers_are_in_the_plan() -> None:
    plan = plan_of(task(brief=brief(validation_scopes=["evidence"])), model="", verifiers={"tests": ""})
    assert plan.scopes == ["task"]
    assert [check.check_id for check in plan.checks] == ["tests"]


Inputs = dict[str, Any]
BASE: Inputs = {
    "task": task(brief=brief(validation_scopes=["evidence"])),
    "report": report(artifact_refs=[]),
    "policy": ValidationPolicy(),
    "verifiers": {"tests": "v1"},
    "model": "model a",
    "tools": "tools a",
    "artifacts": ["h1", "h2"],
    "trajectory_head": "head",
}
REF = ArtifactRef(artifact_id="a", version="1", content_hash="h", kind="file", mime_type="text/plain")
CHANGES: dict[str, Callable[[Inputs], Inputs]] = {
    "policy scopes": lambda i: {"policy": ValidationPolicy(scopes=["output"])},
    "policy rounds": lambda i: {"policy": ValidationPolicy(max_tool_rounds=5)},
    "brief objective": lambda i: {"task": task(brief=brief("other", validation_scopes=["evidence"]))},
    "brief context": lambda i: {"task": task(brief=brief(validation_scopes=["evidence"], context={"a": 1}))},
    "anchor": lambda i: {"task": i["task"].model_copy(update={"anchor": ANCHOR.model_copy(update={"objective": "o"})})},
    "report text": lambda i: {"report": report("8")},
    "report claims": lambda i: {"report": report(artifact_refs=[REF])},
    "artifact bytes": lambda i: {"artifacts": ["h1", "h3"]},
    "an artifact less": lambda i: {"artifacts": ["h1"]},
    "trajectory head": lambda i: {"trajectory_head": "another"},
    "model": lambda i: {"model": "model b"},
    "tool policy": lambda i: {"tools": "tools b"},
    "verifier set": lambda i: {"verifiers": {"tests": "v1", "more": ""}},
    "verifier version": lambda i: {"verifiers": {"tests": "v2"}},
}


def compiled(inputs: Inputs) -> ValidationPlan:
    rest = {name: value for name, value in inputs.items() if name not in ("task", "report")}
    return compile_plan(inputs["task"], inputs["report"], **rest)


@pytest.mark.parametrize("change", CHANGES)
def test_each_input_alone_changes_the_plan_hash(change: str) -> None:
    assert compiled({**BASE, **CHANGES[change](BASE)}).plan_hash != compiled(BASE).plan_hash


def test_the_plan_hash_is_stable() -> None:
    again = {
        **BASE,
        "task": Task.model_validate_json(BASE["task"].model_copy().model_dump_json()),
        "report": TaskReport.model_validate_json(BASE["report"].model_dump_json()),
        "policy": ValidationPolicy(),
        "artifacts": ["h2", "h1"],
    }
    assert compiled(again).plan_hash == compiled(BASE).plan_hash
    assert compiled({**BASE, "report": BASE["report"].model_copy(update={"sequence": 4})}) == compiled(BASE)


texts = st.text(min_size=1).filter(lambda text: text.strip() != "")


@given(text=texts, model=texts, tools=st.text(), artifacts=st.lists(st.text()), head=st.text())
def test_the_plan_hash_depends_on_its_inputs_alone(
    text: str, model: str, tools: str, artifacts: list[str], head: str
) -> None:
    def plan(**changed: Any) -> ValidationPlan:
        given = {"model": model, "tools": tools, "artifacts": artifacts, "trajectory_head": head, **changed}
        return plan_of(task(), report(text), **given)

    assert plan().plan_hash == plan(artifacts=artifacts[::-1]).plan_hash
    changed = [
        plan(model=model + "x"),
        plan(tools=tools + "x"),
        plan(artifacts=[*artifacts, "x"]),
        plan(trajectory_head=head + "x"),
    ]
    assert plan().plan_hash not in {other.plan_hash for other in changed}


def test_the_token_binds_task_attempt_and_plan_hash() -> None:
    plan = plan_of(task())
    others = [plan_of(task("t.2")), plan_of(task(attempt=2)), plan_of(task(), report("8"))]
    assert plan_of(task("t.2")).plan_hash == plan.plan_hash
    assert len({plan.token, *(other.token for other in others)}) == 4


@pytest.mark.parametrize(
    "other", [task("t.2"), task(attempt=2), task(brief=brief("other"))], ids=["task", "attempt", "plan"]
)
def test_a_verdict_with_another_token_is_an_error_and_proves_nothing(other: Task) -> None:
    plan = plan_of()
    mixed_up = judged(plan, model_validator_id("task"), accept(), token=plan_of(other).token)
    result = scope_result(plan, "task", [mixed_up])
    assert result.outcome == "error"
    assert result.checks == []
    assert result.error == "validator:task: its verdict belongs to another task, attempt or plan"


@pytest.mark.parametrize("times", [0, 2])
def test_a_validator_of_the_plan_that_gives_no_verdict_or_two_makes_the_scope_an_error(times: int) -> None:
    plan = plan_of(verifiers={"tests": ""})
    given = [judged(plan, model_validator_id("task"), accept())] + times * [judged(plan, "tests", accept())]
    assert scope_result(plan, "task", given).outcome == "error"


RANK: dict[frozenset[str], Outcome] = {
    frozenset({"passed"}): "passed",
    frozenset({"passed", "unknown"}): "unknown",
    frozenset({"unknown"}): "unknown",
    frozenset({"passed", "failed"}): "failed",
    frozenset({"unknown", "failed"}): "failed",
    frozenset({"passed", "unknown", "failed"}): "failed",
    frozenset({"failed"}): "failed",
}


@given(st.lists(st.sampled_from(sorted(OUTCOMES)), min_size=4, max_size=4))
def test_scopes_aggregate_error_over_failed_over_unknown_over_passed(outcomes: list[str]) -> None:
    scopes: list[Scope] = ["evidence", "hypothesis", "output", "task"]
    plan = plan_of(scopes=scopes)
    given = {
        scope: [judged(plan, model_validator_id(scope), OUTCOMES[outcome])]
        for scope, outcome in zip(scopes, outcomes, strict=True)
    }
    result = aggregated(plan, given, at="solve")
    assert [entry.outcome for entry in result.scope_results] == outcomes
    assert result.outcome == RANK.get(frozenset(outcomes), "error")
    assert (result.retry_from is None) == (result.outcome in ("passed", "error"))


@given(st.permutations(["passed", "unknown", "failed"]))
def test_validators_within_a_scope_aggregate_the_same_in_any_order(outcomes: list[str]) -> None:
    plan = plan_of(verifiers={"a": "", "b": ""})
    names = ["a", "b", model_validator_id("task")]
    given = [judged(plan, name, OUTCOMES[outcome]) for name, outcome in zip(names, outcomes, strict=True)]
    assert scope_result(plan, "task", given).outcome == "failed"


def test_retry_from_names_the_first_scope_that_did_not_pass_and_every_required_check() -> None:
    plan = plan_of(scopes=["output", "task"])
    optional = ValidationCheck(check_id="style", status="failed", required=False)
    given: dict[Scope, list[Judged]] = {
        "output": [judged(plan, model_validator_id("output"), reject("no number", check_id="o1"))],
        "task": [
            judged(plan, model_validator_id("task"), reject("not counted", check_id="c1")),
            judged(plan, FRAMEWORK, Verdict(checks=[optional])),
        ],
    }
    at: Literal["solve", "aggregate"] = "aggregate"
    retry = aggregated(plan, given, at=at).retry_from
    assert retry is not None
    assert (retry.task_id, retry.at, retry.scope, retry.check_ids) == ("t.1", "aggregate", "output", ["o1", "c1"])


@pytest.mark.parametrize(
    "fields",
    [
        {"rounds": 3},
        {"max_tool_rounds": 0},
        {"scopes": ["root"]},
        {"checks": [ValidationCheckSpec(check_id="a", scope="task", criterion="c", method="verifier")]},
        {"checks": 2 * [ValidationCheckSpec(check_id="a", scope="task", criterion="c")]},
    ],
)
def test_a_policy_that_breaks_a_rule_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidPolicyError) as raised:
        ValidationPolicy(**fields)
    assert raised.value.field == next(iter(fields))
