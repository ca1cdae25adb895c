"""Solvers: answer a task that is not split, with or without tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage
from langchain_core.runnables import Runnable

from langgraph_recursive.state.errors import UnparsableOutputError
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
from .tool_calls import CheckTools, ToolCalls, Tools, numbered, refused, tool_node, with_readers

__all__ = ("LLMSolver", "llm_solver")

_RESULT_CHARS = 2_000
_ARGS_CHARS = 1_000


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
        ComponentError: `model` is no chat model, or a tool is neither a tool nor a function. A sync run raises it for
            a tool that is async only, as those of MCP servers are; async functions are called in either.
        InvalidInputError: `max_tool_rounds` is not a whole number of at least 1.
    """
    return LLMSolver(model, tools=tools, system_prompt=system_prompt, max_tool_rounds=max_tool_rounds)


class LLMSolver(Part):
    """Asks a model for the answer; made by `llm_solver`."""

    name = "llm_solver"

    def __init__(self, model: BaseChatModel, *, tools: Tools, system_prompt: str | None, max_tool_rounds: int) -> None:
        self.model = checked_model(model, self.name)
        self.tools = tools
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

    def with_model(self, model: BaseChatModel) -> LLMSolver:
        """The same solver with another model."""
        return LLMSolver(model, tools=self.tools, system_prompt=self.system_prompt, max_tool_rounds=self.rounds)

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
        await CheckTools(calls.tools)
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
