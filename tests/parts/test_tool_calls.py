"""Tools in a sync run and in an async one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain.tools import ToolRuntime
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool, Tool, tool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_recursive.graph import SimpleRecursiveAgent, create_recursive_solver
from langgraph_recursive.nodes import agent_parent, llm_solver
from langgraph_recursive.state import ComponentError, RootTaskAnchor
from scripted import ScriptedChatModel, tool_call


async def look_up(word: str) -> str:
    """Look a word up."""
    await asyncio.sleep(0)
    return f"{word} is 7"


async def whose(runtime: ToolRuntime) -> str:
    """Tell which call this is."""
    return f"call {runtime.tool_call_id}"


class Methods:
    async def look_up(self, word: str) -> str:
        """Look a word up."""
        return f"{word} is 7"


ONLY_ASYNC: dict[str, BaseTool] = {
    "decorated": tool(look_up),
    "structured": StructuredTool.from_function(coroutine=look_up, name="look_up", description="Look up."),
    "simple": Tool("look_up", None, "Look up.", coroutine=look_up),
}

WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "llm_solver": lambda model, tools: create_recursive_solver(solver=llm_solver(model, tools=tools)),
    "agent": SimpleRecursiveAgent,
    "agent as solver": lambda model, tools: create_recursive_solver(solver=SimpleRecursiveAgent(model, tools)),
    "agent_parent": lambda model, tools: create_recursive_solver(model, **agent_parent(model, tools=tools).roles()),
}


def outcome(way: str, graph: Any, given: Any) -> Any:
    return graph.invoke(given) if way == "sync" else asyncio.run(graph.ainvoke(given))


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize(
    ("function", "call", "said"),
    [
        (look_up, tool_call("look_up", word="x"), "x is 7"),
        (Methods().look_up, tool_call("look_up", word="x"), "x is 7"),
        (whose, tool_call("whose"), "call call_1"),
    ],
    ids=["function", "method", "with an injected argument"],
)
def test_an_async_function_is_called_in_either(way: str, function: Any, call: Any, said: str) -> None:
    model = ScriptedChatModel(answers=[call, "seven"], tools=True)
    result = outcome(way, create_recursive_solver(solver=llm_solver(model, tools=[function])), "w")
    assert result["output"] == "seven"
    assert model.calls[1].messages[-1].text == said


@pytest.mark.parametrize("kind", ONLY_ASYNC)
@pytest.mark.parametrize("way", WAYS)
def test_a_tool_that_is_async_only_is_refused_by_a_sync_run(way: str, kind: str) -> None:
    model = ScriptedChatModel(answers=[], tools=True)
    with pytest.raises(ComponentError, match="tools: look_up can only be awaited") as caught:
        WAYS[way](model, [ONLY_ASYNC[kind]]).invoke("w")
    assert (caught.value.field, caught.value.value) == ("tools", "look_up")
    assert model.calls == []


class Session:
    """A validator's tools."""

    opened: tuple[str, ...] = ()

    def tools(self) -> list[BaseTool]:
        return [ONLY_ASYNC["decorated"]]


def test_also_among_a_validators_tools() -> None:
    model = ScriptedChatModel(answers=[], tools=True)
    solver = create_recursive_solver(
        solver=lambda: "x", root_validator_model=model, validator_tools=lambda report: Session()
    )
    with pytest.raises(ComponentError, match="look_up can only be awaited"):
        solver.invoke(RootTaskAnchor(objective="o", completion_criteria=["c"]))
    assert model.calls == []


def test_also_where_a_part_is_called_by_itself() -> None:
    model = ScriptedChatModel(answers=[tool_call("look_up", word="x"), "seven"], tools=True)
    part = llm_solver(model, tools=[ONLY_ASYNC["decorated"]])
    with pytest.raises(ComponentError, match="look_up can only be awaited"):
        part("w")
    assert asyncio.run(part.acall("w")).text == "seven"


def test_also_where_an_async_run_is_resumed_by_a_sync_one() -> None:
    config: RunnableConfig = {"configurable": {"thread_id": "1"}}
    model = ScriptedChatModel(answers=[tool_call("look_up", word="x"), KeyboardInterrupt(), "7", "DONE"], tools=True)
    agent = SimpleRecursiveAgent(model, [ONLY_ASYNC["decorated"]], checkpointer=InMemorySaver())
    with pytest.raises((KeyboardInterrupt, asyncio.CancelledError)):
        asyncio.run(agent.ainvoke("w", config, durability="sync"))
    with pytest.raises(ComponentError, match="look_up can only be awaited"):
        agent.invoke(None, config)
    assert asyncio.run(agent.ainvoke(None, config))["solution"] == "7"
