"""A solver as a Runnable among others: chains, batches and what Runnables are wrapped in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableConfig, RunnableLambda, RunnableParallel, RunnablePassthrough
from langgraph.checkpoint.memory import InMemorySaver

from engine_kit import Peak, Solver
from langgraph_recursive.graph import RecursiveSolver, create_recursive_solver
from langgraph_recursive.nodes import reject
from langgraph_recursive.state import InvalidInputError, MissingThreadError
from langgraph_recursive.state.errors import ComponentError

Run = Callable[..., Any]


def answer(result: dict[str, Any]) -> Any:
    """What a chain goes on with."""
    return result["messages"][-1]


def chain(**parts: Any) -> Any:
    solver = create_recursive_solver(**{"solver": lambda task: f"{task}!", **parts})
    return ChatPromptTemplate.from_template("do {it}") | solver | answer | StrOutputParser()


def test_prompt_solver_parser(run: Run, stream: Run) -> None:
    assert run(chain(), {"it": "this"}) == "do this!"
    assert "".join(stream(chain(), {"it": "this"})) == "do this!"


def test_a_halt_reaches_the_parser_as_a_text_that_says_so(run: Run) -> None:
    assert "recovery_stalled" in run(chain(verifiers=[lambda: reject("no")]), {"it": "this"})


def test_side_by_side_and_passed_through(run: Run) -> None:
    one = create_recursive_solver(solver=lambda task: f"1 {task}")
    two = create_recursive_solver(solver=lambda task: f"2 {task}")
    both = RunnableParallel(one=one, two=two, same=RunnablePassthrough())
    result = run(both, "w")
    assert (result["one"]["output"], result["two"]["output"], result["same"]) == ("1 w", "2 w", "w")


def test_batch_keeps_order_and_concurrency(way: str) -> None:
    peak = Peak()
    solver = create_recursive_solver(solver=peak.sleeping(0.05))
    given, config = [f"w{number}" for number in range(6)], RunnableConfig(max_concurrency=2)
    results: list[dict[str, Any]] = (
        solver.batch(given, config) if way == "sync" else asyncio.run(solver.abatch(given, config))
    )
    assert [result["messages"][0].content for result in results] == ["done"] * 6
    assert peak.total == 6
    assert peak.most == 2


def test_batch_gives_each_its_own_answer_and_its_own_error(way: str) -> None:
    solver = create_recursive_solver(solver=lambda task: f"{task}!")
    given: list[Any] = ["a", "", "c"]
    results: list[Any] = (
        solver.batch(given, return_exceptions=True)
        if way == "sync"
        else asyncio.run(solver.abatch(given, return_exceptions=True))
    )
    assert [results[0]["output"], type(results[1]), results[2]["output"]] == ["a!", InvalidInputError, "c!"]


def test_batch_runs_on_a_thread_each(way: str) -> None:
    solver = create_recursive_solver(solver=lambda task: f"{task}!", checkpointer=InMemorySaver())
    given: list[Any] = ["a", "b"]
    configs: list[Any] = [{"configurable": {"thread_id": name}} for name in given]
    if way == "sync":
        solver.batch(given, configs)
    else:
        asyncio.run(solver.abatch(given, configs))
    assert [solver.get_state(config).values["output"] for config in configs] == ["a!", "b!"]


def test_as_completed(way: str) -> None:
    solver = create_recursive_solver(solver=lambda task: f"{task}!")
    given: list[Any] = ["a", "b"]

    async def completed() -> list[Any]:
        return [pair async for pair in solver.abatch_as_completed(given)]

    pairs: list[Any] = list(solver.batch_as_completed(given)) if way == "sync" else asyncio.run(completed())
    assert {number: result["output"] for number, result in pairs} == {0: "a!", 1: "b!"}


def test_with_config_is_a_solver_that_keeps_it(run: Run) -> None:
    solver = create_recursive_solver(solver=lambda task: f"{task}!", checkpointer=InMemorySaver())
    with pytest.raises(MissingThreadError):
        run(solver, "w")
    bound = solver.with_config(configurable={"thread_id": "1"})
    assert isinstance(bound, RecursiveSolver)
    assert run(bound, "w")["output"] == "w!"
    assert solver.get_state({"configurable": {"thread_id": "1"}}).values["output"] == "w!"


def test_with_retry_runs_anew(run: Run) -> None:
    answers: list[Any] = [5, "done"]
    solver = create_recursive_solver(solver=lambda: answers.pop(0))
    again = solver.with_retry(
        retry_if_exception_type=(ComponentError,), stop_after_attempt=2, wait_exponential_jitter=False
    )
    assert run(again | answer | StrOutputParser(), "w") == "done"


def test_with_fallbacks_goes_on_with_the_next(run: Run) -> None:
    wrong = create_recursive_solver(solver=lambda: 5)
    right = create_recursive_solver(solver=lambda task: f"{task}!")
    assert run(wrong.with_fallbacks([right]), "w")["output"] == "w!"
    assert run(RunnableLambda(str.upper) | wrong.with_fallbacks([right]) | answer, "w").content == "W!"


@pytest.mark.parametrize("broken", [False, True])
def test_with_fallbacks_gives_one_final_value_in_a_chains_stream_too(run: Run, stream: Run, broken: bool) -> None:
    wrong = create_recursive_solver(solver=lambda: 5)
    right = create_recursive_solver(solver=lambda task: f"{task}!")
    chosen = wrong.with_fallbacks([right]) if broken else right.with_fallbacks([wrong])
    whole = ChatPromptTemplate.from_template("do {it}") | chosen | answer | StrOutputParser()
    assert run(whole, {"it": "this"}) == "do this!"
    assert stream(whole, {"it": "this"}) == ["do this!"]


def test_fallbacks_may_be_for_some_errors_only(run: Run) -> None:
    wrong = create_recursive_solver(solver=lambda: 5)
    narrow = wrong.with_fallbacks([create_recursive_solver(solver=str)], exceptions_to_handle=(KeyError,))
    with pytest.raises(ComponentError):
        run(narrow, "w")


def test_a_halt_is_no_exception_so_a_fallback_needs_one_raised(run: Run) -> None:
    def accepted(result: dict[str, Any]) -> dict[str, Any]:
        if not result["success"]:
            raise ValueError(result["halt"].type)
        return result

    first = create_recursive_solver(solver=Solver("bad"), verifiers=[lambda: reject("no")])
    second = create_recursive_solver(solver=Solver("good"))
    assert run(first.with_fallbacks([second]), "w")["success"] is False
    assert run((first | accepted).with_fallbacks([second]), "w")["output"] == "good"


def test_listeners_and_binding(run: Run) -> None:
    ended: list[str] = []
    solver = create_recursive_solver(solver=lambda task: f"{task}!").with_listeners(
        on_end=lambda run: ended.append(run.name)
    )
    assert run(solver, "w")["output"] == "w!"
    assert ended == ["recursive_solver"]
