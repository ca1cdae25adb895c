"""`continue_from_halt`: a run that halted goes on in the same chain, as a person decided."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from intervention_kit import PARTS, Work, attempt_of, config_of
from langgraph_recursive.graph import (
    Budget,
    acontinue_from_halt,
    continue_from_halt,
    open_sqlite,
    stop_task,
)
from langgraph_recursive.state import (
    FinishedThreadError,
    Intervention,
    InvalidInputError,
    InvalidPolicyError,
    MissingThreadError,
    SubTask,
    UnknownTaskError,
    UnknownThreadError,
)

Run = Callable[..., dict[str, Any]]
Go = Callable[..., dict[str, Any]]

QUIET = {"interrupt_on_halt": False}


@pytest.fixture
def config() -> Any:
    return config_of("1")


@pytest.fixture
def go(way: str) -> Go:
    """Continue from a halt."""

    def gone(*args: Any, **options: Any) -> Any:
        if way == "sync":
            return continue_from_halt(*args, **options)
        return asyncio.run(acontinue_from_halt(*args, **options))

    return gone


@pytest.fixture(params=["memory", "sqlite", "sqlite with history"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "memory":
        yield InMemorySaver()
        return
    with open_sqlite(tmp_path / "runs.db", nested_history=request.param != "sqlite") as opened:
        yield opened


def second_needs_hint(task: Any) -> bool:
    return task.brief.objective == "second" and not task.hints


def test_the_root_makes_another_attempt(run: Run, go: Go, saver: Any, config: Any) -> None:
    work = Work(lambda task: not task.hints)
    graph = work.solver(saver, policy=QUIET)
    assert run(graph, "alone", config)["halt"].type == "recovery_stalled"
    result = go(graph, config, Intervention(hint="count twice", by="ann"))
    assert result["output"] == "alone"
    assert result["verified"]
    assert work.calls == ["t", "t_fix_1", "t_fix_2"]
    assert attempt_of(result, "t_fix_1").intervention == Intervention(hint="count twice", by="ann")
    assert [message.content for message in result["messages"]] == ["alone"]
    assert result["usage"].fixes == 2


def test_the_task_behind_the_halt_makes_another_attempt_and_nobody_else(
    run: Run, go: Go, saver: Any, config: Any
) -> None:
    work = Work(second_needs_hint)
    graph = work.solver(saver, policy={**QUIET, "max_concurrency": 1}, parts=["first", "second"])
    assert run(graph, "job", config)["halt"].child.task_id == "t.2_fix_1"
    before = list(work.calls)
    result = go(graph, config, {"hint": "go on"})
    assert result["output"] == "first+second"
    assert work.calls[len(before) :] == ["t.2_fix_2"] + ["t.1"] * ("t.1" not in before)


def test_siblings_that_were_stopped_go_on(run: Run, go: Go, config: Any) -> None:
    work = Work(second_needs_hint)
    graph = work.solver(InMemorySaver(), policy={**QUIET, "max_concurrency": 1}, parts=["second", "first", "third"])
    run(graph, "job", config)
    result = go(graph, config, {"hint": "go on"})
    assert result["output"] == "second+first+third"
    assert sorted(task.brief.objective for task in work.tasks) == ["first", "second", "second", "second", "third"]


def test_deep_in_the_tree(run: Run, go: Go, saver: Any, config: Any) -> None:
    plans = {"job": ["left", "right"], "left": ["a", "deep"], "deep": ["b", "second"]}
    work = Work(second_needs_hint)
    graph = work.solver(
        saver,
        decomposer=lambda task, depth: plans.get(task.brief.objective, []),
        policy={**QUIET, "max_concurrency": 1},
    )
    halt = run(graph, "job", config)["halt"]
    assert halt.child.child.child.task_id == "t.1.2.2_fix_1"
    result = go(graph, config, {"hint": "go on"})
    assert result["output"] == "a+b+second+right"
    done = [task.brief.objective for task in work.tasks]
    assert {name: done.count(name) for name in ("a", "b", "right")} == {"a": 1, "b": 1, "right": 1}


def test_a_task_above_the_one_that_halted_may_be_chosen(run: Run, go: Go, config: Any) -> None:
    work = Work(second_needs_hint)
    graph = work.solver(InMemorySaver(), policy=QUIET)
    run(graph, "job", config)
    result = go(graph, config, Intervention(decision="accept", answer="by hand"), task_id="t")
    assert (result["output"], result["verified"], result["waived_by"]) == ("by hand", False, "a person")


def test_a_waived_part_lets_the_rest_go_on(run: Run, go: Go, config: Any) -> None:
    work = Work(lambda task: task.brief.objective == "second")
    graph = work.solver(InMemorySaver(), policy=QUIET)
    run(graph, "job", config)
    result = go(graph, config, "accept")
    assert result["output"] == "first+bad second+third"
    assert result["waived_by"] is None  # of the root


def test_what_depends_on_the_task_runs_then(run: Run, go: Go, config: Any) -> None:
    parts = ["first", "second", SubTask("third", depends_on=[1])]
    work = Work(second_needs_hint)
    graph = work.solver(InMemorySaver(), policy=QUIET, parts=parts)
    run(graph, "job", config)
    assert "t.3" not in work.calls
    assert go(graph, config, {"hint": "go on"})["output"] == "first+second+third"
    assert [entry.text for entry in work.tasks[-1].inputs] == ["second"]


@pytest.mark.parametrize("limit", range(3, 9))
def test_a_spent_budget_is_raised_and_nothing_finished_is_done_again(
    run: Run, go: Go, saver: Any, config: Any, limit: int
) -> None:
    plans = {"job": ["left", "right"], "left": ["a", "b"], "right": ["c", "d"]}
    work = Work()
    graph = work.solver(
        saver,
        decomposer=lambda task, depth: plans.get(task.brief.objective, []),
        policy={**QUIET, "budget": Budget(max_llm_calls=limit)},
    )
    assert run(graph, "job", config)["halt"].type == "budget_exhausted"
    result = go(graph, config, {"limits": {"budget": {"max_llm_calls": 100}}})
    assert result["output"] == "a+b+c+d"
    done = [task.brief.objective for task in work.tasks]
    assert sorted(done) == ["a", "b", "c", "d"]
    assert attempt_of(result, "t").halt == "budget_exhausted"
    assert result["attempts"][-1].id == "t_fix_1"


def test_a_solver_with_another_policy_goes_on_too(run: Run, go: Go, config: Any) -> None:
    saver, work = InMemorySaver(), Work()
    run(work.solver(saver, policy={**QUIET, "budget": Budget(max_llm_calls=4)}), "job", config)
    assert go(work.solver(saver, policy=QUIET), config, "retry")["output"] == "+".join(PARTS)


def test_a_task_whose_time_was_up_goes_on(run: Run, go: Go, config: Any) -> None:
    work = Work()
    graph = work.solver(InMemorySaver(), policy={**QUIET, "max_task_seconds": 1e-9})
    assert run(graph, "alone", config)["halt"].type == "timed_out"
    assert go(graph, config, {"limits": {"max_task_seconds": None}})["output"] == "alone"


def test_a_stopped_task_goes_on(config: Any) -> None:
    work, saver = Work(), InMemorySaver()

    def stops_itself(task: Any) -> bool:
        stop_task(stopping, config, "t")
        return True

    stopping = work.solver(saver, policy=QUIET, prechecks=[stops_itself])
    assert stopping.invoke("alone", config)["halt"].type == "cancelled"
    assert continue_from_halt(work.solver(saver, policy=QUIET), config, "retry")["output"] == "alone"


def test_again_and_again(run: Run, go: Go, saver: Any, config: Any) -> None:
    work = Work(lambda task: task.brief.objective == "second" and len(task.hints) < 3)
    graph = work.solver(saver, policy=QUIET, parts=["first", "second"])
    run(graph, "job", config)
    for number in range(2):
        assert go(graph, config, {"hint": f"hint {number}"})["halt"].type == "child_failed"
    result = go(graph, config, {"hint": "hint 2"})
    assert result["output"] == "first+second"
    assert work.tasks[-1].hints == ["hint 0", "hint 1", "hint 2"]


def test_a_run_that_goes_on_may_be_interrupted_and_resumed(run: Run, go: Go, config: Any) -> None:
    def solve(task: Any) -> str:
        return str(interrupt("which?")) if task.hints else "bad"

    graph = Work().solver(InMemorySaver(), solver=solve, policy=QUIET)
    run(graph, "alone", config)
    assert go(graph, config, {"hint": "ask"})["__interrupt__"][0].value == "which?"
    assert run(graph, Command(resume="this"), config)["output"] == "this"


def test_raised_limits_hold_when_the_run_is_resumed(run: Run, go: Go, config: Any) -> None:
    def solve(task: Any) -> str:
        return str(interrupt("which?")) if task.attempt == 3 else "bad"

    graph = Work().solver(InMemorySaver(), solver=solve, policy={**QUIET, "max_attempts": 1, "stall_window": 0})
    run(graph, "alone", config)
    go(graph, config, {"limits": {"max_attempts": 4}})
    result = run(graph, Command(resume="bad again"), config)
    assert [attempt.id for attempt in result["attempts"]] == ["t", "t_fix_1", "t_fix_2", "t_fix_3"]


class TestRefusals:
    """Nothing runs, and the thread stays as it is."""

    def test_an_accepted_run(self, go: Go, run: Run, config: Any) -> None:
        graph = Work().solver(InMemorySaver(), policy=QUIET)
        run(graph, "alone", config)
        with pytest.raises(FinishedThreadError, match="has an accepted answer"):
            go(graph, config, "retry")

    def test_an_unknown_thread(self, go: Go, config: Any) -> None:
        with pytest.raises(UnknownThreadError, match="has no checkpoint"):
            go(Work().solver(InMemorySaver()), config, "retry")

    def test_no_thread(self, go: Go) -> None:
        with pytest.raises(MissingThreadError, match="continue_from_halt needs a checkpointer and a thread"):
            go(Work().solver(None), {}, "retry")

    def test_another_graph(self, go: Go, config: Any) -> None:
        graph = StateGraph(MessagesState).add_node("x", lambda state: {}).add_edge(START, "x").compile()
        with pytest.raises(InvalidInputError, match="what create_recursive_solver returned"):
            go(graph, config, "retry")

    def test_a_run_that_waits_for_a_decision(self, run: Run, go: Go, config: Any) -> None:
        graph = Work(lambda task: True).solver(InMemorySaver())
        run(graph, "alone", config)
        with pytest.raises(InvalidInputError, match=r"waits for what a person decides about t_fix_1.*Command"):
            go(graph, config, "accept")

    def test_a_run_that_has_not_ended(self, run: Run, go: Go, config: Any) -> None:
        graph = Work().solver(InMemorySaver(), solver=lambda task: interrupt("?"))
        run(graph, "alone", config)
        with pytest.raises(InvalidInputError, match=r"has not ended: resume it"):
            go(graph, config, "retry")

    @pytest.mark.parametrize(
        ("decision", "error", "why"),
        [
            ("stop", InvalidInputError, "the run has ended already"),
            ({"hints": "x"}, InvalidInputError, "intervention.hints"),
            (None, InvalidInputError, "an intervention is"),
            ({"limits": {"width": 3}}, InvalidPolicyError, "what can be raised is"),
            ({"limits": {"max_attempts": 1}}, InvalidInputError, "raises nothing"),
            ({"model": "strong"}, InvalidInputError, "no part of this solver works with a chat model"),
        ],
    )
    def test_a_decision_that_cannot_be_carried_out(
        self, run: Run, go: Go, config: Any, decision: Any, error: type[Exception], why: str
    ) -> None:
        graph = Work(lambda task: True).solver(InMemorySaver(), policy=QUIET)
        run(graph, "alone", config)
        before = graph.get_state(config).config
        with pytest.raises(error, match=why):
            go(graph, config, decision)
        assert graph.get_state(config).config == before

    @pytest.mark.parametrize("task_id", ["t.1", "t.9", "nonsense"])
    def test_a_task_that_did_not_halt(self, run: Run, go: Go, config: Any, task_id: str) -> None:
        graph = Work(lambda task: task.id == "t.2" or "_fix" in task.id).solver(InMemorySaver(), policy=QUIET)
        run(graph, "job", config)
        with pytest.raises(UnknownTaskError, match=rf"no task '{task_id}' has halted: those that did are t, t\.2"):
            go(graph, config, "retry", task_id=task_id)
