"""The allowance outlives a crash, a revision and a rewind: what was read stays read."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import RetryPolicy

from context_kit import CONFIG, REF, granted, read_call, snapshots, state_of
from engine_kit import split
from langgraph_recursive.graph import SolvePolicy, create_recursive_solver
from langgraph_recursive.graph.rewinding import rewind
from langgraph_recursive.nodes import ContextStore, llm_solver, read_context
from langgraph_recursive.nodes.reading import read_page
from langgraph_recursive.state import ContextReadError, ReviewDecision, Task, TaskReview
from scripted import ScriptedChatModel

Run = Callable[..., dict[str, Any]]


@pytest.fixture
def contexts() -> ContextStore:
    return snapshots()


def build(contexts: ContextStore, solver: Any, **options: Any) -> Any:
    policy = SolvePolicy(**{"max_context_chars": 100, "max_attempts": 1, **options.pop("policy", {})})
    return create_recursive_solver(
        solver=solver, context_store=contexts, checkpointer=InMemorySaver(), policy=policy, **options
    )


@pytest.mark.parametrize("durability", ["sync", "async"])
def test_a_resume_keeps_the_allowance(run: Run, contexts: ContextStore, durability: str) -> None:
    killed = KeyboardInterrupt()
    model = ScriptedChatModel(
        answers=[read_call(limit=60), killed, read_call("call_2", limit=41), read_call("call_3", limit=40), "done"],
        tools=True,
    )
    solver = build(contexts, llm_solver(model))
    with pytest.raises(KeyboardInterrupt):
        run(solver, granted(), CONFIG, durability=durability)
    assert run(solver, None, CONFIG, durability=durability)["output"] == "done"
    assert "over the task's allowance: 40 of 100 are left" in model.calls[-1].text
    assert [read.chars for read in state_of(solver).context_reads] == [60, 40]


def test_a_call_that_runs_again_knows_what_its_finished_neighbour_read(run: Run, contexts: ContextStore) -> None:
    lives: list[str] = []

    def greedy() -> str:
        """Read much."""
        lives.append("x")
        if len(lives) == 1:
            time.sleep(0.3)  # until the other call's record is stored
            raise KeyboardInterrupt
        return read_page(REF, limit=60).text

    calls = [read_call("c1", limit=60).tool_calls[0], {"name": "greedy", "args": {}, "id": "c2", "type": "tool_call"}]
    model = ScriptedChatModel(answers=[AIMessage("", tool_calls=calls[::-1]), "done"], tools=True)
    solver = build(contexts, llm_solver(model, tools=[greedy]))
    with pytest.raises(KeyboardInterrupt):
        run(solver, granted(), CONFIG)
    assert run(solver, None, CONFIG)["output"] == "done"
    assert len(lives) == 2
    assert "40 of 100 are left" in model.calls[-1].text
    assert [read.chars for read in state_of(solver).context_reads] == [60]


def test_a_function_that_was_killed_reads_again_from_a_full_allowance(run: Run, contexts: ContextStore) -> None:
    """Its first reads were in flight: nothing of them is kept, so nothing of them is counted."""
    lives: list[str] = []

    def solve(task: Task) -> str:
        text = read_context(task, REF, limit=60)
        lives.append(text)
        if len(lives) == 1:
            raise KeyboardInterrupt
        return text

    solver = build(contexts, solve)
    with pytest.raises(KeyboardInterrupt):
        run(solver, granted(), CONFIG)
    assert run(solver, None, CONFIG)["success"]
    assert [read.chars for read in state_of(solver).context_reads] == [60]


def test_a_retried_call_counts_what_every_try_read(run: Run, contexts: ContextStore) -> None:
    tries: list[int] = []

    def solve(task: Task) -> str:
        tries.append(1)
        read_context(task, REF, limit=40)
        if len(tries) == 1:
            raise ConnectionError("lost")
        return "done"

    quick = RetryPolicy(initial_interval=0.001, jitter=False, retry_on=ConnectionError)
    solver = build(contexts, solve, policy={"retry": quick})
    assert run(solver, granted(), CONFIG)["success"]
    assert [read.chars for read in state_of(solver).context_reads] == [40, 40]


def test_a_failed_task_keeps_what_it_read(run: Run, contexts: ContextStore) -> None:
    def solve(task: Task) -> str:
        read_context(task, REF, limit=60)
        raise ValueError("no")

    solver = build(contexts, solve)
    run(solver, granted(), CONFIG)
    assert [read.chars for read in state_of(solver).context_reads] == [60]


def test_a_revision_grants_no_new_allowance(run: Run, contexts: ContextStore) -> None:
    told: list[str] = []

    def solve(task: Task) -> str:
        if task.attempt == 1:
            return read_context(task, REF, limit=60)
        with pytest.raises(ContextReadError) as refused:
            read_context(task, REF, limit=41)
        told.append(str(refused.value))
        return read_context(task, REF, offset=60, limit=40)

    def reviewer(report: Any, result: Any, ctx: Any) -> TaskReview:
        again = report.child_task_id == "t.1"
        return TaskReview(decision=ReviewDecision.REVISE_CHILD if again else ReviewDecision.ASCEND, reason="r")

    solver = build(
        contexts,
        solve,
        decomposer=split({"use the notes": [granted(objective="one")]}),
        aggregator=lambda task, results: "done",
        reviewer=reviewer,
    )
    assert run(solver, granted(), CONFIG)["output"] == "done"
    assert "40 of 100 are left" in told[0]


@pytest.mark.parametrize("target", ["t", "t.1"])
def test_a_rewind_gives_nothing_back(contexts: ContextStore, target: str) -> None:
    refused: list[str] = []

    def solve(task: Task) -> str:
        try:
            return read_context(task, REF, limit=60)
        except ContextReadError as error:
            refused.append(str(error))
            return "refused"

    child = granted(objective="one")
    plan = {"use the notes": [child]} if target == "t.1" else {}
    solver = build(contexts, solve, decomposer=split(plan), aggregator=lambda task, results: results[0])
    assert solver.invoke(granted(), CONFIG)["success"]
    rewind(solver, CONFIG, target)
    assert solver.invoke(None, CONFIG)["output"] == "refused"
    assert "40 of 100 are left" in refused[0]


def test_an_answer_that_is_only_checked_anew_still_rests_on_its_reads(contexts: ContextStore) -> None:
    solver = build(contexts, lambda task: read_context(task, REF, limit=60))
    assert solver.invoke(granted(), CONFIG)["success"]
    again = rewind(solver, CONFIG, "t", "verify")
    assert solver.invoke(None, CONFIG)["success"]
    state = state_of(solver)
    assert [(read.chars, read.attempt) for read in state.context_reads] == [(60, state.attempt.attempt)]
    assert state.attempt.id == again
