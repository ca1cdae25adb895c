"""In words: why a task was retried or halted, and how two attempts differ."""

from __future__ import annotations

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_recursive.graph import (
    SolvePolicy,
    TaskTree,
    continue_from_halt,
    create_recursive_solver,
    diff,
    explain,
)
from langgraph_recursive.nodes import accept, reject
from langgraph_recursive.state import UnknownTaskError
from view_kit import CONFIG, Seen


def test_retries_are_explained_from_their_evidence(good: Seen) -> None:
    told = explain(TaskTree.from_thread(good.graph, CONFIG), "t.2_fix_1")
    assert "has an accepted answer at attempt 3." in told
    assert "Attempt 1 (t.2): its answer was rejected. 1 check did not pass:\n  - _verify: wrong 1 times\n" in told
    assert "      FAILED test_1\n" in told
    assert "So it was tried again, as t.2_fix_2, from the original task with this as evidence." in told
    assert "the same failures" not in told
    assert "\x1b" not in told
    assert "\u202e" not in told


def test_stall_is_explained(bad: Seen) -> None:
    told = explain(TaskTree.from_thread(bad.graph, CONFIG), "t.1")
    assert "has no accepted answer after 2 attempts." in told
    assert "These are the same failures as those of attempt 1." in told
    assert "It stopped because repair did not converge" in told
    assert told.endswith("recovery_stalled: attempt 2 failed exactly as attempt 1 did")


def test_halt_of_a_child_is_told_with_it(bad: Seen) -> None:
    told = explain(bad.result)
    assert "a sub-task that it needs has no accepted answer" in told
    assert "Behind it is t.1_fix_1:\nIt stopped because repair did not converge" in told


def test_task_that_never_started_says_so(bad: Seen) -> None:
    assert "was not started." in explain(TaskTree.from_events(bad.events), "t.2")


def test_words_that_were_cut_short_prove_no_repeat(bad: Seen) -> None:
    older = [event for event in bad.events if event["type"] != "stalled"]
    assert "the same failures" not in explain(TaskTree.from_events(older), "t.1")


def test_events_tell_of_the_repeat_that_the_run_saw(bad: Seen) -> None:
    told = explain(TaskTree.from_events(bad.events), "t.1")
    assert "These are the same failures as those of t.1." in told
    assert "  - _verify: always the same\n" in told


def test_events_hold_the_beginning_of_the_evidence(good: Seen) -> None:
    told = explain(TaskTree.from_events(good.events), "t.2")
    assert "      FAILED test_1\n" in told


@pytest.mark.parametrize(
    ("solver", "halt", "words"),
    [
        (lambda task: 1 / 0, "task_failed", "The error was a ZeroDivisionError."),
        (lambda task: f"try {task.attempt}", "recovery_exhausted", "It stopped because it had no attempt left."),
    ],
)
def test_each_halt_has_its_words(solver: object, halt: str, words: str) -> None:
    graph = create_recursive_solver(
        solver=solver,
        verifiers=[lambda task, result, attempt: reject(f"{result} is wrong")],
        policy=SolvePolicy(max_attempts=2),
    )
    result = graph.invoke("do it")
    assert result["halt"].type == halt
    assert words in explain(result)


def test_answer_at_the_first_attempt_and_unchecked_answer() -> None:
    checked = create_recursive_solver(solver=str, verifiers=[lambda task, result, attempt: accept("ok")])
    assert explain(checked.invoke("do it")) == "Task t (do it) has an accepted answer at the first attempt."
    assert "which nothing real has checked" in explain(create_recursive_solver(solver=str).invoke("do it"))


def test_two_attempts_stand_side_by_side(good: Seen) -> None:
    told = diff(TaskTree.from_thread(good.graph, CONFIG), "t.2", "t.2_fix_2")
    lines = told.split("\n")
    assert [part.strip() for part in lines[0].split("│")] == ["t.2", "t.2_fix_2"]
    assert [part.strip() for part in lines[3].split("│")] == ["failed", "passed"]
    assert "answer 0" in told
    assert "answer 2" in told
    assert lines[-1] == "gone: _verify: wrong 1 times"
    assert "\x1b" not in told


def test_failures_that_stay_are_told(bad: Seen) -> None:
    assert diff(TaskTree.from_thread(bad.graph, CONFIG), "t.1", "t.1_fix_1").endswith(
        "still there: _verify: always the same"
    )


def test_attempts_without_failures(good: Seen) -> None:
    assert diff(good.result, "t", "t.1").endswith("neither failed a check")


def test_unknown_attempt_is_refused(good: Seen) -> None:
    with pytest.raises(UnknownTaskError, match=r"those of this task are: t\.1"):
        diff(good.result, "t.1", "t.1_fix_4")
    with pytest.raises(UnknownTaskError):
        explain(good.result, "u")


def test_a_decision_of_a_person_is_told() -> None:
    solver = create_recursive_solver(
        solver=lambda task: "good" if task.hints else "bad",
        verifiers=[lambda task, result: accept() if result == "good" else reject("it is bad")],
        checkpointer=InMemorySaver(),
    )
    solver.invoke("the work", CONFIG)
    continue_from_halt(solver, CONFIG, {"hint": "try <b>harder</b>", "by": "ann\x1b[31m"})
    told = explain(TaskTree.from_thread(solver, CONFIG), "t")
    assert "A person decided what becomes of it (ann\\x1b[31m: retry, hint try <b>harder</b>)." in told
    assert "So it was tried again, as t_fix_2" in told
