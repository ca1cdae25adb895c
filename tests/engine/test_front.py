"""RecursiveTaskSolver keeps its document to the letter (rules 21 and 24)."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from engine_kit import Peak, Solver, kept, split
from langgraph_recursive.graph.front import RecursiveTaskSolver, SolveResult
from langgraph_recursive.state.errors import InvalidPolicyError, MissingSolverError
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.verdict import Verdict, accept, reject

Solve = Callable[..., SolveResult]


@pytest.fixture
def solve(way: str) -> Solve:
    def to_end(front: RecursiveTaskSolver, task: Any) -> SolveResult:
        return front.solve(task) if way == "sync" else asyncio.run(front.asolve(task))

    return to_end


def told(result: SolveResult) -> list[tuple[str, str, int, int]]:
    return [(entry.type, entry.detail, entry.depth, entry.attempt) for entry in result.traces]


def test_its_defaults_are_the_documents() -> None:
    parameters = inspect.signature(RecursiveTaskSolver).parameters
    assert parameters["max_depth"].default == 5
    assert parameters["max_retries"].default == 2


@pytest.mark.parametrize("given", [{"solver": str}, {"decomposer": list}, {}])
def test_solver_and_decomposer_are_required(given: dict[str, Any]) -> None:
    with pytest.raises(MissingSolverError, match="needs a"):
        RecursiveTaskSolver(**given)


@pytest.mark.parametrize("given", [{"max_retries": 0}, {"max_depth": -1}])
def test_its_limits_are_checked(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidPolicyError):
        RecursiveTaskSolver(solver=Solver(), decomposer=split({}), **given)


def test_the_default_atomizer_stops_splitting_at_depth_3_before_max_depth(solve: Solve) -> None:
    solver = Solver()
    front = RecursiveTaskSolver(solver=solver, decomposer=lambda task, depth: [f"{task.brief.objective}.{depth}"])
    result = solve(front, "w")
    assert result.success
    assert solver.tasks[0].depth == 3
    # The solver answers the atomic task and combines three times.
    assert len(solver.tasks) == 4


def test_the_depth_limit_comes_before_the_atomizer(solve: Solve) -> None:
    asked: list[int] = []
    front = RecursiveTaskSolver(
        solver=Solver(),
        decomposer=lambda task, depth: [f"{task.brief.objective}.{depth}"],
        atomizer=lambda task, depth: kept(asked, depth, False),
        max_depth=2,
    )
    solve(front, "w")
    assert asked == [0, 1]


def test_by_default_everything_is_accepted_and_not_called_verified(solve: Solve) -> None:
    result = solve(RecursiveTaskSolver(solver=Solver(), decomposer=split({})), "w")
    assert (result.success, result.verified, result.output, result.halt) == (True, False, "done", None)


def test_max_retries_counts_the_first_attempt(solve: Solve) -> None:
    for allowed in (1, 2, 4):
        solver = Solver()
        front = RecursiveTaskSolver(
            solver=solver, decomposer=split({}), verifier=lambda: reject("no"), max_retries=allowed
        )
        result = solve(front, "w")
        assert len(solver.tasks) == allowed
        assert (result.success, result.output) == (False, None)
        assert [str(part) for part in result.partial] == ["done"]
        assert result.halt is not None
        assert result.halt.type == "recovery_exhausted"


def test_equal_rejections_do_not_stall_it(solve: Solve) -> None:
    solver = Solver()
    front = RecursiveTaskSolver(
        solver=solver, decomposer=split({}), verifier=lambda: reject("always the same"), max_retries=5
    )
    solve(front, "w")
    assert len(solver.tasks) == 5


def test_an_accepted_retry_succeeds_and_the_feedback_reached_it(solve: Solve) -> None:
    solver = Solver(lambda task: f"try {task.attempt}")
    front = RecursiveTaskSolver(
        solver=solver,
        decomposer=split({}),
        verifier=lambda task, result, attempt: accept("good") if attempt == 3 else reject(f"bad {attempt}"),
        max_retries=3,
    )
    result = solve(front, "w")
    assert (result.success, result.verified, result.output) == (True, True, "try 3")
    assert "bad 1" in str(solver.tasks[1])
    assert "bad 2" in str(solver.tasks[2])
    assert "bad 1" in str(solver.tasks[2])


def test_children_run_strictly_one_after_another_each_to_its_end(solve: Solve) -> None:
    peak = Peak()
    order: list[str] = []

    def solver(task: Task) -> str:
        with peak.inside():
            order.append(task.id)
            return "x"

    front = RecursiveTaskSolver(solver=solver, decomposer=split({"w": ["a", "b", "c"], "b": ["d", "e"]}))
    assert solve(front, "w").success
    assert peak.most == 1
    # d, e, then the solver combines b, then c, then the whole.
    assert order == ["t.1", "t.2.1", "t.2.2", "t.2", "t.3", "t"]


def test_the_first_failure_ends_the_branch_and_later_children_never_start(solve: Solve) -> None:
    solver = Solver()
    front = RecursiveTaskSolver(
        solver=solver,
        decomposer=split({"w": ["a", "b", "c"]}),
        verifier=lambda task: "b" not in task.brief.objective,
        max_retries=1,
    )
    result = solve(front, "w")
    assert solver.ids == ["t.1", "t.2"]
    assert (result.success, result.output) == (False, None)
    assert [(part.task_id, part.text, part.verified) for part in result.partial] == [
        ("t.1", "done", True),
        ("t.2", "done", False),
    ]
    assert result.halt is not None
    assert result.halt.type == "child_failed"
    assert result.halt.child is not None
    assert result.halt.child.task_id == "t.2"


def test_a_combined_answer_is_verified_once_with_attempt_1_and_a_rejection_fails_the_branch(solve: Solve) -> None:
    seen: list[tuple[str, int]] = []

    def verifier(task: Task, result: str, attempt: int) -> bool:
        seen.append((task.id, attempt))
        return task.depth > 0

    solver = Solver()
    front = RecursiveTaskSolver(solver=solver, decomposer=split({"w": ["a", "b"]}), verifier=verifier, max_retries=9)
    result = solve(front, "w")
    assert seen == [("t.1", 1), ("t.2", 1), ("t", 1)]
    assert solver.ids == ["t.1", "t.2", "t"]
    assert not result.success


def test_the_solver_combines_with_task_and_each_sub_task_with_its_result_in_its_prompt(solve: Solve) -> None:
    solver = Solver(lambda task: f"answer of {task.brief.objective}")
    front = RecursiveTaskSolver(solver=solver, decomposer=split({"w": ["a", "b"]}))
    solve(front, "w")
    prompt = str(solver.tasks[-1])
    for text in ("w", "a", "answer of a", "b", "answer of b"):
        assert text in prompt


def test_its_traces_are_the_documents_table(solve: Solve) -> None:
    long = "L" * 200
    feedback = "why " * 60

    def verifier(task: Task, result: str, attempt: int) -> Verdict:
        return reject(feedback) if task.brief.objective == "a" and attempt == 1 else accept(feedback)

    front = RecursiveTaskSolver(solver=lambda task: long, decomposer=split({"w": ["a", "b" * 100]}), verifier=verifier)
    result = solve(front, "w")
    cut = "L" * 80
    assert told(result) == [
        ("DECOMPOSED", "2: a; " + "b" * 80, 0, 0),
        ("SOLVED", cut, 1, 1),
        ("VERIFIED", f"REJECTED: {feedback}", 1, 0),
        ("RECOVERED", "t.1_fix_1 from 1 failures so far", 1, 0),
        ("SOLVED", cut, 1, 2),
        ("VERIFIED", f"ACCEPTED: {feedback}", 1, 0),
        ("SOLVED", cut, 1, 1),
        ("VERIFIED", f"ACCEPTED: {feedback}", 1, 0),
        ("AGGREGATED", cut, 0, 0),
        ("VERIFIED", f"ACCEPTED: {feedback}", 0, 0),
    ]
    assert [entry.task for entry in result.traces if entry.depth == 0] == ["w"] * 3
    assert {entry.task for entry in result.traces if entry.depth == 1} == {"a", "b" * 100}


def test_the_last_rejection_is_traced_and_so_is_the_end(solve: Solve) -> None:
    front = RecursiveTaskSolver(solver=Solver(), decomposer=split({}), verifier=lambda: reject("no"), max_retries=1)
    assert [entry.type for entry in solve(front, "w").traces] == ["SOLVED", "VERIFIED", "HALTED"]


@pytest.mark.parametrize(
    ("reply", "accepted"),
    [
        ("ACCEPT fine", True),
        ("REJECT bad", False),
        ("I cannot ACCEPT this", False),
        ("ACCEPTING this would be wrong", False),
        ("accept", False),
        ("", False),
        ('{"accept": tr', False),
    ],
)
def test_a_plain_text_judge_accepts_with_the_word_only_and_else_rejects(
    solve: Solve, reply: str, accepted: bool
) -> None:
    solver = Solver()
    front = RecursiveTaskSolver(solver=solver, decomposer=split({}), verifier=lambda: reply)
    result = solve(front, "w")
    assert result.success is accepted
    assert len(solver.tasks) == (1 if accepted else 2)


def test_more_than_six_children_and_more_than_ten_fixes_are_allowed(solve: Solve) -> None:
    names = [f"part {number}" for number in range(12)]
    front = RecursiveTaskSolver(
        solver=Solver(), decomposer=split({"w": names}), verifier=lambda task, attempt: attempt > 1 or task.depth == 0
    )
    result = solve(front, "w")
    assert result.success
    assert result.usage.fixes == 12


def test_a_verifier_that_raises_or_returns_nothing_halts_without_another_attempt(solve: Solve) -> None:
    def broken(task: Task) -> bool:
        raise RuntimeError("no judge")

    for verifier in (broken, lambda: None):
        solver = Solver()
        result = solve(RecursiveTaskSolver(solver=solver, decomposer=split({}), verifier=verifier), "w")
        assert result.halt is not None
        assert result.halt.type == "validator_error"
        assert len(solver.tasks) == 1


def test_the_duration_is_in_milliseconds(solve: Solve) -> None:
    result = solve(RecursiveTaskSolver(solver=Peak().sleeping(0.06), decomposer=split({})), "w")
    assert 60 <= result.duration_ms < 5_000
