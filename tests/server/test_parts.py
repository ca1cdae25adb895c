"""Parts that ask a model, run a command or read a file: `langgraph dev` refuses what blocks its event loop."""

from __future__ import annotations

import asyncio
from typing import Any

from langgraph_sdk.client import LangGraphClient


async def test_no_part_blocks_the_event_loop_and_nested_messages_are_streamed(client: LangGraphClient) -> None:
    modes: Any = ["messages-tuple", "values"]
    stream = client.runs.stream(None, "parts", input={"task": "both"}, stream_mode=modes, stream_subgraphs=True)
    chunks: list[Any] = [chunk async for chunk in stream]
    result = chunks[-1].data
    assert (result["output"], result["halt"], result["verified"]) == ("all of it", None, True)
    assert result["usage"]["tasks"] == 3
    said = {chunk.data[0]["content"] for chunk in chunks if chunk.event.startswith("messages")}
    assert {"No", "found", "ACCEPT good", "all of it"} <= said


async def test_a_conversation_as_the_parent_and_the_simple_agent_are_served_too(client: LangGraphClient) -> None:
    played: Any
    agent: Any
    played, agent = await asyncio.gather(
        client.runs.wait(None, "played", input={"task": "play"}),
        client.runs.wait(None, "agent", input={"goal": "what is it?"}),
    )
    assert (played["output"], played["halt"]) == ("all is done", None)
    assert (agent["success"], agent["solution"]) == (True, "42")
