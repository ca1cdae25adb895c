"""One budget for the whole tree: held exactly, kept over a resume, and honest about what was finished."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from langgraph_recursive.graph import Budget, SolvePolicy, create_recursive_solver, estimate, open_sqlite
from langgraph_recursive.nodes import depth_based, llm_solver
from langgraph_recursive.state import InvalidPolicyError
from langgraph_recursive.state.errors import MissingDependencyError
from scripted import ScriptedChatModel


def tree(*, budget: Budget, **more: Any) -> Any:
    """Two levels of two: 3 decompositions, 4 answers, 3 aggregates and 7 verdicts are 17 calls."""
    return create_recursive_solver(
        solver=more.pop("solver", lambda task: f"answer {task.id}"),
        aggregator=lambda task, results: "+".join(results),
        decomposer=lambda task, depth: [f"{task} {number}" for number in range(2)],
        atomizer=depth_based(2),
        verifiers=[lambda task, result, attempt: True],
        policy=SolvePolicy(budget=budget, **more.pop("policy", {})),
        **more,
    )


def run(solver: Any, world: str, config: Any = None, given: Any = "job") -> dict[str, Any]:
    return solver.invoke(given, config) if world == "sync" else asyncio.run(solver.ainvoke(given, config))


@pytest.mark.parametrize("world", ["sync", "async"])
def test_the_whole_tree_fits_exactly(world: str) -> None:
    result = run(tree(budget=Budget(max_llm_calls=17)), world)
    assert result["success"]
    assert result["usage"].llm_calls == 17


@pytest.mark.parametrize("limit", range(1, 17))
@pytest.mark.parametrize("world", ["sync", "async"])
def test_a_limit_on_calls_is_never_passed_and_is_named(world: str, limit: int) -> None:
    result = run(tree(budget=Budget(max_llm_calls=limit)), world)
    assert not result["success"]
    assert result["halt"].type == "budget_exhausted"
    assert f"max_llm_calls = {limit}" in result["halt"].detail
    assert result["usage"].llm_calls <= limit


@pytest.mark.parametrize("limit", [3, 40, 65, 130, 131])
async def test_64_children_at_once_never_spend_more_than_there_is(limit: int) -> None:
    """Each yields between the reserve and the settling of its call; without a limit the run makes 131 calls."""
    made = 0

    async def call() -> None:
        nonlocal made
        made += 1
        await asyncio.sleep(0)

    async def solver(task: Any) -> str:
        await call()
        return "answer"

    async def decomposer(task: Any, depth: int) -> list[str]:
        await call()
        return [f"part {number}" for number in range(64)]

    async def aggregator(task: Any, results: Any) -> str:
        await call()
        return "all"

    async def check(task: Any, result: str) -> bool:
        await call()
        return True

    policy = SolvePolicy(budget=Budget(max_llm_calls=limit), max_children=64, max_concurrency=64)
    graph = create_recursive_solver(
        solver=solver,
        decomposer=decomposer,
        aggregator=aggregator,
        atomizer=depth_based(1),
        verifiers=[check],
        policy=policy,
    )
    result = await graph.ainvoke("job")
    assert made == result["usage"].llm_calls <= limit
    assert result["success"] is (limit == 131)


def test_finished_parts_are_aggregated_from_what_was_kept_back() -> None:
    result = run(
        tree(budget=Budget(max_llm_calls=15), policy={"max_concurrency": 1, "sequential_children": True}), "sync"
    )
    root = next(part for part in result["partial"] if part.task_id == "t")
    assert "answer t.1.1+answer t.1.2" in root.text
    assert root.verified
    assert result["report"].outcome == "partial"


@pytest.mark.parametrize("world", ["sync", "async"])
@pytest.mark.parametrize("limit", [1, 3, 5])
def test_a_limit_on_tasks_is_exact(world: str, limit: int) -> None:
    result = run(tree(budget=Budget(max_tasks=limit)), world)
    assert result["halt"].type == "budget_exhausted"
    assert f"max_tasks = {limit}" in result["halt"].detail
    assert result["usage"].tasks <= limit


def test_a_limit_on_time_ends_the_run() -> None:
    def slow(task: Any) -> str:
        time.sleep(0.2)
        return "late"

    result = run(tree(budget=Budget(max_seconds=0.1), solver=slow), "sync")
    assert result["halt"].type == "budget_exhausted"
    assert "max_seconds = 0.1" in result["halt"].detail


def test_a_model_call_inside_a_plain_function_is_refused_too() -> None:
    model = ScriptedChatModel(answers=["hello"], repeat=True)

    def talks(task: Any) -> str:
        return " ".join(str(model.invoke("hi").content) for _ in range(5))

    result = create_recursive_solver(solver=talks, policy=SolvePolicy(budget=Budget(max_llm_calls=3))).invoke("job")
    assert result["halt"].type == "budget_exhausted"
    assert len(model.calls) == 3


def test_tokens_and_cost_are_counted_as_the_provider_reports_them() -> None:
    model = ScriptedChatModel(answers=["hello"], repeat=True, usage=(10, 5))
    policy = SolvePolicy(price=lambda name, usage: usage["output_tokens"] * 0.5)
    result = create_recursive_solver(solver=llm_solver(model), policy=policy).invoke("job")
    assert (result["usage"].input_tokens, result["usage"].output_tokens) == (10, 5)
    assert result["usage"].cost == 2.5


@pytest.mark.parametrize("budget", [Budget(max_tokens=14), Budget(max_cost=2.0)])
def test_limits_on_tokens_and_cost_stop_the_next_call(budget: Budget) -> None:
    model = ScriptedChatModel(answers=["hello"], repeat=True, usage=(10, 5))
    policy = SolvePolicy(budget=budget, price=lambda name, usage: usage["output_tokens"] * 0.5)
    solver = create_recursive_solver(
        solver=llm_solver(model), verifiers=[lambda task, result, attempt: attempt == 2], policy=policy
    )
    result = solver.invoke("job")
    assert result["halt"].type == "budget_exhausted"
    assert len(model.calls) == 1


class Named(ScriptedChatModel):
    """A model with a name, as providers' models have."""

    model: str


