"""Tool calls of the parts: LangGraph's `ToolNode`, one call at a time, in a sync run and in an async one."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolCall, ToolMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langchain_core.tools import BaseTool, StructuredTool, Tool

from langgraph_recursive.state.errors import ComponentError

from ..effects import Effect

if TYPE_CHECKING:
    from langgraph.prebuilt import ToolNode

__all__ = ("CheckTools", "ToolCalls", "Tools", "numbered", "refused", "tool_node", "with_readers")

Tools = Sequence[BaseTool | Callable[..., Any]]

_RUNTIME = "__pregel_runtime"


def tool_node(tools: Tools) -> ToolNode:
    """Make LangGraph's node for these tools.

    Raises:
        ComponentError: One is neither a tool nor a function.
    """
    # Imported only where tools are used: it is not needed otherwise.
    from langgraph.prebuilt import ToolNode

    for tool in tools:
        if not isinstance(tool, BaseTool) and not callable(tool):
            raise ComponentError(f"tools: {tool!r} is neither a tool nor a function", field="tools", value=tool)
    return ToolNode([_in_both_worlds(tool) for tool in tools], handle_tool_errors=True)


def _in_both_worlds(tool: BaseTool | Callable[..., Any]) -> BaseTool | Callable[..., Any]:
    """Have an async function called by a sync run too, in an event loop of its own."""
    if not inspect.isroutine(tool) or not inspect.iscoroutinefunction(tool):
        return tool
    return StructuredTool.from_function(_blocking(tool), tool)


def _blocking(function: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        return await function(*args, **kwargs)

    @functools.wraps(function)
    def blocking(*args: Any, **kwargs: Any) -> Any:
        return asyncio.run(awaited(*args, **kwargs))

    return blocking


class CheckTools(Effect[None]):
    """Makes sure that the run at hand can call the tools, before a model is asked which one to call.

    A tool that is async only, as those of MCP servers are, mostly belongs to the event loop that it was made in: called
    in another one it would wait for ever.

    Args:
        tools: The tools.
    """

    def __init__(self, tools: Sequence[BaseTool]) -> None:
        self.tools = tools

    def perform(self) -> None:
        """Refuse the tools that a sync run cannot call.

        Raises:
            ComponentError: There is one.
        """
        names = [tool.name for tool in self.tools if isinstance(tool, StructuredTool | Tool) and tool.func is None]
        if names:
            raise ComponentError(
                f"tools: {', '.join(names)} can only be awaited, as all tools of MCP servers: "
                "use ainvoke, astream or asolve instead of invoke, stream or solve",
                field="tools",
                value=", ".join(names),
            )

    async def aperform(self) -> None:
        """Let them all pass: an async run can call any tool."""


def with_readers(calls: ToolCalls | None, readers: Sequence[BaseTool]) -> ToolCalls | None:
    """Add tools to others; one that is there already is kept."""
    known = list(calls.tools) if calls is not None else []
    new = [tool for tool in readers if tool.name not in {other.name for other in known}]
    return ToolCalls(tool_node([*known, *new])) if new else calls


class ToolCalls(Runnable[dict[str, Any], ToolMessage]):
    """Makes one tool call with LangGraph's `ToolNode`, which injects arguments and turns errors into messages."""

    calls_no_model = True

    def __init__(self, node: ToolNode) -> None:
        self.node = node
        self.tools = list(node.tools_by_name.values())

    def input(self, history: Sequence[BaseMessage], reply: AIMessage, call: ToolCall) -> dict[str, Any]:
        """The node's state for one call: the conversation, ending in a message with that call alone."""
        return {"messages": [*history, reply.model_copy(update={"tool_calls": [call], "invalid_tool_calls": []})]}

    def invoke(self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any) -> ToolMessage:
        """Make the call in this thread, which has no event loop.

        Raises:
            ComponentError: A tool is async only.
        """
        CheckTools(self.tools).perform()
        return _only_message(input, self.node.invoke(input, _configured(config)))

    async def ainvoke(self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any) -> ToolMessage:
        """Make the call on this event loop."""
        return _only_message(input, await self.node.ainvoke(input, _configured(config)))


def _configured(config: RunnableConfig | None) -> RunnableConfig:
    """Give the node the runtime that it has inside a graph and asks for outside one too."""
    from langgraph.runtime import Runtime

    full = ensure_config(config)
    if _RUNTIME in full.get("configurable", {}):
        return full
    return {**full, "configurable": {**full.get("configurable", {}), _RUNTIME: Runtime()}}


def _only_message(state: dict[str, Any], output: Any) -> ToolMessage:
    """Take the call's message out of what the node returned; a tool's `Command` is asked for the one it updates."""
    call = state["messages"][-1].tool_calls[0]
    found = [message for part in (output if isinstance(output, list) else [output]) for message in _messages_in(part)]
    for message in found:
        if isinstance(message, ToolMessage) and message.tool_call_id == call["id"]:
            return message
    return ToolMessage("The tool returned no message.", name=call["name"], tool_call_id=call["id"], status="error")


def _messages_in(part: Any) -> Sequence[AnyMessage]:
    update = getattr(part, "update", None) if not isinstance(part, dict) else part
    found = update.get("messages", []) if isinstance(update, dict) else []
    return found if isinstance(found, list) else [found]


def numbered(reply: AIMessage, made: int) -> AIMessage:
    """Give calls without an id one: their results are matched by it."""
    if all(call["id"] for call in [*reply.tool_calls, *reply.invalid_tool_calls]):
        return reply
    calls = [{**call, "id": call["id"] or f"call_{made + index}"} for index, call in enumerate(reply.tool_calls)]
    broken = [
        {**call, "id": call["id"] or f"call_{made}_invalid_{index}"}
        for index, call in enumerate(reply.invalid_tool_calls)
    ]
    return reply.model_copy(update={"tool_calls": calls, "invalid_tool_calls": broken})


def refused(call: Any) -> ToolMessage:
    """Answer a call whose arguments cannot be read."""
    text = f"Error: the arguments of this call are not valid JSON: {call.get('error') or 'cannot be read'}"
    return ToolMessage(text, name=call["name"] or "", tool_call_id=call["id"], status="error")
