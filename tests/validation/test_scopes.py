"""Scopes: which run, in which order, and what their verdicts come to."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from engine_kit import kept
from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.nodes.parts.commands import command_validator
from langgraph_recursive.nodes.parts.verifiers import llm_verifier
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.state.errors import InvalidInputError
from langgraph_recursive.state.report import TaskReport
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.task_state import TaskState
from langgraph_recursive.state.validation_policy import ValidationPolicy
from langgraph_recursive.state.verdict import ValidationResult, Verdict, accept, reject
from scripted import ScriptedChatModel
from validation_kit import Session, asked, brief, decide, deciding

Run = Callable[..., dict[str, Any]]

ALL = ["evidence", "hypothesis", "output", "task"]
ONCE = SolvePolicy(max_attempts=1)


class Validator:
    """A validator model that remembers the scopes it was asked for."""

    def __init__(self, statuses: dict[str, str] | None = None) -> None:
        self.scopes: list[str] = []
        self.model = ScriptedChatModel(answers=self._answer)
        self.statuses = statuses or {}

    def _answer(self, messages: list[BaseMessage]) -> Any:
        scope, _ = asked(messages)
        self.scopes.append(scope)
        status = self.statuses.get(scope)
        return "no verdict" if status == "error" else decide(messages, self.statuses)


def solver_with_child(child: Any = None, **options: Any) -> Any:
    """A solver whose root is split into one child; the root gate always passes."""
    given = child if child is not None else brief(validation_scopes=ALL)
    return create_recursive_solver(
        **{
            "solver": lambda task: "7",
            "decomposer": lambda task, depth: [given] if depth == 0 else [],
            "root_validator_model": ScriptedChatModel(answers=deciding()),
            "policy": ONCE,
            **options,
        }
    )


def child_verdict(graph: Any, run: Run, given: Any = "sum") -> tuple[ValidationResult, dict[str, Any]]:
    config = {"configurable": {"thread_id": "1"}}
    graph.checkpointer = InMemorySaver()
    result = run(graph, given, config)
    state = TaskState.model_validate(graph.get_state(config).values["state"])
    return state.children["t.1"].verdict, result


def test_scopes_run_in_order_each_with_a_result_and_are_aggregated_once(run: Run) -> None:
    validator = Validator({"evidence": "unknown", "output": "failed"})
    verdict, _ = child_verdict(solver_with_child(validator_model=validator.model), run)
    assert validator.scopes == ALL
    assert [(entry.scope, entry.outcome) for entry in verdict.scope_results] == [
        ("evidence", "unknown"),
        ("hypothesis", "passed"),
        ("output", "failed"),
        ("task", "passed"),
    ]
    assert verdict.outcome == "failed"
    assert verdict.retry_from is not None
    assert (verdict.retry_from.scope, verdict.retry_from.check_ids) == ("evidence", ["evidence", "o1"])
    assert len(verdict.plan_hash) == 64


def test_an_error_in_one_scope_makes_the_verdict_an_error_and_does_not_stop_the_others(run: Run) -> None:
    validator = Validator({"hypothesis": "error", "evidence": "unknown", "task": "failed"})
    verdict, result = child_verdict(solver_with_child(validator_model=validator.model), run)
    assert validator.scopes == ALL
    assert (verdict.outcome, verdict.retry_from) == ("error", None)
    assert result["halt"].child.type == "validator_error"


def test_the_users_verifiers_and_the_model_run_side_by_side_in_scope_task(run: Run) -> None:
    barrier = threading.Barrier(3, timeout=10)

    def check(task: Task) -> Verdict:
        if task.depth:
            barrier.wait()
        return accept("fine")

    def also(task: Task) -> Verdict:
        return check(task)

    def answer(messages: list[BaseMessage]) -> Any:
        barrier.wait()
        return decide(messages)

    graph = solver_with_child(brief(), verifiers=[check, also], validator_model=ScriptedChatModel(answers=answer))
    verdict, _ = child_verdict(graph, run)
    assert [check.validator_id for check in verdict.checks] == ["check", "also", "validator:task"]
    assert verdict.verified


def test_functions_commands_and_judges_are_checks_of_one_plan(run: Run) -> None:
    judge = ScriptedChatModel(answers=["ACCEPT fine"] * 2)
    graph = solver_with_child(
        brief(),
        verifiers=[
            lambda task, result: result == "7",
            command_validator([sys.executable, "-c", "raise SystemExit(0)"], name="tests"),
            llm_verifier(judge, name="judge"),
        ],
        validator_model=ScriptedChatModel(answers=deciding()),
    )
    verdict, result = child_verdict(graph, run)
    assert [check.validator_id for check in verdict.checks] == ["verifier", "tests", "judge", "validator:task"]
    assert [scope.scope for scope in verdict.scope_results] == ["task"]
    assert result["verified"]


def test_the_policy_adds_scopes_to_every_sub_task(run: Run) -> None:
    validator = Validator()
    policy = ValidationPolicy(scopes=["output", "hypothesis"])
    graph = solver_with_child(brief(), validator_model=validator.model, validation_policy=policy)
    assert child_verdict(graph, run)[0].outcome == "passed"
    assert validator.scopes == ["hypothesis", "output", "task"]


def test_the_solvers_model_validates_when_no_other_is_given(run: Run) -> None:
    def answer(messages: list[BaseMessage]) -> Any:
        return decide(messages) if 'kind="checks"' in messages[-1].text else "7"

    model = ScriptedChatModel(answers=answer)
    graph = create_recursive_solver(
        model,
        atomizer=lambda task, depth: depth > 0,
        decomposer=lambda task, depth: [brief()],
        validation_policy=ValidationPolicy(),
    )
    result = run(graph, "sum")
    assert result["verified"]
    assert [asked(call.messages)[0] for call in model.calls if 'kind="checks"' in call.text] == ["task", "root"]


def test_without_policy_model_or_scopes_nothing_is_validated_by_a_model(run: Run) -> None:
    root = Validator()
    verdict, _ = child_verdict(solver_with_child(brief(), root_validator_model=root.model), run)
    assert root.scopes == ["root"]
    assert (verdict.outcome, verdict.verified) == ("passed", False)


def test_a_brief_that_selects_a_scope_is_validated_by_the_model_there_is(run: Run) -> None:
    root = Validator()
    graph = solver_with_child(brief(validation_scopes=["output"]), root_validator_model=root.model)
    with pytest.raises(InvalidInputError, match=r"task t\.1 must be validated by a model"):
        run(graph, "sum")
    own = Validator()
    graph = solver_with_child(brief(validation_scopes=["output"]), validator_model=own.model)
    assert run(graph, "sum")["success"]
    assert own.scopes == ["output", "task"]


def test_a_plan_that_cannot_be_validated_is_refused_before_any_child_runs(run: Run) -> None:
    called: list[str] = []
    graph = create_recursive_solver(
        solver=lambda task: kept(called, task.id, "7"),
        decomposer=lambda task, depth: [brief("one"), brief("two", validation_scopes=["evidence"])],
    )
    with pytest.raises(InvalidInputError, match=r"t\.2"):
        run(graph, "sum")
    assert called == []


@pytest.mark.parametrize("outcome", ["failed", "protocol_error"])
def test_failed_and_protocol_error_reports_take_the_deterministic_path(run: Run, outcome: str) -> None:
    validator = Validator()
    report = TaskReport.model_validate({"summary": "no", "outcome": outcome, "remaining_issues": ["all"]})
    graph = solver_with_child(solver=lambda task: report, validator_model=validator.model)
    verdict, _ = child_verdict(graph, run)
    assert (verdict.outcome, verdict.checked, verdict.scope_results) == ("failed", False, [])
    assert validator.scopes == []


def test_stopped_children_take_the_deterministic_path(run: Run) -> None:
    validator = Validator()

    def solve(task: Task) -> str:
        if task.id == "t.1":
            raise ValueError("broken")
        return "7"

    graph = create_recursive_solver(
        solver=solve,
        decomposer=lambda task, depth: ["one", "two"] if depth == 0 else [],
        validator_model=validator.model,
        policy=SolvePolicy(max_attempts=1, max_concurrency=1, on_child_failure="fail_fast", sequential_children=True),
    )
    assert run(graph, "sum")["halt"].type == "child_failed"
    assert validator.scopes == []


def test_a_partial_report_is_validated_and_fails_by_itself(run: Run) -> None:
    validator = Validator()
    partial = {"summary": "half", "outcome": "partial", "remaining_issues": ["the rest"]}
    verdict, _ = child_verdict(
        solver_with_child(brief(), solver=lambda task: partial, validator_model=validator.model), run
    )
    assert validator.scopes == ["task"]
    assert verdict.outcome == "failed"
    assert [(check.validator_id, check.status) for check in verdict.checks] == [
        ("validator:task", "passed"),
        ("framework", "failed"),
    ]


def test_validators_count_in_the_budget_and_are_no_children(run: Run) -> None:
    validator = Validator()
    validator.model = ScriptedChatModel(answers=deciding(), usage=(10, 5))
    child = brief(validation_scopes=["hypothesis", "output"])
    _, result = child_verdict(solver_with_child(child, validator_model=validator.model), run)
    assert result["usage"].tasks == 2
    assert result["usage"].model_calls == 4
    assert result["usage"].total_tokens == 3 * 15
    assert {entry.depth for entry in result["traces"]} == {0, 1}


def test_each_validator_runs_under_its_own_name(run: Run) -> None:
    names: list[str] = []

    class Names(BaseCallbackHandler):
        def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
            names.append(str(kwargs.get("name")))

    child = brief(validation_scopes=["hypothesis", "output"])
    graph = solver_with_child(child, validator_model=ScriptedChatModel(answers=deciding()))
    run(graph, "sum", {"callbacks": [Names()]})
    assert names == ["validator:hypothesis", "validator:output", "validator:task", "validator:root"]


def test_a_repeated_code_of_a_validator_is_a_stall_in_other_words_too(run: Run) -> None:
    words = iter(["no total", "the total is missing", "where is it", "sum it"])

    def answer(messages: list[BaseMessage]) -> Any:
        scope, ids = asked(messages)
        check = {"check_id": ids[0], "status": "failed", "justification": next(words), "failure_code": "missing-total"}
        return {"scope": scope, "checks": [check]}

    graph = solver_with_child(brief(), validator_model=ScriptedChatModel(answers=answer), policy=SolvePolicy())
    result = run(graph, "sum")
    assert result["halt"].child.type == "recovery_stalled"


def test_a_fix_sees_what_failed_in_every_scope(run: Run) -> None:
    validator = Validator({"output": "failed", "task": "failed"})
    specs: list[str] = []
    graph = solver_with_child(
        solver=lambda task: kept(specs, task.spec, "7"),
        validator_model=validator.model,
        policy=SolvePolicy(max_attempts=2),
        validator_tools=lambda report: Session(),
    )
    validator.statuses["evidence"] = validator.statuses["hypothesis"] = "failed"
    run(graph, "sum")
    assert len(specs) == 2
    assert all(f"validator:{scope}" in specs[1] for scope in ALL)


def test_reject_of_a_users_verifier_and_a_pass_of_the_model_is_a_rejection(run: Run) -> None:
    validator = Validator()
    graph = solver_with_child(brief(), verifiers=lambda task, result: reject("no"), validator_model=validator.model)
    verdict, _ = child_verdict(graph, run)
    assert verdict.outcome == "failed"
    assert validator.scopes == ["task"]