def priced(model: ScriptedChatModel, **policy: Any) -> dict[str, Any]:
    solver = create_recursive_solver(solver=llm_solver(model), policy=SolvePolicy(**policy))
    result: dict[str, Any] = solver.invoke("job")
    return result


def test_a_model_of_the_price_list_costs_what_the_list_says() -> None:
    model = Named(model="gpt-4o", answers=["hello"], usage=(1_000_000, 0))
    assert priced(model, budget=Budget(max_cost=100))["usage"].cost > 0


@pytest.mark.parametrize("price", [None, lambda name, usage: {"another": 1.0}[name]], ids=["the list", "a function"])
def test_a_model_without_a_price_ends_the_run_when_cost_is_limited(price: Any) -> None:
    model = Named(model="home-made", answers=["hello"], repeat=True, usage=(10, 5))
    result = priced(model, budget=Budget(max_cost=1), price=price)
    assert (result["success"], result["halt"].type) == (False, "budget_exhausted")
    assert "max_cost = 1 cannot hold: there is no price for the model 'home-made'" in result["halt"].detail
    assert "SolvePolicy(price=" in result["halt"].detail
    assert len(model.calls) == 1
    assert (result["usage"].input_tokens, result["usage"].output_tokens) == (10, 5)


def test_a_model_without_a_price_is_no_matter_when_cost_is_not_limited() -> None:
    model = Named(model="home-made", answers=["hello"], usage=(10, 5))
    assert priced(model, budget=Budget(max_tokens=100))["success"]


def test_a_resume_does_not_forget_what_was_spent(tmp_path: Path) -> None:
    """The machinery fails in the middle; what is left after it is what was left before."""
    calls: list[str] = []

    def solver(task: Any) -> str:
        calls.append(task.id)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return f"answer {task.id}"

    config = {"configurable": {"thread_id": "1"}}
    budget = Budget(max_llm_calls=17)
    with open_sqlite(tmp_path / "runs.db") as saver:
        policy = {"max_concurrency": 1, "sequential_children": True}
        graph = tree(budget=budget, solver=solver, checkpointer=saver, policy=policy)
        with pytest.raises(KeyboardInterrupt):
            graph.invoke("job", config, durability="sync")
        result = graph.invoke(None, config)
    assert result["usage"].llm_calls <= 17
    assert result["usage"].llm_calls >= 16


def test_nothing_is_checked_against_a_budget_that_sets_no_limit() -> None:
    assert run(tree(budget=Budget()), "sync")["success"]


@pytest.mark.parametrize("field", ["max_llm_calls", "max_tokens", "max_cost", "max_seconds", "max_tasks"])
def test_a_limit_below_one_is_refused(field: str) -> None:
    with pytest.raises(InvalidPolicyError, match=field):
        SolvePolicy(budget={field: 0})


def test_the_estimate_is_capped_by_the_budget() -> None:
    worst = estimate(SolvePolicy(budget=Budget(max_llm_calls=50, max_tasks=9)))
    assert worst.calls == 50
    assert worst.tasks == 9


@pytest.mark.parametrize("approved", [True, False])
def test_a_run_over_the_approved_number_asks_first(approved: bool) -> None:
    called: list[str] = []

    def solver(task: Any) -> str:
        called.append(task.id)
        return "done"

    policy = SolvePolicy(approve_over=10)
    graph = create_recursive_solver(solver=solver, policy=policy, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    [question] = graph.invoke("job", config)["__interrupt__"]
    assert question.value["worst_case_calls"] > 10
    assert not called
    result = graph.invoke(Command(resume=approved), config)
    assert result["success"] is approved
    assert bool(called) is approved


def test_a_limit_on_cost_without_prices_is_refused_before_any_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"langgraph-recursive\[prices\]"):
        tree(budget=Budget(max_cost=1))
    tree(budget=Budget(max_cost=1), policy={"price": lambda name, usage: 0.0})
