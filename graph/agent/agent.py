"""SimpleRecursiveAgent: a compiled graph that works on one goal until it calls its answer final."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import EmptyInputError
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Command

from langgraph_recursive.nodes.intake import last_human_text
from langgraph_recursive.nodes.models import as_chat_model
from langgraph_recursive.nodes.parts.ask import checked_count, checked_model
from langgraph_recursive.nodes.parts.tool_calls import ToolCalls, tool_node
from langgraph_recursive.nodes.run import Slots
from langgraph_recursive.state.brief import RootTaskAnchor, TaskBrief, brief_of, render_brief
from langgraph_recursive.state.errors import ComponentError, InvalidInputError, MissingThreadError, UnknownThreadError
from langgraph_recursive.state.goal_state import AgentEvent, AgentResult
from langgraph_recursive.state.task import Task

from ..chain import GivesOneValue
from ..solver import effective, merge
from .events import AgentEmitter, LoopDelivery, Subscriptions, ThreadDelivery
from .machine import AGENT_RUN, AgentOutput, AgentRun, AgentState, Machine, nothing_there, prompt

__all__ = ("SimpleRecursiveAgent",)

_THREADS = 1_024

_Event = TypeVar("_Event", bound=AgentEvent)


class SimpleRecursiveAgent(GivesOneValue, CompiledStateGraph[AgentState, None, Any, AgentOutput]):
    """Works on a goal: thinks, calls tools, and goes on until it calls its answer final.

    It is a compiled graph (`invoke`, `ainvoke`, `stream`, `astream`, `batch`, `get_state`), takes a str, messages,
    `{"goal": ...}` or `{"messages": [...]}`, and is a `solver` of `create_recursive_solver` as it stands: FAIL gives a
    `failed` report, time-out and exhaustion a `partial` one if there is an answer.

    A reply ends the work only if it is nothing but DONE or FAIL, in any case; the answer is the last one before it.

    Args:
        model: A chat model, or `"provider:name"`.
        tools: LangChain tools or plain functions.
        max_iterations: Replies without tool calls, the first included.
        system_prompt: Takes the place of the built-in one; how to end is always said after it.
        timeout: Seconds of work in all, waiting for a person not counted; None for no limit. In sync, a call that is
            overdue is left to end by itself.
        max_tool_rounds: Rounds of tool calls in one iteration.
        checkpointer: LangGraph saver; needed to resume.
        store: LangGraph store, for the tools.
        name: Name of the graph and of the message it answers with.

    Raises:
        ComponentError: `model` is no chat model or cannot call tools, or a tool is neither a tool nor a function. A
            sync run raises it for a tool that is async only, as those of MCP servers are.
        InvalidInputError: A limit is out of bounds.
        MissingDependencyError: The model is given by name and `langchain` is not installed.
    """

    emitter: AgentEmitter
    machine: Machine

    def __init__(
        self,
        model: str | BaseChatModel,
        tools: Sequence[BaseTool | Callable[..., Any]] = (),
        max_iterations: int = 5,
        system_prompt: str | None = None,
        timeout: float | None = 300.0,
        *,
        max_tool_rounds: int = 8,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
        store: BaseStore | None = None,
        name: str = "simple_agent",
    ) -> None:
        chat = checked_model(as_chat_model(model), "SimpleRecursiveAgent")
        calls = ToolCalls(tool_node(tools)) if tools else None
        self.machine = Machine(
            name=name,
            model=_equipped(chat, calls),
            calls=calls,
            system_prompt=prompt("system") if system_prompt is None else system_prompt,
            max_iterations=checked_count(max_iterations, "max_iterations", least=1),
            max_tool_rounds=checked_count(max_tool_rounds, "max_tool_rounds", least=1),
            timeout=_checked_timeout(timeout),
        )
        self.emitter = AgentEmitter()
        compiled = self.machine.graph().compile(checkpointer=checkpointer, store=store, name=name)
        self.__dict__.update(compiled.__dict__)

    def copy(self, update: dict[str, Any] | None = None) -> Self:
        """Copy with some attributes replaced (`with_config` uses it); subscriptions are shared."""
        agent = type(self).__new__(type(self))
        agent.__dict__.update(self.__dict__, **(update or {}))
        return agent

    def subscribe(
        self, event_type: type[_Event], handler: Callable[[_Event], Awaitable[None] | None]
    ) -> Callable[[], None]:
        """Have a handler called with each event of a class, in every run, until the subscription is ended.

        Handlers run beside the work, in the order of the events, and a run returns after they have. One that raises is
        logged and changes nothing. A resumed run may tell an event again.

        Args:
            event_type: The class; `AgentEvent` stands for all.
            handler: `(event) -> None`, sync or async.

        Returns:
            A function that ends the subscription.

        Raises:
            InvalidInputError: It is no class of event.
            ComponentError: The handler cannot be called with an event.
        """
        return self.emitter.subscribe(event_type, handler)

    def unsubscribe(self, event_type: type[_Event], handler: Callable[[_Event], Awaitable[None] | None]) -> None:
        """End a subscription; one that is not there is left so."""
        self.emitter.unsubscribe(event_type, handler)

    def solve(
        self, problem: Any, config: RunnableConfig | None = None, *, subscribe: Subscriptions | None = None
    ) -> AgentResult:
        """Work on a problem to the end.

        Args:
            problem: A goal in any form, None to resume, or a Command.
            config: LangGraph config; with a checkpointer it names the thread.
            subscribe: Handlers by class of event, for this run only.

        Returns:
            The result. A time-out is one of its outcomes; `interrupted` waits for `Command(resume=...)`.

        Raises:
            RecursiveSolverError: The input, a handler or the thread is not fit to run.
        """
        return _result(self.invoke(problem, config, subscribe=subscribe))

    async def asolve(
        self, problem: Any, config: RunnableConfig | None = None, *, subscribe: Subscriptions | None = None
    ) -> AgentResult:
        """Work on a problem on the event loop; see `solve`."""
        return _result(await self.ainvoke(problem, config, subscribe=subscribe))

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run to the end, as `CompiledStateGraph.invoke` does.

        Args:
            input: A goal in any form, None to resume, or a Command.
            config: LangGraph config; with a checkpointer it names the thread.
            kwargs: As for `CompiledStateGraph.invoke`, and `subscribe` as for `solve`.

        Returns:
            The outputs (AgentOutput), with `__interrupt__` where a person is asked something.

        Raises:
            RecursiveSolverError: The input, a handler or the thread is not fit to run.
        """
        return super().invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run to the end on the event loop; see `invoke`."""
        return await super().ainvoke(input, config, **kwargs)

    def stream(
        self, input: Any, config: RunnableConfig | None = None, *, subscribe: Subscriptions | None = None, **kwargs: Any
    ) -> Iterator[Any]:
        """Run and stream, as `CompiledStateGraph.stream` does; `subscribe` as for `solve`."""
        given, own = _coerced(input), AgentEmitter(subscribe)
        with ThreadDelivery() as delivery:
            opened = self._opened(given, config, own, delivery)
            try:
                yield from super().stream(given, opened, **kwargs)
            except EmptyInputError as error:
                raise nothing_there() from error

    async def astream(
        self, input: Any, config: RunnableConfig | None = None, *, subscribe: Subscriptions | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Run and stream on the event loop; see `stream`."""
        given, own = _coerced(input), AgentEmitter(subscribe)
        async with LoopDelivery() as delivery:
            opened = self._opened(given, config, own, delivery)
            try:
                async for chunk in super().astream(given, opened, **kwargs):
                    yield chunk
            except EmptyInputError as error:
                raise nothing_there() from error

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """The agent as text: LangGraph's own picture is drawn by a web service."""
        return {"text/plain": repr(self)}

    def _opened(
        self, given: Any, config: RunnableConfig | None, own: AgentEmitter, delivery: ThreadDelivery | LoopDelivery
    ) -> RunnableConfig:
        """The config of one run.

        LangGraph's own `max_concurrency` would hold a node's place while its tool calls wait for one and deadlock, so
        it becomes the width of those calls.
        """
        full = effective(self, config or {})
        if isinstance(self.checkpointer, BaseCheckpointSaver) and not full.get("configurable", {}).get("thread_id"):
            raise MissingThreadError(
                "a checkpointer is set, so the config needs a thread: "
                "config={'configurable': {'thread_id': 'my-thread'}}",
                field="thread_id",
            )
        if isinstance(given, Command) and given.resume is not None and not self._resolve_checkpointer(full):
            raise UnknownThreadError("there is no checkpointer, so there is nothing to resume", field="checkpointer")
        run = AgentRun((self.emitter, own), delivery, Slots(full.get("max_concurrency") or _THREADS))
        return merge(
            config,
            {
                "configurable": {AGENT_RUN: run},
                "recursion_limit": max(full["recursion_limit"], self.machine.steps),
                "max_concurrency": _THREADS,
            },
        )


