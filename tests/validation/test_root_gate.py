"""The root gate (rules 22 and 23): the candidate answer is validated against the anchor, twice at most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from engine_kit import kept
from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.graph.front import RecursiveTaskSolver
from langgraph_recursive.nodes.parts.solvers import llm_solver
from langgraph_recursive.nodes.parts.verifiers import always_accept
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.state.budget import Budget
from langgraph_recursive.state.errors import InvalidInputError
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.validation_policy import ValidationPolicy
from langgraph_recursive.state.verdict import Verdict, accept, reject
from scripted import ScriptedChatModel
from validation_kit import ANCHOR, asked, brief, decide, deciding

Run = Callable[..., dict[str, Any]]


class Gate:
    """A validator model whose n-th call gives the n-th outcome; the last one stays."""

    def __init__(self, *outcomes: str) -> None:
        self.outcomes = outcomes
        self.asked = 0
        self.model = ScriptedChatModel(answers=self._answer)

    def _answer(self, messages: list[BaseMessage]) -> Any:
        outcome = self.outcomes[min(self.asked, len(self.outcomes) - 1)]
        self.asked += 1
        return "no verdict" if outcome == "error" else decide(messages, {"root": outcome})


def attempts(result: dict[str, Any]) -> list[str]:
    return [attempt.id for attempt in result["attempts"]]


def test_a_passed_gate_makes_the_answer_verified(run: Run) -> None:
    gate = Gate("passed")
    result = run(create_recursive_solver(solver=lambda task: "7 EUR", root_validator_model=gate.model), ANCHOR)
    assert result["success"]
    assert result["verified"]
    assert (result["verdict"].gate, [scope.scope for scope in result["verdict"].scope_results]) == ("passed", ["root"])
    assert [check.check_id for check in result["verdict"].checks] == ["c1", "c2"]
    assert "7 EUR" in gate.model.calls[0].text
    assert ANCHOR.completion_criteria[1] in gate.model.calls[0].text


@pytest.mark.parametrize("miss", ["failed", "unknown", "error"])
def test_the_first_miss_is_put_to_the_task_once_more_with_the_verdict(run: Run, miss: str) -> None:
    gate = Gate(miss, "passed")
    seen: list[Task] = []
    graph = create_recursive_solver(solver=lambda task: kept(seen, task, "7"), root_validator_model=gate.model)
    result = run(graph, ANCHOR)
    assert result["success"]
    assert attempts(result) == ["t", "t_fix_1"]
    assert seen[1].prior_failures
    assert {failure.validator_id for failure in seen[1].prior_failures} == {"validator:root"}
    assert "validator:root" in seen[1].spec


@pytest.mark.parametrize("second", ["failed", "unknown", "error"])
@pytest.mark.parametrize("first", ["failed", "error"])
def test_the_second_miss_ends_the_task(run: Run, first: str, second: str) -> None:
    gate = Gate(first, second)
    result = run(create_recursive_solver(solver=lambda task: "7", root_validator_model=gate.model), ANCHOR)
    assert not result["success"]
    assert not result["verified"]
    assert result["output"] is None
    assert result["halt"].type == "recovery_exhausted"
    assert "root gate" in result["halt"].detail
    assert attempts(result) == ["t", "t_fix_1"]
    assert gate.asked == 2
    assert [part.text for part in result["partial"]] == ["7"]


def test_the_correction_is_granted_when_max_attempts_is_used_up(run: Run) -> None:
    gate = Gate("failed", "passed")
    policy = SolvePolicy(max_attempts=1)
    graph = create_recursive_solver(solver=lambda task: "7", root_validator_model=gate.model, policy=policy)
    assert attempts(run(graph, ANCHOR)) == ["t", "t_fix_1"]


def test_the_correction_grants_one_attempt_and_no_more(run: Run) -> None:
    gate = Gate("failed", "passed")
    graph = create_recursive_solver(
        solver=lambda task: "7",
        verifiers=lambda task, result, attempt: accept() if attempt == 1 else reject(f"broken by fix {attempt}"),
        root_validator_model=gate.model,
        policy=SolvePolicy(max_attempts=1),
    )
    result = run(graph, ANCHOR)
    assert result["halt"].type == "recovery_exhausted"
    assert attempts(result) == ["t", "t_fix_1"]
    assert gate.asked == 1


def test_only_an_attempt_that_the_users_verifiers_passed_meets_the_gate(run: Run) -> None:
    gate = Gate("failed", "passed")
    graph = create_recursive_solver(
        solver=lambda task: "7",
        verifiers=lambda task, result, attempt: reject(f"no {attempt}") if attempt in (1, 3) else accept(),
        root_validator_model=gate.model,
        policy=SolvePolicy(max_attempts=4),
    )
    result = run(graph, ANCHOR)
    assert result["success"]
    assert attempts(result) == ["t", "t_fix_1", "t_fix_2", "t_fix_3"]
    assert gate.asked == 2
    ends = [[failure.validator_id for failure in attempt.failures] for attempt in result["attempts"]]
    assert ends == [["verifier"], ["validator:root", "validator:root"], ["verifier"], []]


def test_the_users_verifiers_and_the_gate_are_two_steps_of_one_scope_in_one_result(run: Run) -> None:
    order: list[str] = []

    def answer(messages: list[BaseMessage]) -> Any:
        order.append("gate")
        return decide(messages)

    def check(task: Task) -> Verdict:
        order.append("verifier")
        return accept("fine")

    graph = create_recursive_solver(
        solver=lambda task: "7", verifiers=check, root_validator_model=ScriptedChatModel(answers=answer)
    )
    verdict = run(graph, ANCHOR)["verdict"]
    assert order == ["verifier", "gate"]
    assert [scope.scope for scope in verdict.scope_results] == ["root"]
    assert [check.validator_id for check in verdict.checks] == ["check", "validator:root", "validator:root"]


def test_an_error_of_a_users_verifier_halts_and_never_meets_the_gate(run: Run) -> None:
    gate = Gate("passed")
    graph = create_recursive_solver(
        solver=lambda task: "7", verifiers=lambda task, result: Verdict(error="broke"), root_validator_model=gate.model
    )
    result = run(graph, ANCHOR)
    assert result["halt"].type == "validator_error"
    assert gate.asked == 0


def test_a_partial_answer_never_meets_the_gate(run: Run) -> None:
    gate = Gate("passed")
    partial = {"summary": "half", "outcome": "partial", "remaining_issues": ["the rest"]}
    result = run(create_recursive_solver(solver=lambda task: partial, root_validator_model=gate.model), ANCHOR)
    assert not result["success"]
    assert gate.asked == 0


def test_an_exception_of_the_validator_never_passes_the_gate(run: Run) -> None:
    model = ScriptedChatModel(answers=[RuntimeError("down"), RuntimeError("down")])
    result = run(create_recursive_solver(solver=lambda task: "7", root_validator_model=model), ANCHOR)
    assert result["halt"].type == "recovery_exhausted"
    assert not result["verified"]


def test_a_stopped_run_never_passes_the_gate(run: Run) -> None:
    model = ScriptedChatModel(answers=deciding(), latency=0.5)
    policy = SolvePolicy(max_task_seconds=0.2)
    graph = create_recursive_solver(solver=lambda task: "7", root_validator_model=model, policy=policy)
    result = run(graph, ANCHOR)
    assert result["halt"].type == "timed_out"
    assert not result["verified"]


def test_an_empty_budget_never_passes_the_gate(run: Run) -> None:
    gate = Gate("passed")
    policy = SolvePolicy(budget=Budget(max_llm_calls=1))
    result = run(
        create_recursive_solver(solver=lambda task: "7", root_validator_model=gate.model, policy=policy), ANCHOR
    )
    assert result["halt"].type == "budget_exhausted"
    assert (result["verified"], result["output"], gate.asked) == (False, None, 0)


def test_the_fixes_of_the_whole_tree_bind_the_gate_too(run: Run) -> None:
    gate = Gate("failed", "passed")
    policy = SolvePolicy(max_fixes_total=0)
    graph = create_recursive_solver(solver=lambda task: "7", root_validator_model=gate.model, policy=policy)
    assert run(graph, ANCHOR)["halt"].type == "recovery_exhausted"
    assert gate.asked == 1


def test_always_accept_with_a_passed_gate_is_verified_and_without_one_is_not(run: Run) -> None:
    gate = Gate("passed")
    with_gate = create_recursive_solver(
        solver=lambda task: "7", verifiers=[always_accept], root_validator_model=gate.model
    )
    assert run(with_gate, "sum")["verified"]
    assert not run(create_recursive_solver(solver=lambda task: "7", verifiers=[always_accept]), "sum")["verified"]


def test_it_is_on_for_an_anchor_a_policy_or_a_validator_model(run: Run) -> None:
    def on(given: Any, **options: Any) -> bool:
        own = ScriptedChatModel(answers=lambda messages: decide(messages) if "quoted" in messages[-1].text else "7")
        graph = create_recursive_solver(solver=llm_solver(own), **options)
        return bool(run(graph, given)["verdict"].gate == "passed")

    other = ScriptedChatModel(answers=deciding())
    assert on(ANCHOR)
    assert on("sum", validation_policy=ValidationPolicy())
    assert on("sum", validator_model=other)
    assert on(brief(), root_validator_model=other)
    assert on(brief(validation_scopes=["output"]))
    assert not on("sum")
    assert not on(brief())


def test_no_model_to_be_had_is_bad_input_before_anything_runs(run: Run) -> None:
    called: list[Task] = []
    graph = create_recursive_solver(solver=lambda task: kept(called, task, "7"))
    for given in (ANCHOR, brief(validation_scopes=["evidence"])):
        with pytest.raises(InvalidInputError, match="validator_model"):
            run(graph, given)
    assert called == []
    with pytest.raises(InvalidInputError, match="validator_model"):
        create_recursive_solver(solver=lambda task: "7", validation_policy=ValidationPolicy())


def test_it_is_off_in_the_front() -> None:
    result = RecursiveTaskSolver(solver=lambda task: "7", decomposer=lambda task: [], atomizer=lambda task: True).solve(
        ANCHOR
    )
    assert result.success
    assert not result.verified


def test_the_root_validator_model_overrides_the_validator_model_at_the_root_only(run: Run) -> None:
    seen: list[str] = []

    def validator(name: str) -> ScriptedChatModel:
        def answer(messages: list[BaseMessage]) -> Any:
            seen.append(f"{name}:{asked(messages)[0]}")
            return decide(messages)

        return ScriptedChatModel(answers=answer)

    graph = create_recursive_solver(
        solver=lambda task: "7",
        decomposer=lambda task, depth: ["one"] if depth == 0 else [],
        validator_model=validator("theirs"),
        root_validator_model=validator("root's"),
    )
    assert run(graph, ANCHOR)["success"]
    assert seen == ["theirs:task", "root's:root"]


def test_a_re_aggregation_is_the_correction_of_a_combined_answer(run: Run) -> None:
    gate = Gate("failed", "passed")
    solved: list[str] = []
    graph = create_recursive_solver(
        solver=lambda task: kept(solved, task.id, "3"),
        decomposer=lambda task, depth: ["one", "two"] if depth == 0 else [],
        aggregator=lambda task, results: "6",
        root_validator_model=gate.model,
    )
    result = run(graph, ANCHOR)
    assert result["success"]
    assert sorted(solved) == ["t.1", "t.2"]
    assert [attempt.start for attempt in result["attempts"]] == ["aggregate", "aggregate"]


def test_the_gate_attempts_are_counted_in_the_state_and_anew_in_each_run(run: Run) -> None:
    gate = Gate("failed", "passed", "failed", "passed")
    graph = create_recursive_solver(
        solver=lambda task: "7", root_validator_model=gate.model, checkpointer=InMemorySaver()
    )
    config: RunnableConfig = {"configurable": {"thread_id": "1"}}
    for _ in range(2):
        assert run(graph, ANCHOR, config)["success"]
        assert graph.get_state(config).values["state"].gate_attempts == 2
    assert gate.asked == 4
