"""Components: the replaceable parts, of whatever kind, called in one way.

A component is a plain callable, a Runnable or a built-in `Part`; sync or async. Its role says what it is offered and
what it must give back.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_type_hints

from langchain_core.language_models import BaseChatModel, BaseLanguageModel
from langchain_core.messages import HumanMessage
from langchain_core.runnables import Runnable
from pydantic import TypeAdapter, ValidationError

from langgraph_recursive.state._model import plain
from langgraph_recursive.state.artifacts import ArtifactResolver
from langgraph_recursive.state.brief import SubTask
from langgraph_recursive.state.errors import ComponentError, InvalidInputError, UnparsableOutputError
from langgraph_recursive.state.report import TaskReport
from langgraph_recursive.state.review import TaskReview
from langgraph_recursive.state.validation_policy import ValidationMinimum
from langgraph_recursive.state.verdict import Verdict

from .context import CallFailed, Context, entered
from .context_store import ContextStore
from .conversions import as_bool, as_lenient_verdict, as_plan, as_report, as_review, as_verdict
from .effects import adrive, drive
from .identity import identity_of
from .models import chat_model
from .policy import ChildFailure
from .validators import Validators

__all__ = ("Component", "Components", "Part", "Role", "inline")

REASKS = 2

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Arguments = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True)
class Role:
    """What a kind of component is offered and gives back.

    Attributes:
        name: Its name in the constructor.
        offers: Arguments by position.
        extras: Further arguments, given only to who names them.
        convert: Turns what it returned into the role's type, or raises.
        stored: That type; a checkpoint holds the value as plain data.
        asks: How often output that cannot be parsed may be asked for, the first time included.
        works: Whether it works on tasks, so that a model that a person chose for a task takes its model's place.
    """

    name: str
    offers: tuple[str, ...]
    convert: Callable[[Any], Any]
    stored: Any
    extras: tuple[str, ...] = ()
    asks: int = 1 + REASKS
    works: bool = False


ATOMIZER = Role("atomizer", ("task", "depth"), as_bool, bool, ("complaint",), works=True)
DECOMPOSER = Role("decomposer", ("task", "depth"), as_plan, list[SubTask], ("complaint",), works=True)
SOLVER = Role("solver", ("task",), as_report, TaskReport, ("complaint",), works=True)
AGGREGATOR = Role("aggregator", ("task", "results"), as_report, TaskReport, ("missing", "complaint"), works=True)
VERIFIER = Role("verifier", ("task", "result", "attempt"), as_verdict, Verdict, asks=1)
LENIENT_VERIFIER = Role("verifier", VERIFIER.offers, as_lenient_verdict, Verdict, asks=1)
"""The front's: a text that says neither ACCEPT nor REJECT rejects (rules.md 21)."""
COMBINER = dataclasses.replace(AGGREGATOR, asks=1)
"""An aggregator that is the solver, which asks again by itself."""
VALIDATOR = Role("validator", ("plan", "scope", "dossier"), as_verdict, Verdict, asks=1)
PRECHECK = Role("precheck", ("task",), as_verdict, Verdict, asks=1)
REVIEWER = Role("reviewer", ("report", "result", "ctx"), as_review, TaskReview, ("complaint",), asks=1)
"""The node asks again, for forbidden decisions and for unparsable ones alike."""

LAUNCHER = Role("launcher", ("task", "actions"), as_bool, bool, ("complaint",))


