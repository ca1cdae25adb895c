"""Solvers: answer a task that is not split, with or without tools."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolCall, ToolMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langchain_core.tools import BaseTool, StructuredTool

from langgraph_recursive.state.errors import ComponentError, UnparsableOutputError
from langgraph_recursive.state.evidence import bounded
from langgraph_recursive.state.report import TaskReport, Validation, answer_report
from langgraph_recursive.state.task import Task

from ..components import Part
from ..context import invoke
from ..conversions import message_text, well_formed
from .ask import (
    Prompt,
    as_task,
    ask,
    checked_count,
    checked_model,
    fenced,
    filled,
    inputs_of,
    prompt_text,
    spec_of,
    together,
)
from .context_reader import context_refs_of, reader_tools

if TYPE_CHECKING:
    from langgraph.prebuilt import ToolNode

__all__ = ("LLMSolver", "ToolCalls", "llm_solver", "numbered", "refused", "tool_node", "with_readers")

Tools = Sequence[BaseTool | Callable[..., Any]]

_RESULT_CHARS = 2_000
_ARGS_CHARS = 1_000
_RUNTIME = "__pregel_runtime"


def llm_solver(
    model: BaseChatModel,
    *,
    tools: Tools = (),
    system_prompt: str | None = None,
    max_tool_rounds: int = 8,
) -> LLMSolver:
    """Make a solver that asks a model for the answer.

    A task whose brief grants context references gets the tool `read_context_ref` too, if its model can call tools.
    With tools it runs a bounded loop in which each model call and each tool call is durable by itself; the calls of
    one message run side by side. What the tools really returned is recorded in the report's evidence.

    Args:
        model: The chat model.
        tools: LangChain tools or plain functions.
        system_prompt: Takes the place of the built-in system message.
        max_tool_rounds: How often the model may call tools before it has to answer. An answer that still asks for
            tools then is reported as `partial`.

    Raises:
        ComponentError: `model` is no chat model, or a tool is neither a tool nor a function.
        InvalidInputError: `max_tool_rounds` is not a whole number of at least 1.
    """
    return LLMSolver(model, tools=tools, system_prompt=system_prompt, max_tool_rounds=max_tool_rounds)


class LLMSolver(Part):
    """Asks a model for the answer; made by `llm_solver`."""

    name = "llm_solver"

    def __init__(self, model: BaseChatModel, *, tools: Tools, system_prompt: str | None, max_tool_rounds: int) -> None:
        self.model = checked_model(model, self.name)
        self.rounds = checked_count(max_tool_rounds, "max_tool_rounds", least=1)
        self.system_prompt = system_prompt
        self.prompt = Prompt("solver")
        self.calls = ToolCalls(tool_node(tools)) if tools else None
        self.bound = model.bind_tools(self.calls.tools) if self.calls else None

    async def run(self, task: Task | str, *, complaint: str | None = None) -> TaskReport:
        """Ask for the answer.

        Raises:
            UnparsableOutputError: It is empty.
        """
        task = as_task(task)
        calls, bound = self._equipped(task)
        messages = self._messages(task, spec_of(task), complaint, readable=bound is not None)
        if calls is None or bound is None:
            return _answered(await ask("solver", self.model, messages))
        return await self._with_tools(calls, bound, task, messages)

    def _equipped(self, task: Task) -> tuple[ToolCalls | None, Runnable[Any, AIMessage] | None]:
        """The tools for a task, and the model that knows them: with a reader where there is something to read."""
        calls = with_readers(self.calls, reader_tools(task))
        if calls is self.calls or calls is None or not isinstance(self.model, BaseChatModel):
            return self.calls, self.bound
        try:
            return calls, self.model.bind_tools(calls.tools)
        except NotImplementedError:  # it answers without what it could have read
            return self.calls, self.bound

    def _messages(
        self, task: Task, spec: str, complaint: str | None = None, *, readable: bool = False
    ) -> list[BaseMessage]:
        inputs = [inputs_of(task), context_refs_of(task) if readable else ""]
        return self.prompt.messages(
            task, complaint=complaint, system=self.system_prompt, spec=spec, inputs="\n\n".join(filter(None, inputs))
        )

    async def _with_tools(
        self, calls: ToolCalls, bound: Runnable[Any, AIMessage], task: Task, messages: Sequence[BaseMessage]
    ) -> TaskReport:
        history = list(messages)
        evidence: list[dict[str, Any]] = []
        for _ in range(self.rounds):
            reply = numbered(await invoke("solver", bound, history), len(evidence))
            if not reply.tool_calls and not reply.invalid_tool_calls:
                return _answered(message_text(reply), evidence)
            broken = [refused(call) for call in reply.invalid_tool_calls]
            results = await together("tool", [(calls, calls.input(history, reply, call)) for call in reply.tool_calls])
            evidence += [_recorded(call, result) for call, result in zip(reply.tool_calls, results, strict=True)]
            history += [reply, *results, *broken]
        return await self._out_of_rounds(task, evidence)

    async def _out_of_rounds(self, task: Task, evidence: list[dict[str, Any]]) -> TaskReport:
        """Ask once more, without tools.

        What was found goes into the text: providers refuse a history with tool calls where no tools are bound.
        """
        found = "\n\n".join(fenced(entry["result"], result_of=entry["tool"]) for entry in evidence)
        spec = filled(prompt_text("out_of_rounds"), {"spec": spec_of(task), "results": found})
        reply: AIMessage = await invoke("solver", self.model, self._messages(task, spec))
        if not reply.tool_calls and not reply.invalid_tool_calls:
            return _answered(message_text(reply), evidence)
        reason = f"the rounds of tool calls ({self.rounds}) ran out before the answer was finished"
        text = message_text(reply)
        return TaskReport(
            summary=text.strip()[:200] or reason,
            outcome="partial",
            validation=Validation(open_issues=[reason]),
            outputs=[{"text": text}] if text.strip() else [],
            evidence=evidence,
            remaining_issues=[reason],
        )


def _answered(text: str, evidence: Sequence[dict[str, Any]] = ()) -> TaskReport:
    if not text.strip():
        raise UnparsableOutputError("the answer is empty", value=text)
    report = answer_report(text)
    return report.model_copy(update={"evidence": list(evidence)}) if evidence else report


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
    return ToolNode(list(tools), handle_tool_errors=True)


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
        """Make the call in this thread, which has no event loop."""
        tool = self.node.tools_by_name.get(input["messages"][-1].tool_calls[0]["name"])
        if isinstance(tool, StructuredTool) and tool.func is None:
            return asyncio.run(self.ainvoke(input, config))
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


def _recorded(call: ToolCall, result: ToolMessage) -> dict[str, Any]:
    """What the report says about one call: what really came back, bounded."""
    return {
        "tool": call["name"],
        "args": _json(call["args"]),
        "result": bounded(message_text(result), limit=_RESULT_CHARS).text,
        "status": result.status,
    }


def _json(args: Any) -> Any:
    """Arguments as JSON that a report may hold; long ones as a bounded text."""
    text = well_formed(json.dumps(args, default=str, ensure_ascii=False))
    return bounded(text, limit=_ARGS_CHARS).text if len(text) > _ARGS_CHARS else json.loads(text, parse_constant=str)