def _equipped(model: Runnable[Any, Any], calls: ToolCalls | None) -> Runnable[Any, Any]:
    if calls is None:
        return model
    bind = getattr(model, "bind_tools", None)
    try:
        if bind is not None:
            bound: Runnable[Any, Any] = bind(calls.tools)
            return bound
    except NotImplementedError:
        pass
    raise ComponentError(f"model = {model!r} cannot call tools: it has no bind_tools", field="model", value=model)


def _checked_timeout(timeout: Any) -> float | None:
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise InvalidInputError(
            f"timeout = {timeout!r}: must be seconds, more than 0, or None for no limit", field="timeout", value=timeout
        )
    return float(timeout)


def _result(output: Mapping[str, Any]) -> AgentResult:
    result = AgentResult.model_validate({name: output[name] for name in AgentResult.model_fields if name in output})
    if not output.get("__interrupt__"):
        return result
    reason = "a tool asks a person: answer with Command(resume=...), which needs a checkpointer"
    return result.model_copy(update={"status": "interrupted", "reason": reason})


def _coerced(input: Any) -> Any:
    """Bring any form of goal into the graph's input, and refuse a bad one before anything runs.

    Raises:
        InvalidInputError: There is no goal in it.
    """
    if input is None or isinstance(input, Command):
        return input
    values = _as_input(input)
    goal = values.get("goal")
    messages = _messages(values.get("messages") or [])
    if goal is not None and not isinstance(goal, str):
        goal = _goal_text(goal)
    text = last_human_text(messages) if goal is None else goal
    if text is None or not text.strip():
        raise InvalidInputError(
            "there is no goal: give a text, {'goal': ...} or {'messages': [...]} with a human message",
            field="goal",
            value=text,
        )
    return {**({} if goal is None else {"goal": goal}), **({"messages": messages} if messages else {})}


def _as_input(input: Any) -> dict[str, Any]:
    if isinstance(input, Mapping):
        return dict(input)
    if isinstance(input, PromptValue):
        return {"messages": input.to_messages()}
    if isinstance(input, BaseMessage):
        return {"messages": [input]}
    if isinstance(input, list):
        return {"messages": input}
    return {"goal": input}


def _goal_text(given: Any) -> str:
    if isinstance(given, Task):
        return str(given)
    if isinstance(given, TaskBrief | RootTaskAnchor):
        return render_brief(brief_of(given))
    raise InvalidInputError(
        f"goal is a {type(given).__name__}: give a str, a Task, a TaskBrief or messages", field="goal", value=given
    )


def _messages(given: Any) -> list[BaseMessage]:
    try:
        return list(convert_to_messages(given if isinstance(given, list | tuple) else [given]))
    except (ValueError, TypeError, NotImplementedError) as error:
        raise InvalidInputError(f"messages: {str(error).splitlines()[0]}", field="messages", value=given) from error
