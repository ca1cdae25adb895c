"""The tree: the same from events, from checkpoints and from the result, as far as each knows."""

from __future__ import annotations

import asyncio
import io
import json
import re
from typing import Any, TypedDict

import pytest
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from rich.console import Console

from langgraph_recursive.graph import (
    SolveResult,
    TaskTree,
    create_recursive_solver,
    explain,
    path_of,
    rewind,
)
from langgraph_recursive.graph.history import last_run, records
from langgraph_recursive.graph.view.growing import GrowingTree
from langgraph_recursive.nodes import accept, llm_solver
from langgraph_recursive.state import (
    InvalidInputError,
    MissingThreadError,
    UnknownTaskError,
    UnknownThreadError,
)
from view_kit import CONFIG, HOSTILE, Seen, seen

SOURCES = ["events", "thread", "result", "async", "json"]


def tree_of(source: str, run: Seen) -> TaskTree:
    match source:
        case "events":
            return TaskTree.from_events(run.events)
        case "thread":
            return TaskTree.from_thread(run.graph, CONFIG)
        case "async":
            return asyncio.run(TaskTree.afrom_thread(run.graph, CONFIG))
        case "json":
            plain = {name: value for name, value in run.result.items() if name != "messages"}
            return TaskTree.from_result(json.loads(json.dumps(plain, default=lambda value: value.model_dump())))
    return TaskTree.from_result(run.result)


@pytest.mark.parametrize("source", SOURCES)
def test_tree_tells_tasks_attempts_and_why_they_were_retried(source: str, good: Seen) -> None:
    tree = tree_of(source, good)
    assert [(task.id, task.status, len(task.attempts)) for task in tree] == [
        ("t", "checked", 1),
        ("t.1", "checked", 1),
        ("t.2", "checked", 3),
    ]
    repaired = tree["t.2_fix_1"]
    assert [(attempt.id, attempt.outcome, attempt.next) for attempt in repaired.attempts] == [
        ("t.2", "failed", "t.2_fix_1"),
        ("t.2_fix_1", "failed", "t.2_fix_2"),
        ("t.2_fix_2", "passed", None),
    ]
    assert [why.partition(":")[0] for why in repaired.retried] == ["attempt 1", "attempt 2"]
    assert "wrong 1 times" in repaired.retried[0]
    assert "wrong 2 times" in repaired.retried[1]
    assert repaired.verdict == "passed"
    assert repaired.answer.startswith("answer 2") or repaired.attempts[-1].answer.startswith("answer 2")


@pytest.mark.parametrize("source", ["events", "thread"])
def test_tree_tells_what_tasks_took(source: str, good: Seen) -> None:
    tree = tree_of(source, good)
    assert sum(task.calls or 0 for task in tree) == good.result["usage"].calls
    assert all(task.tokens == 0 and task.duration is not None for task in tree)


@pytest.mark.parametrize("source", SOURCES)
def test_tree_tells_halts(source: str, bad: Seen) -> None:
    tree = tree_of(source, bad)
    assert [task.halt.type if task.halt else None for task in (tree["t"], tree["t.1"])] == [
        "child_failed",
        "recovery_stalled",
    ]
    assert [task.status for task in tree][:2] == ["halted", "halted"]
    if source in ("events", "thread", "async"):  # the traces say nothing of what never started
        assert tree["t.2"].status == "waiting"


def test_checkpoints_hold_the_evidence(good: Seen) -> None:
    first = TaskTree.from_thread(good.graph, CONFIG)["t.2"].attempts[0]
    assert "FAILED test_1" in first.failures[0].evidence[0].text
    assert first.answer.startswith("answer 0")


def test_result_of_the_front_is_read_too(good: Seen) -> None:
    fields = {name: good.result[name] for name in SolveResult.model_fields if name in good.result}
    assert [task.id for task in TaskTree.from_result(SolveResult(**fields))] == ["t", "t.1", "t.2"]


def test_a_run_that_is_under_way_shows_as_far_as_it_is(good: Seen) -> None:
    for end in range(len(good.events)):
        tree = TaskTree.from_events(good.events[:end])
        assert str(tree)
        assert tree.html()
        assert tree.mermaid()
        assert str(tree.svg())
    assert TaskTree.from_events(good.events[:1])["t"].status == "working"


