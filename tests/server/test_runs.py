"""Runs through the SDK: what they take, stream, give back and keep, and how they are cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langgraph_sdk.client import LangGraphClient

from dev_server import DevServer
from langgraph_recursive.graph import TaskTree
from served import called

BRIEF = {"objective": "a", "reason": "r", "completion_criteria": ["c"], "expected_outputs": ["o"]}


async def test_events_updates_and_values_are_streamed(client: LangGraphClient, thread: str) -> None:
    stream = client.runs.stream(
        thread,
        "solver",
        input={"task": "a and err b"},
        stream_mode=["custom", "updates", "values"],
        stream_subgraphs=True,
    )
    chunks = [chunk async for chunk in stream]
    events: list[Any] = [chunk.data for chunk in chunks if chunk.event == "custom"]
    assert {event["task_id"] for event in events} == {"t", "t.1", "t.2", "t.2_fix_1"}
    assert {"task_started", "decomposed", "solved", "recovering", "accepted"} <= {event["type"] for event in events}
    assert "attempt 2 t.2_fix_1: passed" in str(TaskTree.from_events(events))
    assert not [chunk.event for chunk in chunks if chunk.event.startswith("custom|")]  # nested ones come as the root's
    updated = [chunk.data for chunk in chunks if chunk.event == "updates"]
    assert [name for update in updated for name in update if name in ("admit", "decompose", "verify")] == [
        "admit",
        "decompose",
        "verify",
    ]
    nested = [chunk.event.split("|")[-1] for chunk in chunks if chunk.event.startswith("updates|")]
    assert {space.partition(":")[0] for space in nested} == {"t.1", "t.2"}
    last: Any = [chunk.data for chunk in chunks if chunk.event == "values"][-1]
    assert (last["output"], last["success"], last["verified"]) == ("a!; err b!", True, True)


async def test_the_result_is_plain_data_that_is_looked_at_all_the_same(client: LangGraphClient) -> None:
    result: Any = await client.runs.wait(None, "solver", input={"task": "err a"})
    assert [attempt["id"] for attempt in result["attempts"]] == ["t", "t_fix_1"]
    assert result["attempts"][0]["failures"][0]["justification"] == "it is wrong"
    assert result["verdict"]["outcome"] == "passed"
    assert result["usage"]["fixes"] == 1
    assert [entry["type"] for entry in result["traces"]] == ["SOLVED", "VERIFIED", "RECOVERED", "SOLVED", "VERIFIED"]
    assert "attempt 2 t_fix_1: passed" in str(TaskTree.from_result(result))
    assert (result["messages"][-1]["name"], result["messages"][-1]["content"]) == ("recursive_solver", "err a!")


async def test_a_task_may_have_any_form(client: LangGraphClient) -> None:
    forms: list[Any] = ["a", {"task": "a"}, {"task": BRIEF}, {"messages": [{"role": "user", "content": "a"}]}]
    results: list[Any] = await asyncio.gather(*[client.runs.wait(None, "solver", input=form) for form in forms])
    assert [result["output"] for result in results] == ["a!"] * 4


async def test_bad_input_is_told(client: LangGraphClient) -> None:
    told: dict[str, Any] = {
        "task is empty: say what is to be done": {"task": " "},
        "task.completion_criteria = {'objective': 'a'}: Field required": {"task": {"objective": "a"}},
        "there is no task: give {'task': ...} or {'messages': [...]} with a human message": {"messages": []},
    }

    async def last(given: Any) -> Any:
        return [chunk async for chunk in client.runs.stream(None, "solver", input=given)][-1]

    chunks = await asyncio.gather(*map(last, told.values()))
    assert [chunk.event for chunk in chunks] == ["error"] * 3
    assert [chunk.data for chunk in chunks] == [{"error": "InvalidInputError", "message": said} for said in told]
    with pytest.raises(Exception, match="InvalidInputError: task is empty: say what is to be done"):
        await client.runs.wait(None, "solver", input={"task": " "})


async def test_the_next_turn_solves_the_new_task(client: LangGraphClient, thread: str) -> None:
    first: Any = await client.runs.wait(thread, "solver", input={"task": "a and b"})
    turn: Any = {"messages": [{"role": "user", "content": "c"}]}
    second: Any = await client.runs.wait(thread, "solver", input=turn)
    assert (first["output"], second["output"]) == ("a!; b!", "c!")
    assert second["usage"]["tasks"] == 1
    assert second["total_usage"]["tasks"] == 4
    assert [(message["type"], message["content"]) for message in second["messages"]] == [
        ("ai", "a!; b!"),
        ("human", "c"),
        ("ai", "c!"),
    ]


async def test_who_the_user_is_arrives(client: LangGraphClient) -> None:
    ways: list[dict[str, Any]] = [{"context": {"user_id": "ann"}}, {"config": {"configurable": {"user_id": "ann"}}}]
    runs = [client.runs.wait(None, "solver", input={"task": "whose and whose is it"}, **way) for way in ways]
    results: list[Any] = await asyncio.gather(*runs)
    assert [result["output"] for result in results] == ["ann's; ann's"] * 2


async def test_a_cancelled_run_ends_and_can_be_carried_on(
    client: LangGraphClient, thread: str, server: DevServer
) -> None:
    stream = client.runs.stream(
        thread, "solver", input={"task": "wait a and b"}, stream_mode="custom", on_disconnect="continue"
    )
    chunks: AsyncIterator[Any] = aiter(stream)
    run_id = (await anext(chunks)).data["run_id"]
    async for chunk in chunks:
        if (chunk.data["task_id"], chunk.data["type"]) == ("t.2", "accepted"):
            break
    await client.runs.cancel(thread, run_id, wait=True)
    (server.folder / "go").touch()  # lets the cancelled call's thread end
    assert (await client.runs.get(thread, run_id))["status"] == "interrupted"
    result: Any = await client.runs.wait(thread, "solver", input=None)
    assert (result["output"], result["usage"]["tasks"]) == ("wait a!; b!", 3)
    assert called(server, thread) == ["t.1", "t.1", "t.2"]
    result = await client.runs.wait(thread, "solver", input={"task": "c"})
    assert result["output"] == "c!"
