"""The event stream: every type is told, holds what it promises, and is small flat JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, get_args, get_type_hints

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from langgraph_recursive.graph import (
    Budget,
    SimpleRecursiveAgent,
    SolvePolicy,
    TaskTree,
    create_recursive_solver,
    rewind,
)
from langgraph_recursive.graph.view.promised import checked
from langgraph_recursive.nodes import accept, reject
from langgraph_recursive.state import SubTask, Verdict, bounded
from langgraph_recursive.state.event import EVENT_DATA, EventType
from scripted import ScriptedChatModel
from validation_kit import deciding

Stream = Callable[..., list[dict[str, Any]]]
_AGENTS = {kind for kind in get_args(EventType) if kind.startswith(("goal_", "iteration")) and kind != "goal_changed"}
CONFIG: Any = {"configurable": {"thread_id": "1"}}
LONG = "x" * 5_000


def plan(task: Any, depth: int) -> list[Any]:
    return ["one", "two", SubTask("three", depends_on=[0, 1])] if depth == 0 else []


def judged(task: Any, result: str, attempt: int) -> Verdict:
    if task.brief.objective == "three" and attempt == 1:
        return reject(f"wrong\n{LONG}", evidence=[bounded(f"first line\n{LONG}\nlast line", label="stdout")])
    return accept("fine")


def family(**parts: Any) -> Any:
    given = {"solver": lambda task: "an answer", "decomposer": plan, "aggregator": lambda results: "+".join(results)}
    return create_recursive_solver(**{**given, "verifiers": [judged], "checkpointer": InMemorySaver(), **parts})


def run_family(stream: Stream) -> Iterator[dict[str, Any]]:
    yield from stream(family(policy=SolvePolicy(max_concurrency=1)), "all", CONFIG, stream_mode="custom")


def run_rewound(stream: Stream) -> Iterator[dict[str, Any]]:
    graph = family()
    yield from stream(graph, "all", CONFIG, stream_mode="custom")
    rewind(graph, CONFIG, "t.1", "solve")
    yield from stream(graph, None, CONFIG, stream_mode="custom")


def run_stalled(stream: Stream) -> Iterator[dict[str, Any]]:
    graph = create_recursive_solver(solver=str, verifiers=[lambda: reject("no")], checkpointer=InMemorySaver())
    yield from stream(graph, "all", CONFIG, stream_mode="custom")


def run_broke(stream: Stream) -> Iterator[dict[str, Any]]:
    policy = SolvePolicy(budget=Budget(max_llm_calls=6, max_cost=1, max_tokens=9, max_seconds=60, max_tasks=9))
    yield from stream(family(policy=policy), "all", CONFIG, stream_mode="custom")


def run_asking(stream: Stream) -> Iterator[dict[str, Any]]:
    def ask(task: Any) -> str:
        return f"{interrupt({'question': LONG})}!"

    graph = create_recursive_solver(solver=ask, checkpointer=InMemorySaver())
    yield from stream(graph, "all", CONFIG, stream_mode="custom")
    yield from stream(graph, Command(resume="yes"), CONFIG, stream_mode="custom")


def run_validated(stream: Stream) -> Iterator[dict[str, Any]]:
    graph = create_recursive_solver(solver=str, validator_model=ScriptedChatModel(answers=deciding()))
    yield from stream(graph, "all", stream_mode="custom")


def run_decided(stream: Stream) -> Iterator[dict[str, Any]]:
    policy = SolvePolicy(interrupt_on_halt=True)
    graph = family(verifiers=[lambda: reject("no")], decomposer=None, policy=policy)
    yield from stream(graph, "all", CONFIG, stream_mode="custom")
    answer = {"decision": "accept", "by": "ann", "reason": "good enough"}
    yield from stream(graph, Command(resume=answer), CONFIG, stream_mode="custom")


def run_agents(stream: Stream) -> Iterator[dict[str, Any]]:
    for answers, options in (
        (["42", "DONE"], {}),
        (["FAIL"], {}),
        (["a", "b"], {"max_iterations": 1}),
        (["a"], {"timeout": 1e-9}),
    ):
        agent = SimpleRecursiveAgent(ScriptedChatModel(answers=answers), **options)
        yield from stream(agent, {"goal": "all"}, stream_mode="custom")


RUNS = (run_family, run_rewound, run_stalled, run_broke, run_asking, run_validated, run_decided, run_agents)


@pytest.fixture
def told(stream: Stream) -> list[dict[str, Any]]:
    return [event for run in RUNS for event in run(stream)]


def test_every_type_is_told_and_documented(told: list[dict[str, Any]]) -> None:
    assert set(EVENT_DATA) == set(get_args(EventType))
    assert {event["type"] for event in told} == set(EVENT_DATA)


def test_each_event_holds_its_fields_and_no_others(told: list[dict[str, Any]]) -> None:
    checked(told)
    for event in told:
        assert set(event["data"]) <= set(get_type_hints(EVENT_DATA[event["type"]])), event
        text = json.dumps(event, allow_nan=False)
        assert json.loads(text) == event
        assert len(text) < 4_000


def test_what_takes_time_tells_it_and_what_spends_tells_that(told: list[dict[str, Any]]) -> None:
    timed = {"decomposed", "call_finished", "solved", "aggregated", "verified", "reviewed", "accepted", "halted"}
    for event in told:
        assert (event["duration_ms"] is not None) == (event["type"] in timed or event["type"] in _AGENTS), event
        assert (event["usage"] is not None) == (event["type"] in timed), event


def of(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["type"] == kind]


def test_children_are_told_of_as_they_are_planned(stream: Stream) -> None:
    created = of(list(run_family(stream)), "task_created")
    assert [(event["task_id"], event["parent_id"], event["depth"], event["attempt"]) for event in created] == [
        ("t.1", "t", 1, 1),
        ("t.2", "t", 1, 1),
        ("t.3", "t", 1, 1),
    ]
    assert created[2]["data"] == {"objective": "three", "depends_on": ["t.1", "t.2"]}


def test_a_call_is_told_when_it_waits_when_it_starts_and_when_it_has_ended(stream: Stream) -> None:
    events = list(run_family(stream))
    started = [event["data"]["id"] for event in of(events, "call_started")]
    assert started == list(dict.fromkeys(started))
    assert sorted(started) == sorted(event["data"]["id"] for event in of(events, "call_finished"))
    assert {event["data"]["id"] for event in of(events, "call_queued")} <= set(started)
    at_work = 0
    for event in events:
        at_work += {"call_started": 1, "call_finished": -1}.get(event["type"], 0)
        assert at_work <= 1  # max_concurrency


def test_a_call_that_asks_a_person_counts_when_it_is_made_again(stream: Stream) -> None:
    events = list(run_asking(stream))
    assert [event["data"]["asks"] for event in of(events, "call_finished")] == [True, False]
    [task] = TaskTree.from_events(events)
    assert task.calls == 1


def test_a_failed_try_tells_its_error(stream: Stream) -> None:
    def fails(task: Any) -> str:
        raise ValueError("no luck")

    events = stream(create_recursive_solver(solver=fails), "all", stream_mode="custom")
    assert [event["data"]["error"] for event in of(events, "call_finished")] == ["ValueError"]


def test_a_verdict_tells_enough_to_see_why(stream: Stream) -> None:
    failed = next(event for event in of(list(run_family(stream)), "verified") if event["data"]["outcome"] == "failed")
    [failure] = failed["data"]["failures"]
    assert failure["justification"].startswith("wrong")
    assert (failure["validator_id"], failure["attempt"], failure["task_id"]) == ("judged", 1, "t.3")
    assert failure["evidence"][0]["label"] == "stdout"
    assert failure["evidence"][0]["size"] > 5_000


def test_each_call_tells_what_is_spent_of_the_budget(stream: Stream) -> None:
    events = list(run_broke(stream))
    spent = [event["data"]["budget"]["max_llm_calls"] for event in of(events, "call_finished")]
    assert [used for used, _ in spent] == sorted(used for used, _ in spent)
    assert {limit for _, limit in spent} == {6}
    [out] = of(events, "budget_spent")
    assert out["data"]["limit"] == "max_llm_calls"
    assert out["data"]["detail"].startswith("max_llm_calls = 6")
    assert set(out["data"]["budget"]) == {"max_llm_calls", "max_tokens", "max_cost", "max_tasks", "max_seconds"}
    assert all(event["data"]["budget"] == {} for event in of(list(run_stalled(stream)), "call_finished"))


def test_a_question_tells_the_id_that_answers_it(stream: Stream) -> None:
    graph = create_recursive_solver(solver=lambda task: interrupt("which?"), checkpointer=InMemorySaver())
    [asked] = of(stream(graph, "all", CONFIG, stream_mode="custom"), "interrupted")
    assert asked["data"] == {"id": graph.get_state(CONFIG).interrupts[0].id, "value": "which?"}


def test_a_stall_names_the_attempt_that_it_repeats(stream: Stream) -> None:
    [stalled] = of(list(run_stalled(stream)), "stalled")
    assert (stalled["task_id"], stalled["data"]) == ("t_fix_1", {"repeats": "t"})


def test_the_end_tells_what_the_task_spent_itself(stream: Stream) -> None:
    events = list(run_family(stream))
    ends = {event["task_id"]: event["usage"]["calls"] for event in of(events, "accepted")}
    calls = [event["task_id"].partition("_fix")[0] for event in of(events, "call_finished")]
    assert {name.partition("_fix")[0]: number for name, number in ends.items()} == {
        name: calls.count(name) for name in set(calls)
    }
