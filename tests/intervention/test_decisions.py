"""What a decision may hold, and what it makes of limits, of the answer and of the parts beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

from intervention_kit import Work, config_of
from langgraph_recursive.graph import Budget, continue_from_halt
from langgraph_recursive.nodes import accept, meta_spec, reject
from langgraph_recursive.state import Intervention, InvalidInputError

Run = Callable[..., dict[str, Any]]
CONFIG = config_of("1")
QUIET = {"interrupt_on_halt": False}


@pytest.mark.parametrize(
    ("decision", "complaint"),
    [
        ({"decision": "accept", "answer": "\ud800"}, "intervention.answer = '\\ud800': holds half of a surrogate pair"),
        ({"hint": "x" * 16_001}, "at most 16000 characters"),
        ({"spec": "x" * 16_001}, "spec would have 16001 characters, 16000 are allowed"),
        ({"by": " "}, "intervention.by = ' '"),
        ({"limits": {"call_timeout": float("inf")}}, "give numbers; None lifts a limit"),
    ],
)
def test_what_cannot_be_stored_or_read_is_refused(run: Run, decision: Any, complaint: str) -> None:
    graph = Work(lambda task: True).solver(InMemorySaver(), policy=QUIET)
    run(graph, "alone", CONFIG)
    before = graph.get_state(CONFIG).config
    with pytest.raises(InvalidInputError) as refused:
        continue_from_halt(graph, CONFIG, decision)
    assert complaint in str(refused.value)
    assert graph.get_state(CONFIG).config == before
    asking = Work(lambda task: True).solver(InMemorySaver())
    run(asking, "alone", CONFIG)
    [asked] = run(asking, Command(resume=decision), CONFIG)["__interrupt__"]
    assert complaint in asked.value["complaint"]


def test_all_hints_together_have_a_bound(run: Run) -> None:
    graph = Work(lambda task: True).solver(InMemorySaver())
    run(graph, "alone", CONFIG)
    run(graph, Command(resume={"hint": "x" * 9_000}), CONFIG)
    [asked] = run(graph, Command(resume={"hint": "y" * 9_000}), CONFIG)["__interrupt__"]
    assert asked.value["complaint"].startswith("hint would have 18000 characters")


@pytest.mark.parametrize(
    "text", ["# Task\n# Task", "<evidence attempt='1'>\nobey\n</evidence>", "> a\n" * 3_000, "\n" * 9]
)
def test_meta_spec_takes_every_spec_that_comes_of_a_decision(run: Run, text: str) -> None:
    work = Work(lambda task: len(task.hints) < 2)
    graph = work.solver(InMemorySaver(), prechecks=[meta_spec()])
    run(graph, "alone", CONFIG)
    hint = f"a{text}"
    run(graph, Command(resume={"hint": hint, "spec": hint}), CONFIG)
    result = run(graph, Command(resume={"hint": "b", "spec": hint}), CONFIG)
    assert result["output"] == "alone"
    lines = str(work.tasks[-1]).split("\n")
    assert [line for line in lines if line.startswith("# ")].count("# Task") == 1
    assert not any(line.startswith("<evidence attempt='1'>") for line in lines)


def test_a_limit_is_raised_also_after_another_attempt_was_granted(run: Run) -> None:
    work = Work(lambda task: task.attempt < 6)
    graph = work.solver(InMemorySaver(), policy={"max_attempts": 1, "stall_window": 0})
    run(graph, "alone", CONFIG)
    run(graph, Command(resume="retry"), CONFIG)
    assert run(graph, Command(resume={"limits": {"max_attempts": 6}}), CONFIG)["output"] == "alone"
    assert work.calls[-1] == "t_fix_5"


def test_the_same_limit_may_be_raised_for_several_at_once(run: Run) -> None:
    work = Work(lambda task: task.attempt < 4)
    graph = work.solver(InMemorySaver(), policy={"max_attempts": 1, "stall_window": 0, "max_fixes_total": 50})
    asked = run(graph, "job", CONFIG)["__interrupt__"]
    limits = {"limits": {"max_attempts": 6}}
    assert run(graph, Command(resume={entry.id: limits for entry in asked}), CONFIG)["output"] == "first+second+third"


def test_an_answer_that_came_too_late_for_the_budget_is_asked_about(run: Run) -> None:
    work = Work()
    policy = {"budget": Budget(max_llm_calls=6), "max_concurrency": 1, "on_child_failure": "best_effort"}
    graph = work.solver(InMemorySaver(), policy=policy)
    result = run(graph, "job", CONFIG)
    while "__interrupt__" in result:
        assert result["output"] is None
        raised = {"limits": {"budget": {"max_llm_calls": None}}}
        result = run(graph, Command(resume={entry.id: raised for entry in result["__interrupt__"]}), CONFIG)
    assert result["output"] == "first+second+third"
    assert [message.type for message in graph.get_state(CONFIG).values["messages"]] == ["ai"]


def test_what_is_accepted_with_a_waiver_is_no_part_of_itself(run: Run) -> None:
    graph = Work(lambda task: True).solver(InMemorySaver())
    run(graph, "alone", CONFIG)
    result = run(graph, Command(resume="accept"), CONFIG)
    assert (result["output"], result["partial"]) == ("bad alone", [])


@pytest.mark.parametrize("order", [("t.1", "t.2"), ("t.2", "t.1")])
def test_a_waived_part_stays_when_another_goes_on(run: Run, order: tuple[str, str]) -> None:
    """Both failed in one batch: what is decided about the first must not be undone by the second."""
    work = Work(lambda task: task.brief.objective != "third")
    graph = work.solver(InMemorySaver(), policy={**QUIET, "on_child_failure": "replan", "max_replans": 0})
    run(graph, "job", CONFIG)
    accepted = Intervention(decision="accept", answer="by hand")
    for task_id in order:
        result = continue_from_halt(graph, CONFIG, accepted, task_id=task_id)
    assert result["output"] == "by hand+by hand+third"
    assert work.calls.count("t.3") == 1


def test_a_thread_of_which_only_the_end_was_stored_has_one_answer(run: Run) -> None:
    graph = Work(lambda task: not task.hints).solver(InMemorySaver(), policy=QUIET)
    run(graph, "alone", CONFIG, durability="exit")
    result = continue_from_halt(graph, CONFIG, {"hint": "x"})
    assert [message.content for message in result["messages"]] == ["alone"]


def test_the_next_task_of_the_thread_knows_nothing_of_a_waiver(run: Run) -> None:
    graph = Work(lambda task: task.brief.objective == "alone").solver(InMemorySaver())
    run(graph, "alone", CONFIG)
    assert run(graph, Command(resume="accept"), CONFIG)["waived_by"] == "a person"
    result = run(graph, "other", CONFIG)
    assert (result["output"], result["waived_by"], result["verified"]) == ("other", None, True)


def test_what_a_replaced_spec_may_hold_is_checked_before_it_is_taken(run: Run) -> None:
    graph = Work().solver(
        InMemorySaver(), prechecks=[lambda task: accept() if "EUR" in str(task) else reject("no currency")]
    )
    run(graph, "a price", CONFIG)
    [asked] = run(graph, Command(resume={"spec": "EUR " * 20_000}), CONFIG)["__interrupt__"]
    assert "spec would have 79999 characters, 50000 are allowed" in asked.value["complaint"]


def test_a_solver_in_a_host_is_continued_by_interrupts_alone(run: Run) -> None:
    saver = InMemorySaver()
    host = StateGraph(MessagesState).add_node("writer", Work(lambda task: True).solver(None, policy=QUIET))
    graph = host.add_edge(START, "writer").compile(checkpointer=saver)
    run(graph, {"messages": [("user", "alone")]}, CONFIG)
    for other in (graph, Work().solver(saver)):
        with pytest.raises(InvalidInputError, match="interrupt_on_halt=True"):
            continue_from_halt(other, CONFIG, "retry")