def test_events_of_several_runs_are_kept_apart(good: Seen, bad: Seen) -> None:
    both = [*good.events, *bad.events]
    assert TaskTree.from_events(both)["t"].status == "halted"
    assert TaskTree.from_events(both, run_id=good.events[0]["run_id"])["t"].status == "checked"


def test_resume_goes_on_with_the_same_tree(good: Seen) -> None:
    half = len(good.events) // 2
    resumed = [*good.events[:half], *({**event, "run_id": "resumed"} for event in good.events[half:])]
    assert str(TaskTree.from_events(resumed)) == str(TaskTree.from_events(good.events))


def test_types_that_are_not_known_are_passed_over(good: Seen) -> None:
    unknown = {**good.events[0], "type": "from_a_later_version", "data": {}}
    assert len(TaskTree.from_events([*good.events, unknown])) == 3


def test_event_that_lacks_something_is_named(good: Seen) -> None:
    broken = {**good.events[0], "data": {}}
    with pytest.raises(InvalidInputError, match="event 1 is not as its type promises: objective: Field required"):
        TaskTree.from_events([broken])


@pytest.mark.parametrize("given", [None, {}, "text", {"traces": [{"type": "NONE"}]}, {"traces": [1]}])
def test_what_is_no_result_is_refused(given: Any) -> None:
    with pytest.raises(InvalidInputError, match="no result of a run"):
        TaskTree.from_result(given)


def test_result_of_an_older_version_shows_what_it_has(bad: Seen) -> None:
    old = {"success": False, "traces": [{"type": "SOLVED", "task_id": "t", "task": "old", "detail": "x"}]}
    assert str(TaskTree.from_result(old)).startswith("◌ t old")
    assert TaskTree.from_result({"attempts": bad.result["attempts"]})["t"].attempts


def test_unknown_ids_and_threads_are_refused(good: Seen) -> None:
    tree = TaskTree.from_events(good.events)
    with pytest.raises(UnknownTaskError, match=r"only t, t\.1, t\.2"):
        tree["t.7"]
    with pytest.raises(UnknownThreadError, match="thread 'other' has no task"):
        TaskTree.from_thread(good.graph, {"configurable": {"thread_id": "other"}})
    with pytest.raises(MissingThreadError):
        TaskTree.from_thread(good.graph, {})
    with pytest.raises(InvalidInputError, match="no checkpointer"):
        TaskTree.from_thread(create_recursive_solver(solver=str), CONFIG)


class _Outer(TypedDict, total=False):
    task: str
    state: dict[str, str]
    output: str


@pytest.mark.parametrize("source", ["events", "thread"])
def test_a_run_that_waits_for_a_person_says_what_it_asks(source: str) -> None:
    graph = create_recursive_solver(
        solver=lambda task: f"{interrupt(f'which? {HOSTILE}')}",
        decomposer=lambda task, depth: ["one", "two"] if depth == 0 else [],
        aggregator=lambda results: "+".join(results),
        checkpointer=InMemorySaver(),
    )
    run = Seen(graph, list(graph.stream("all", CONFIG, stream_mode="custom")), {})
    tree = tree_of(source, run)
    assert [(task.id, task.status, len(task.asks)) for task in tree] == [
        ("t", "split", 0),
        ("t.1", "asking", 1),
        ("t.2", "asking", 1),
    ]
    assert "? which? <script>" in str(tree)
    answers = {entry.id: "this" for entry in graph.get_state(CONFIG).interrupts}
    run.events += list(graph.stream(Command(resume=answers), CONFIG, stream_mode="custom"))
    assert [(task.status, task.asks) for task in tree_of(source, run)] == [("unchecked", [])] * 3


def test_a_resumed_run_goes_on_from_its_checkpoints() -> None:
    saver = InMemorySaver()
    graph = create_recursive_solver(solver=lambda task: f"{interrupt('which?')}", checkpointer=saver)
    graph.invoke("all", CONFIG)
    tree = GrowingTree()
    tree.load(last_run(records(saver.list(CONFIG))))
    assert tree.tasks["t"].status == "asking"
    for event in graph.stream(Command(resume="this"), CONFIG, stream_mode="custom"):
        tree.feed(event)
    [task] = tree.roots()
    assert (task.status, task.asks) == ("unchecked", [])
    assert task.duration is not None
    assert 0 <= task.duration < 3_600


