"""Validators: a model that decides the checks of a plan, independently of who did the work.

In the scopes `output` and `task` it is one call without tools. In `evidence`, `hypothesis` and `root` it may use tools
of its own, in a bounded number of rounds. An answer that breaks the plan, a call of a tool it does not have and a round
too many are errors; nothing is repaired or asked for again (protocol, independent Validator).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolCall, ToolMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.errors import GraphBubbleUp
from pydantic import BaseModel

from langgraph_recursive.state._model import canonical_json, sha256
from langgraph_recursive.state.errors import ComponentError
from langgraph_recursive.state.evidence import bounded
from langgraph_recursive.state.materials import MATERIAL_CHARS, Dossier
from langgraph_recursive.state.report import TaskReport
from langgraph_recursive.state.validation import AGENTIC_SCOPES, ValidationPlan, model_validator_id
from langgraph_recursive.state.verdict import Scope, ValidationCheck, Verdict

from ..components import Part
from ..context import invoke
from ..conversions import message_text
from ..identity import model_identity, repr_of
from .ask import checked_model, filled, prompt_text
from .tool_calls import CheckTools
from .validator_answers import ScopeAnswer, read_answer
from .verifiers import at_zero

__all__ = ("ModelValidator", "ValidatorSession", "ValidatorTools")

_CALLS_PER_ROUND = 8
_TOOL_CHARS = 20_000
_TAG = "validator"


class ValidatorSession(Protocol):
    """The private tools of one validator run, and what they really opened."""

    def tools(self) -> Sequence[BaseTool]:
        """Make the tools."""
        ...

    @property
    def opened(self) -> Collection[str]:
        """Ids of the sources opened so far."""
        ...


@runtime_checkable
class Resumable(Protocol):
    """A session that can go on where another one was: on a resume finished calls are read back, not made again."""

    @property
    def kept(self) -> Mapping[str, Any]:
        """What another session has to know, as JSON."""
        ...

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Go on from there."""
        ...


ValidatorTools = Callable[[TaskReport], ValidatorSession]
"""Makes a session for the validation of one report, such as a `WebSession` that may open the report's sources."""