class Part:
    """A built-in part. Its `run` is a body of effects, so each model call in it is durable by itself.

    Called directly, outside a solver or in a user's own function, it works like any function.
    """

    async def run(self, *args: Any, **kwargs: Any) -> Any:
        """Do the part's work. Subclasses name the arguments of their role."""
        raise TypeError(f"{type(self).__name__} has no run")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the part here and now."""
        with entered(None):
            return drive(self.run(*args, **kwargs))

    async def acall(self, *args: Any, **kwargs: Any) -> Any:
        """Run the part on this event loop."""
        with entered(None):
            return await adrive(self.run(*args, **kwargs))


def inline(function: _Function) -> _Function:
    """Mark a function as quick and without side effects: it is called directly, without a durable call."""
    function.inline = True  # type: ignore[attr-defined]  # a mark on the function itself, so that wrappers lose it
    return function


class Component:
    """A part in its role.

    Args:
        role: What it is for.
        target: The callable, Runnable or `Part`.
        name: Its name in traces and, for validators, in verdicts.

    Attributes:
        identity: What tells a verifier from any other one; a plan depends on it. Empty for other roles.

    Raises:
        ComponentError: It cannot be called as the role asks.
    """

    def __init__(self, role: Role, target: Any, *, name: str | None = None) -> None:
        self.role = role
        self.target = target
        self.name = name or _name(target, role)
        self.identity = identity_of(target) if role.name == VERIFIER.name else ""
        self._bind = _binder(role, target)
        self._type = TypeAdapter[Any](role.stored)

    async def __call__(self, context: Context, **offered: Any) -> Any:
        """Call the component and return its converted answer; unparsable output is asked for again.

        Raises:
            CallFailed: It gave no usable answer.
            ComponentError: What it gave has the wrong shape.
        """
        if context.task is not None and context.task.model and self.takes_model:
            return await self._with_model(context.parts.model(context.task.model))._called(context, offered)
        return await self._called(context, offered)

    async def _called(self, context: Context, offered: Mapping[str, Any]) -> Any:
        if self.inline:
            args, named = self._bind(offered)
            return self._converted(self.target(*args, **named))
        fork = context.fork()
        try:
            with entered(fork):
                return await self._asked(fork, offered)
        finally:
            context.absorb(fork)

    async def _asked(self, context: Context, offered: Mapping[str, Any]) -> Any:
        complaint: str | None = offered.get("complaint")
        for ask in range(self.role.asks):
            try:
                return await self._once(context, {**offered, "complaint": complaint})
            except CallFailed as failure:
                if failure.kind != "unparsable" or ask + 1 == self.role.asks:
                    raise
                complaint = failure.message
        raise AssertionError("a role asks at least once")

    async def _once(self, context: Context, offered: Mapping[str, Any]) -> Any:
        args, named = self._bind(offered)
        if not isinstance(self.target, Part):
            target = functools.partial(self.target, **named) if named else self.target
            value = await context.call(self.role.name, target, *args, convert=self._stored)
            return self._type.validate_python(value)
        try:
            return self._converted(await self.target.run(*args, **named))
        except UnparsableOutputError as error:
            raise CallFailed("unparsable", type(error).__name__, str(error), str(error.value or "")) from error
        except ValidationError as error:
            raise CallFailed("failed", type(error).__name__, str(error)) from error

    @property
    def takes_model(self) -> bool:
        """Whether a model that a person chose for a task takes the place of its own."""
        return self.role.works and (isinstance(self.target, BaseChatModel) or hasattr(self.target, "with_model"))

    def _with_model(self, model: BaseChatModel) -> Component:
        target = model if isinstance(self.target, BaseChatModel) else self.target.with_model(model)
        return Component(self.role, target, name=self.name)

    @property
    def inline(self) -> bool:
        """Whether it is quick and without side effects, so that asking it takes no durable call."""
        return bool(getattr(self.target, "inline", False))

    @property
    def may_call_model(self) -> bool:
        """Whether a call of it counts against `Budget.max_llm_calls`."""
        return not getattr(self.target, "calls_no_model", False) and not self.inline

    def _stored(self, value: Any) -> Any:
        """The converted value as a checkpoint holds it."""
        return plain(self._converted(value))

    def _converted(self, value: Any) -> Any:
        try:
            return self.role.convert(value)
        except ComponentError as error:
            raise ComponentError(
                f"{self.role.name} {self.name!r} returned {error}", field=self.role.name, value=error.value
            ) from error


def _name(target: Any, role: Role) -> str:
    for attribute in ("validator_id", "name", "__name__"):
        name = getattr(target, attribute, None)
        if isinstance(name, str) and name and name != "<lambda>":
            return name
    kind = type(target).__name__
    return role.name if kind in ("function", "partial", "method") else kind


def _binder(role: Role, target: Any) -> Callable[[Mapping[str, Any]], _Arguments]:
    """Find out once how a component takes what its role offers."""
    if isinstance(target, Runnable):
        form = _input_form(target)
        return lambda offered: ((form(role, offered),), {})
    function = target.run if isinstance(target, Part) else target
    if not callable(function):
        raise ComponentError(
            f"{role.name} = {target!r}: must be a callable or a Runnable taking ({', '.join(role.offers)})",
            field=role.name,
            value=target,
        )
    return _callable_binder(role, function)


def _callable_binder(role: Role, function: Callable[..., Any]) -> Callable[[Mapping[str, Any]], _Arguments]:
    """Bind by name where every required parameter is named as the role offers it, else by position."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some builtins have no signature; they get everything by position
        return lambda offered: (tuple(offered[name] for name in role.offers), {})
    known = (*role.offers, *role.extras)
    required = [p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if required and all(p.name in known and p.kind is not p.POSITIONAL_ONLY for p in required):
        names = [p.name for p in parameters if p.name in known]
        return lambda offered: ((), {name: offered[name] for name in names})
    by_keyword = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p.name for p in positional if p.default is p.empty]
    unknown = [p.name for p in required if p.kind is p.KEYWORD_ONLY and p.name not in known]
    if unknown or len(needed) > len(role.offers):
        raise ComponentError(
            f"{role.name} {_name(function, role)!r} needs ({', '.join([*needed, *unknown])}), "
            f"but is called with ({', '.join(role.offers)})",
            field=role.name,
            value=function,
        )
    takes_all = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    given = role.offers if takes_all else role.offers[: len(positional)]
    named = [name for name in by_keyword if name in known]
    return lambda offered: (
        tuple(offered[name] for name in given),
        {name: offered[name] for name in named},
    )