def test_embedded_solver_is_found_in_its_host() -> None:
    inner = create_recursive_solver(solver=lambda task: "done", verifiers=[lambda task, result, attempt: accept("ok")])
    host = StateGraph(_Outer)
    host.add_node("inner", lambda state: {"output": inner.invoke({"task": state["task"]})["output"]})
    host.add_edge(START, "inner")
    host.add_edge("inner", END)
    graph = host.compile(checkpointer=InMemorySaver())
    graph.invoke({"task": "inside", "state": {"a": "host's own"}}, CONFIG)
    tree = TaskTree.from_thread(graph, CONFIG)
    assert [(task.objective, task.status) for task in tree] == [("inside", "checked")]


def test_what_a_replan_replaced_is_not_counted() -> None:
    plans = iter([["plain", "stalls"], ["plain c", "plain d"]])
    replanned = seen(plans, on_child_failure="replan")
    for source in ("events", "thread"):
        tree = tree_of(source, replanned)
        assert [(task.id, task.given_up) for task in tree if task.given_up] == [("t.2", True)]
        assert tree.summary().startswith("4 of 4 tasks done")
        assert "halted, plan given up" in str(tree)
    assert path_of(replanned.events).count("decompose") == 2


def test_a_rewind_takes_attempts_back() -> None:
    run = seen(iter([["repaired", "plain"]]))
    rewind(run.graph, CONFIG, "t.1_fix_1", "solve")
    run.events += list(run.graph.stream(None, CONFIG, stream_mode="custom"))
    for source in ("events", "thread"):
        told = [(attempt.id, attempt.rewound) for attempt in tree_of(source, run)["t.1"].attempts]
        assert told == [("t.1", False), ("t.1_fix_1", True), ("t.1_fix_2", True), ("t.1_fix_3", False)]
    assert "It was taken back; it does not count" in explain(tree_of("thread", run), "t.1")


@pytest.mark.parametrize("source", ["events", "thread"])
def test_a_persons_decision_after_a_halt_stands_with_the_attempt(source: str) -> None:
    run = seen(iter([["stalls", "plain"]]), interrupt_on_halt=True)
    assert tree_of("events", run)["t.1"].status == "asking"
    for answer in ({"decision": "retry", "hint": HOSTILE, "by": "ann"}, {"decision": "accept", "by": "bob"}):
        run.events += list(run.graph.stream(Command(resume=answer), CONFIG, stream_mode="custom"))
    tree = tree_of(source, run)
    second, third = tree["t.1"].attempts[1:]
    assert (second.halt, second.next) == ("recovery_stalled", "t.1_fix_2")
    assert second.decided.startswith("ann: retry, hint <script>")
    assert third.decided == "bob: accept"
    assert [(task.id, task.status) for task in tree] == [("t", "checked"), ("t.1", "unchecked"), ("t.2", "checked")]
    assert "decided by ann: retry" in str(tree)
    assert "decided by" in tree.html()
    assert path_of(run.events, "t.1")[-5:] == ["solve", "verify", "recovery", "intervene", "END"]


def test_tokens_are_told_per_task() -> None:
    usage = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
    model = FakeMessagesListChatModel(responses=[AIMessage("done", usage_metadata=usage)])
    graph = create_recursive_solver(solver=llm_solver(model), checkpointer=InMemorySaver())
    events = list(graph.stream("do it", CONFIG, stream_mode="custom"))
    for tree in (TaskTree.from_events(events), TaskTree.from_thread(graph, CONFIG)):
        assert tree["t"].tokens == 10
        assert "10 tokens" in str(tree)


def test_rich_prints_it_as_text(good: Seen) -> None:
    tree = TaskTree.from_events(good.events)
    out = io.StringIO()
    console = Console(width=400, file=out, force_terminal=True)
    console.print(tree)
    assert re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).split("\n")[:-1] == str(tree).split("\n")
    assert "\x1b[32m✓\x1b[0m" in out.getvalue()


def test_text_shows_the_tree(good: Seen) -> None:
    lines = str(TaskTree.from_thread(good.graph, CONFIG)).split("\n")
    assert [line[:6] for line in lines if "─" in line] == ["├─ ✓ t", "└─ ✓ t"]
    assert "      attempt 2 t.2_fix_1: failed" in lines
    assert lines[-1] == f"3 of 3 tasks done · {good.result['usage'].calls} calls · 2 fixes"
    assert not any(char in "".join(lines) for char in ("\x1b", "\u202e"))
    assert HOSTILE.split()[0] in lines[0]