class ModelValidator(Part):
    """Asks a model to decide the checks of one scope.

    Args:
        model: The chat model. Its temperature is set to 0 where that is known to be allowed.
        tools: Makes the tools of one run in the scopes that may use some, in at most as many rounds as the policy says;
            None gives none.
    """

    name = "validator"

    def __init__(self, model: BaseChatModel, *, tools: ValidatorTools | None = None) -> None:
        self.model = at_zero(checked_model(model, self.name))
        self.tools = tools
        self.structured = _structured(self.model)

    @property
    def identity(self) -> str:
        """What tells this validator from another: a plan depends on it."""
        forms = [prompt_text(name) for name in ("validator", "validator_form", "validator_sources")]
        return canonical_json({"model": model_identity(self.model), "prompt": sha256("".join(forms))})

    def tool_identity(self, report: TaskReport) -> str:
        """What tells the tools that a run on this report gets: a plan depends on it."""
        if self.tools is None:
            return ""
        session = self.tools(report)
        policy = getattr(session, "policy", None)
        return canonical_json(
            {
                "tools": [convert_to_openai_tool(tool) for tool in session.tools()],
                "policy": repr_of(policy),
            }
        )

    async def run(self, plan: ValidationPlan, scope: Scope, dossier: Dossier) -> Verdict:
        """Have the checks of one scope decided.

        Args:
            plan: The plan.
            scope: The scope.
            dossier: All material of the attempt.
        """
        session = self._session(scope, dossier.report)
        tools = list(session.tools()) if session is not None else []
        bound = _bound(self.model, tools)
        rounds = dossier.policy.max_tool_rounds if bound is not None else 0
        system = self._system(scope, rounds)
        material = dossier.written(plan, scope, room=MATERIAL_CHARS - len(system))
        if material is None:
            return _too_large(plan, scope)
        messages = [SystemMessage(system), HumanMessage(material)]
        sources = {entry.source for entry in dossier.artifacts}
        if bound is not None and session is not None:
            return await self._with_tools(_ToolRun(session, tools), bound, messages, plan, scope, sources, rounds)
        reply = await invoke(_call(scope), _Replying(_named(self.structured or self.model, plan, scope)), messages)
        if fault := _fault_of(reply, structured=self.structured is not None):
            return Verdict(error=fault)
        return read_answer(reply["parsed"] if self.structured else reply["text"], plan, scope, sources)

    def _session(self, scope: Scope, report: TaskReport) -> ValidatorSession | None:
        return self.tools(report) if self.tools is not None and scope in AGENTIC_SCOPES else None

    def _system(self, scope: Scope, rounds: int) -> str:
        as_text = rounds > 0 or self.structured is None
        form = filled(prompt_text("validator_form"), {"scope": scope}) if as_text else ""
        sources = filled(prompt_text("validator_sources"), {"rounds": rounds}) if rounds else ""
        return filled(prompt_text("validator"), {"scope": scope, "form": form, "sources": sources})

    async def _with_tools(
        self,
        run: _ToolRun,
        bound: Runnable[Any, AIMessage],
        messages: Sequence[BaseMessage],
        plan: ValidationPlan,
        scope: Scope,
        sources: set[str],
        rounds: int,
    ) -> Verdict:
        """Let the model open sources. Each model call and each tool call is durable by itself."""
        await CheckTools(list(run.tools.values()))
        history = list(messages)
        for number in range(rounds + 1):
            reply = await invoke(_call(scope), _named(bound, plan, scope), history)
            if not reply.tool_calls and not reply.invalid_tool_calls:
                return read_answer(message_text(reply), plan, scope, sources)
            if number == rounds:
                break
            if fault := run.fault_of(reply):
                return Verdict(error=fault)
            history.append(reply)
            for call in reply.tool_calls:
                made = run.known(await invoke(f"{_call(scope)}-tool", run, call))
                sources |= set(made["opened"])
                history.append(ToolMessage(made["text"], name=call["name"], tool_call_id=call["id"]))
        return Verdict(error=f"the validator's rounds of tool calls ({rounds}) ran out before it decided")


