"""Tools of an MCP server, a real one in a process of its own, held in one session."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool

from engine_kit import split
from langgraph_recursive.graph import SimpleRecursiveAgent, create_recursive_solver
from langgraph_recursive.nodes import llm_solver
from langgraph_recursive.state import ComponentError
from scripted import ScriptedChatModel, tool_call

Make = Callable[[ScriptedChatModel, list[BaseTool]], Any]

SERVER = Path(__file__).with_name("prices_server.py")

WAYS: dict[str, Make] = {
    "llm_solver": lambda model, tools: create_recursive_solver(solver=llm_solver(model, tools=tools)),
    "tools of the whole": lambda model, tools: create_recursive_solver(model, atomizer=lambda: True, tools=tools),
    "agent": SimpleRecursiveAgent,
    "agent as solver": lambda model, tools: create_recursive_solver(solver=SimpleRecursiveAgent(model, tools)),
}


@asynccontextmanager
async def tools_of_server() -> AsyncIterator[list[BaseTool]]:
    # They bring a web server's packages: only where needed.
    from langchain_mcp_adapters.client import MultiServerMCPClient
    from langchain_mcp_adapters.tools import load_mcp_tools

    client = MultiServerMCPClient({"prices": {"transport": "stdio", "command": sys.executable, "args": [str(SERVER)]}})
    async with client.session("prices") as session:
        yield await load_mcp_tools(session)


def scripted(*answers: Any) -> ScriptedChatModel:
    """A model whose last answer is final for the simple agent too."""
    return ScriptedChatModel(answers=[*answers, "it costs that", "DONE"], tools=True)


def told(model: ScriptedChatModel) -> list[tuple[str, str]]:
    """What the model was told by the tools it called, in the end."""
    return [(m.status, str(m.text)) for m in model.calls[-1].messages if isinstance(m, ToolMessage)]


@pytest.mark.parametrize("way", WAYS)
async def test_a_model_calls_them_and_is_told_what_goes_wrong_in_the_server(way: str) -> None:
    model = scripted(tool_call("price", heating="peat"), tool_call("price", call_id="call_2", heating="wood"))
    async with tools_of_server() as tools:
        result = await WAYS[way](model, tools).ainvoke("What does peat cost?")
    assert result["success"]
    assert result["messages"][-1].content == "it costs that"
    assert model.calls[0].tools == ["price", "crash"]
    assert told(model) == [("error", "Error executing tool price: no price for peat"), ("success", "700 EUR")]


async def test_a_server_that_ends_is_told_to_the_model_too() -> None:
    model = scripted(tool_call("crash"))
    async with tools_of_server() as tools:
        result = await create_recursive_solver(solver=llm_solver(model, tools=tools)).ainvoke("w")
    assert result["output"] == "it costs that"
    [(status, text)] = told(model)
    assert (status, "Connection closed" in text) == ("error", True)


async def test_the_tasks_of_a_tree_share_the_session() -> None:
    def answers(messages: list[BaseMessage]) -> str | AIMessage:
        asked = next(way for way in ("gas", "wood") if way in messages[1].text)
        found = [message.text for message in messages if isinstance(message, ToolMessage)]
        return f"{asked}: {found[0]}" if found else tool_call("price", heating=asked)

    async with tools_of_server() as tools:
        solver = create_recursive_solver(
            solver=llm_solver(ScriptedChatModel(answers=answers, tools=True), tools=tools),
            decomposer=split({"all": ["gas", "wood"]}),
            aggregator=lambda results: ", ".join(results),
        )
        result = await solver.ainvoke("all")
    assert result["output"] == "gas: 900 EUR, wood: 700 EUR"


async def test_a_sync_run_is_refused_before_the_model_is_asked() -> None:
    model = scripted(tool_call("price", heating="gas"))
    async with tools_of_server() as tools:
        solver = create_recursive_solver(solver=llm_solver(model, tools=tools))
        with pytest.raises(ComponentError, match=r"price, crash can only be awaited.*use ainvoke"):
            await asyncio.to_thread(solver.invoke, "What does gas cost?")
    assert model.calls == []