_InputForm = Callable[[Role, Mapping[str, Any]], Any]


def _input_form(target: Runnable[Any, Any]) -> _InputForm:
    """Choose what a Runnable is given (rules.md 31): its text, a message, or a dict by argument names."""
    if isinstance(target, BaseLanguageModel):
        return _as_text
    channels = _graph_inputs(target)
    if "task" in channels and "messages" in channels:
        return lambda role, offered: {"task": _as_text(role, offered)}
    if "messages" in channels:
        return lambda role, offered: {"messages": [HumanMessage(_as_text(role, offered))]}
    return lambda role, offered: {name: offered[name] for name in role.offers}


def _graph_inputs(target: Runnable[Any, Any]) -> set[str]:
    """The input keys of a compiled graph; other Runnables have none."""
    schema = getattr(getattr(target, "builder", None), "input_schema", None)
    return set(get_type_hints(schema)) if isinstance(schema, type) else set()


def _as_text(role: Role, offered: Mapping[str, Any]) -> str:
    first = offered[role.offers[0]]
    rest = [f"{name}:\n{_shown(offered[name])}" for name in role.offers[1:] if name in ("result", "results")]
    complaint = offered.get("complaint")
    asked_again = [f"Your last answer could not be used: {complaint}"] if complaint else []
    return "\n\n".join([str(first), *rest, *asked_again])


def _shown(value: Any) -> str:
    return "\n\n".join(str(item) for item in value) if isinstance(value, list) else str(value)


@dataclass(frozen=True)
class Components:
    """All parts of one solver.

    Attributes:
        solver: Answers tasks that are not split.
        aggregator: Combines the results of sub-tasks.
        reviewer: Judges children; None is the rule-based reviewer.
        atomizer: Decides whether a task is solved directly; None never stops splitting before `max_depth`.
        decomposer: Splits a task; None solves every task directly.
        verifiers: Check answers.
        prechecks: Check specs before anything runs.
        on_child_failure: What the rule-based reviewer does with a child that failed; with a reviewer only
            `best_effort` or None.
        validators: Validate answers independently.
        artifacts: Finds what reports refer to; without it no artifact can be told.
        contexts: Keeps the snapshots that tasks are granted; without it none can be read.
        models: Models by name, of which a person may choose one after a halt.
        closing_aggregate: Whether a rejected combined answer ends the task (the `RecursiveTaskSolver` front).
    """

    solver: Component
    aggregator: Component
    atomizer: Component | None = None
    decomposer: Component | None = None
    reviewer: Component | None = None
    verifiers: Sequence[Component] = ()
    prechecks: Sequence[Component] = ()
    on_child_failure: ChildFailure | None = "fail_fast"
    validators: Validators = field(default_factory=Validators)
    artifacts: ArtifactResolver | None = None
    contexts: ContextStore | None = None
    models: Mapping[str, BaseChatModel] = field(default_factory=dict)
    closing_aggregate: bool = False

    def held_to(self, minimum: ValidationMinimum) -> Components:
        """Validate at least by what a run began with.

        Raises:
            InvalidInputError: There is no model that could.
        """
        return dataclasses.replace(self, validators=self.validators.held_to(minimum))

    def model(self, name: str) -> BaseChatModel:
        """The model of a name: one of `models`, or what `init_chat_model` makes of it.

        Raises:
            InvalidInputError: There is none.
            MissingDependencyError: A package that it needs is not installed.
        """
        return self.models.get(name) or chat_model(name)

    def check_model(self, name: str) -> None:
        """Make sure that a chosen model exists, and that there is a part that it can work for.

        Raises:
            InvalidInputError: There is none.
            MissingDependencyError: A package that it needs is not installed.
        """
        workers = (self.solver, self.aggregator, self.atomizer, self.decomposer)
        if not any(worker is not None and worker.takes_model for worker in workers):
            raise InvalidInputError(
                f"model = {name!r}: no part of this solver works with a chat model whose place another could take",
                field="model",
                value=name,
            )
        self.model(name)
