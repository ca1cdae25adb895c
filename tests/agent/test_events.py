"""Events reach their handlers in order, beside the run, and never change it."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from typing import Any

import pytest

from agent_kit import Solve
from langgraph_recursive.graph import (
    AgentEvent,
    GoalAchievedEvent,
    GoalExhaustedEvent,
    GoalFailedEvent,
    GoalSubmittedEvent,
    IterationCompletedEvent,
    SimpleRecursiveAgent,
    TimeoutEvent,
)
from langgraph_recursive.state.errors import ComponentError, InvalidInputError
from scripted import ScriptedChatModel


def agent(*answers: Any, latency: float = 0.0, **options: Any) -> SimpleRecursiveAgent:
    return SimpleRecursiveAgent(ScriptedChatModel(answers=list(answers), latency=latency, repeat=True), **options)


@pytest.mark.parametrize(
    ("working", "last"),
    [
        (agent("42", "DONE"), GoalAchievedEvent),
        (agent("42", "FAIL"), GoalFailedEvent),
        (agent("42", max_iterations=2), GoalExhaustedEvent),
    ],
    ids=["achieved", "failed", "exhausted"],
)
def test_a_run_tells_its_story_in_order(solve: Solve, working: SimpleRecursiveAgent, last: type[AgentEvent]) -> None:
    seen: list[AgentEvent] = []
    result = solve(working, "goal", subscribe={AgentEvent: seen.append})
    assert [type(event) for event in seen] == [
        GoalSubmittedEvent,
        IterationCompletedEvent,
        IterationCompletedEvent,
        last,
    ]
    assert [event.iteration for event in seen] == [0, 1, 2, 2]
    assert {event.goal for event in seen} == {"goal"}
    assert len({event.run_id for event in seen}) == 1
    assert [event.time for event in seen] == sorted(event.time for event in seen)
    assert (seen[-1].solution, seen[-1].reason) == (result.solution, result.reason)
    assert isinstance(seen[1], IterationCompletedEvent)
    assert seen[1].response == "42"


def test_a_time_out_is_told(solve: Solve) -> None:
    seen: list[AgentEvent] = []
    solve(agent("42", latency=0.5, timeout=0.1), "goal", subscribe={TimeoutEvent: seen.append})
    assert [event.state.status for event in seen] == ["timed_out"]


def test_handlers_may_be_sync_or_async_and_several(solve: Solve) -> None:
    seen: list[str] = []

    async def later(event: GoalAchievedEvent) -> None:
        await asyncio.sleep(0.01)
        seen.append(f"async {event.solution}")

    solve(agent("42", "DONE"), "g", subscribe={GoalAchievedEvent: [later, lambda event: seen.append(event.solution)]})
    assert seen == ["async 42", "42"]


def test_a_slow_handler_holds_up_no_iteration_and_solve_waits_for_it(solve: Solve) -> None:
    seen: list[float] = []

    def slow(event: IterationCompletedEvent) -> None:
        time.sleep(0.3)
        seen.append(event.time)

    started = time.monotonic()
    result = solve(agent("42", "43", "DONE", timeout=0.5), "goal", subscribe={IterationCompletedEvent: slow})
    assert result.success
    assert len(seen) == 3
    assert time.monotonic() - started >= 0.9
    assert seen[-1] - seen[0] < 0.3


def test_a_handler_that_raises_is_reported_and_changes_nothing(solve: Solve, caplog: pytest.LogCaptureFixture) -> None:
    seen: list[AgentEvent] = []

    def broken(event: AgentEvent) -> None:
        raise RuntimeError("no bell to ring")

    with caplog.at_level(logging.ERROR):
        result = solve(agent("42", "DONE"), "goal", subscribe={GoalAchievedEvent: [broken, seen.append]})
    assert result.success
    assert len(seen) == 1
    assert "GoalAchievedEvent" in caplog.text
    assert "no bell to ring" in caplog.text


def test_a_subscription_lasts_until_it_is_ended(solve: Solve) -> None:
    seen: list[AgentEvent] = []
    working = agent("42", "DONE")
    end = working.subscribe(GoalAchievedEvent, seen.append)
    solve(working, "goal")
    solve(working, "goal")
    assert len(seen) == 2
    end()
    end()
    solve(working, "goal")
    assert len(seen) == 2
    working.subscribe(GoalAchievedEvent, seen.append)
    working.unsubscribe(GoalAchievedEvent, seen.append)
    solve(working, "goal")
    assert len(seen) == 2


def test_what_a_run_subscribes_ends_with_it(solve: Solve) -> None:
    seen: list[AgentEvent] = []
    working = agent("42", "DONE")
    solve(working, "goal", subscribe={GoalAchievedEvent: seen.append})
    solve(working, "goal")
    assert len(seen) == 1


def test_runs_at_once_keep_their_events_apart() -> None:
    working = agent("42", latency=0.02, max_iterations=2)
    seen: dict[str, list[str]] = {"a": [], "b": []}

    def run(goal: str) -> None:
        working.solve(goal, subscribe={AgentEvent: lambda event: seen[goal].append(event.goal)})

    threads = [threading.Thread(target=run, args=(goal,)) for goal in seen]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {"a": ["a"] * 4, "b": ["b"] * 4}


def test_with_config_shares_the_subscriptions(solve: Solve) -> None:
    seen: list[AgentEvent] = []
    working = agent("42", "DONE")
    working.subscribe(GoalAchievedEvent, seen.append)
    solve(working.with_config(tags=["x"]), "goal")
    assert len(seen) == 1


async def test_a_cancelled_run_does_not_wait_for_its_handlers() -> None:
    started = asyncio.Event()

    async def endless(event: AgentEvent) -> None:
        started.set()
        await asyncio.sleep(60)

    running = asyncio.create_task(agent("42", latency=60).asolve("goal", subscribe={GoalSubmittedEvent: endless}))
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(running, 5)


def test_events_are_streamed_as_flat_data() -> None:
    events = list(agent("42", "DONE").stream("goal", stream_mode="custom"))
    assert [event["type"] for event in events] == [
        "goal_submitted",
        "iteration_completed",
        "iteration_completed",
        "goal_achieved",
    ]
    assert events[-1]["data"]["solution"] == "42"


async def test_callbacks_and_astream_events_get_them_too() -> None:
    events = [event async for event in agent("42", "DONE").astream_events("goal", version="v2")]
    custom = [event["name"] for event in events if event["event"] == "on_custom_event"]
    assert custom == ["goal_submitted", "iteration_completed", "iteration_completed", "goal_achieved"]


@pytest.mark.parametrize("event_type", ["GoalAchievedEvent", str, None, AgentEvent(run_id="", time=0)])
def test_an_unknown_event_type_is_refused(event_type: Any) -> None:
    working = agent("42", "DONE")
    with pytest.raises(InvalidInputError) as caught:
        working.subscribe(event_type, print)
    assert caught.value.field == "event_type"
    with pytest.raises(InvalidInputError):
        working.unsubscribe(event_type, print)


@pytest.mark.parametrize("handler", [None, "print", lambda: None, lambda one, two: None])
def test_a_handler_of_the_wrong_shape_is_refused_before_the_run(handler: Any) -> None:
    model = ScriptedChatModel(answers=["42", "DONE"])
    working = SimpleRecursiveAgent(model)
    for subscribe in (
        lambda: working.subscribe(GoalAchievedEvent, handler),
        lambda: working.solve("goal", subscribe={GoalAchievedEvent: [handler]}),
    ):
        with pytest.raises(ComponentError) as caught:
            subscribe()
        assert caught.value.field == "handler"
    assert model.calls == []


def test_subscriptions_that_are_no_mapping_are_refused() -> None:
    with pytest.raises(InvalidInputError) as caught:
        agent("42").solve("goal", subscribe=[print])  # type: ignore[arg-type]  # wrong on purpose
    assert caught.value.field == "subscribe"
