"""A run that asks a person: its questions and its state are read, and it is resumed, by value or by interrupt id."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph_sdk.client import LangGraphClient

from dev_server import DevServer
from served import called


async def test_resumed_by_value(client: LangGraphClient, thread: str, server: DevServer) -> None:
    asked: Any = await client.runs.wait(thread, "solver", input={"task": "ask a and b"})
    assert [entry["value"] for entry in asked["__interrupt__"]] == [{"about": "a"}]
    assert (await client.threads.get(thread))["status"] == "interrupted"
    result: Any = await client.runs.wait(thread, "solver", command={"resume": "yes"})
    assert (result["output"], result["usage"]["tasks"]) == ("a: yes; b!", 3)
    assert called(server, thread) == ["t.1", "t.1", "t.2"]  # what was finished is not called again


async def test_resumed_by_interrupt_id_one_after_the_other(client: LangGraphClient, thread: str) -> None:
    stream = client.runs.stream(
        thread,
        "solver",
        input={"task": "ask a and ask b"},
        stream_mode=["custom", "updates", "values"],
        stream_subgraphs=True,
    )
    chunks: list[Any] = [chunk async for chunk in stream]
    updates = [chunk.data for chunk in chunks if chunk.event == "updates"]
    told = {entry["id"] for update in updates for entry in update.get("__interrupt__", ())}
    state = await client.threads.get_state(thread)  # the thread's own status is not right after a stream with subgraphs
    asked = {entry["value"]["about"]: entry["id"] for entry in state["interrupts"]}
    assert told == set(asked.values())
    assert list(asked) == ["a", "b"]
    assert state["next"] == ["subtasks"]

    left: Any = await client.runs.wait(thread, "solver", command={"resume": {asked["b"]: "B"}})
    assert [entry["id"] for entry in left["__interrupt__"]] == [asked["a"]]
    result: Any = await client.runs.wait(thread, "solver", command={"resume": {asked["a"]: "A"}})
    assert result["output"] == "a: A; b: B"


async def test_state_and_history_are_read(client: LangGraphClient, thread: str) -> None:
    await client.runs.wait(thread, "solver", input={"task": "ask a and b"})
    await client.runs.wait(thread, "solver", command={"resume": "yes"})
    state = await client.threads.get_state(thread)
    values: Any = state["values"]
    assert (values["output"], values["success"], state["next"]) == ("a: yes; b!", True, [])
    assert values["attempts"][0]["outcome"] == values["verdict"]["outcome"] == "passed"

    history = await client.threads.get_history(thread, limit=100)
    assert history[0]["checkpoint"] == state["checkpoint"]
    steps = [step for entry in reversed(history) for step in entry["next"]]
    assert steps == ["__start__", "admit", "decompose", "subtasks", "review", "aggregate", "verify"]
    asking = next(entry for entry in history if entry["next"] == ["subtasks"])
    then = await client.threads.get_state(thread, checkpoint=asking["checkpoint"])
    assert then["values"] == asking["values"]


async def test_what_has_ended_cannot_be_resumed(client: LangGraphClient, thread: str) -> None:
    await client.runs.wait(thread, "solver", input={"task": "a"})
    with pytest.raises(Exception, match=r"FinishedThreadError: the last run of thread '.*' has ended: give it a new"):
        await client.runs.wait(thread, "solver", command={"resume": "yes"})


async def test_a_person_decides_after_a_halt(client: LangGraphClient, thread: str) -> None:
    asked: Any = await client.runs.wait(thread, "watched", input={"task": "fail a and b"})
    question = asked["__interrupt__"][0]["value"]
    assert (question["type"], question["halt"]["type"]) == ("halt", "recovery_stalled")
    asked = await client.runs.wait(thread, "watched", command={"resume": {"decision": "shrug"}})
    assert "decision" in asked["__interrupt__"][0]["value"]["complaint"]
    result: Any = await client.runs.wait(thread, "watched", command={"resume": {"decision": "retry", "hint": "please"}})
    assert (result["output"], result["verified"]) == ("fail a!; b!", True)