class _ToolRun(Runnable[ToolCall, dict[str, Any]]):
    """Makes the tool calls of one run, and records with each where its session is then: a resume goes on from there."""

    calls_no_model = True

    def __init__(self, session: ValidatorSession, tools: Sequence[BaseTool]) -> None:
        self.session = session
        self.tools = {tool.name: tool for tool in tools}

    def fault_of(self, reply: AIMessage) -> str:
        """Why these calls are not made, or an empty text."""
        if reply.invalid_tool_calls:
            return "the validator called a tool with arguments that are not JSON"
        if len(reply.tool_calls) > _CALLS_PER_ROUND:
            return f"the validator made {len(reply.tool_calls)} tool calls at once, at most {_CALLS_PER_ROUND}"
        forbidden = sorted({call["name"] for call in reply.tool_calls} - set(self.tools))
        if forbidden:
            return f"the validator called a tool that it does not have: {', '.join(forbidden)[:200]}"
        ids = [call["id"] for call in reply.tool_calls]
        return "" if all(ids) and len(set(ids)) == len(ids) else "the validator's tool calls have no ids of their own"

    def known(self, record: dict[str, Any]) -> dict[str, Any]:
        """Have the session know what a call's record says: after a resume it did not make that call itself."""
        if isinstance(self.session, Resumable) and "kept" in record:
            self.session.restore(record["kept"])
        return record

    def invoke(self, input: ToolCall, config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:
        """Make a call in this thread."""
        try:
            return self._record(self.tools[input["name"]].invoke(input["args"], config))
        except (GraphBubbleUp, ComponentError):
            raise
        except Exception as error:  # noqa: BLE001 - a tool that fails tells the model so, as in any tool loop
            return self._record(f"Error: {type(error).__name__}: {error}")

    async def ainvoke(self, input: ToolCall, config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:
        """Make a call on this event loop."""
        try:
            return self._record(await self.tools[input["name"]].ainvoke(input["args"], config))
        except (GraphBubbleUp, ComponentError):
            raise
        except Exception as error:  # noqa: BLE001 - as above
            return self._record(f"Error: {type(error).__name__}: {error}")

    def _record(self, output: Any) -> dict[str, Any]:
        text = bounded(str(output), limit=_TOOL_CHARS).text
        kept = {"kept": self.session.kept} if isinstance(self.session, Resumable) else {}
        return {"text": text, "opened": sorted(str(name) for name in self.session.opened), **kept}


class _Replying(Runnable[Any, dict[str, Any]]):
    """A model whose reply is reduced to plain data before it is stored."""

    def __init__(self, target: Runnable[Any, Any]) -> None:
        self.target = target

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:
        """Ask in this thread."""
        return _reply(self.target.invoke(input, config))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:
        """Ask on this event loop."""
        return _reply(await self.target.ainvoke(input, config))


def _reply(answer: Any) -> dict[str, Any]:
    raw = answer.get("raw") if isinstance(answer, Mapping) else answer
    parsed = answer.get("parsed") if isinstance(answer, Mapping) else None
    calls = [*getattr(raw, "tool_calls", ()), *getattr(raw, "invalid_tool_calls", ())]
    return {
        "text": str(message_text(raw) or ""),
        "parsed": parsed.model_dump(mode="json") if isinstance(parsed, BaseModel) else parsed,
        "calls": [str(call.get("name")) for call in calls],
    }


def _fault_of(reply: Mapping[str, Any], *, structured: bool) -> str:
    """What a reply without tools may not do: call one. Providers give structured output as one call of its form."""
    calls = [name for name in reply["calls"] if not structured or name != ScopeAnswer.__name__]
    if calls:
        return f"the validator called a tool that it does not have: {', '.join(calls)[:200]}"
    if len(reply["calls"]) > 1:
        return "the validator gave more than one verdict"
    if structured and reply["parsed"] is None:
        return f"the validator's answer breaks its plan: not in its form: {reply['text'][:300]!r}"
    return ""


def _structured(model: Runnable[Any, Any]) -> Runnable[Any, Any] | None:
    make = getattr(model, "with_structured_output", None)
    if make is None:
        return None
    try:
        made: Runnable[Any, Any] = make(ScopeAnswer, include_raw=True)
    except NotImplementedError:
        return None
    return made


def _bound(model: Runnable[Any, Any], tools: Sequence[BaseTool]) -> Runnable[Any, AIMessage] | None:
    if not tools or not isinstance(model, BaseChatModel):
        return None
    try:
        return model.bind_tools(tools)
    except NotImplementedError:
        return None


def _named(model: Runnable[Any, Any], plan: ValidationPlan, scope: Scope) -> Runnable[Any, Any]:
    """Give the run its own name in traces."""
    metadata = {"task_id": plan.task_id, "attempt": plan.attempt, "scope": scope, "plan": plan.mark}
    return model.with_config(run_name=model_validator_id(scope), tags=[_TAG], metadata=metadata)


def _call(scope: Scope) -> str:
    return f"validator-{scope}"


def _too_large(plan: ValidationPlan, scope: Scope) -> Verdict:
    """What cannot be read whole is not decided: never a pass on a truncated reading."""
    reason = f"the required material is over {MATERIAL_CHARS} characters: report less, or pass references"
    checks = [
        ValidationCheck(check_id=check.check_id, status="unknown", required=check.required, justification=reason)
        for check in plan.of(scope, "model")
    ]
    return Verdict(checks=checks, feedback=reason, checked=False)
