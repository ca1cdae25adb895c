"""The ready graph of a LangGraph server: a solver made of settings, without code of the user's.

`langgraph.json` names it as `langgraph_recursive.graph.server:make_graph`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from langgraph_sdk.runtime import ServerRuntime
from pydantic import BaseModel, ConfigDict, ValidationError

from langgraph_recursive.nodes.models import as_chat_model
from langgraph_recursive.nodes.parts.embedded import EmbeddedChatModel
from langgraph_recursive.nodes.parts.verifiers import llm_verifier
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.state.budget import Budget
from langgraph_recursive.state.errors import InvalidInputError, MissingSolverError

from .builder import create_recursive_solver
from .solver import RecursiveSolver

__all__ = ("EMBEDDED", "ENVIRONMENT", "ServerSettings", "make_graph")

EMBEDDED = "embedded"
"""The name of the embedded model, where a model's name is asked for."""

ENVIRONMENT = "LANGGRAPH_RECURSIVE_"
"""What the environment variable of a setting begins with; its name in capitals follows."""


class ServerSettings(BaseModel):
    """What the ready graph is made of.

    A run or an assistant gives them in its context (or `configurable`), else the server's environment does, as in
    `LANGGRAPH_RECURSIVE_MODEL`. Whoever may call the server may set them.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", use_attribute_docstrings=True)

    model: str | None = None
    """The chat model, as `init_chat_model` names it, such as "anthropic:claude-sonnet-4-5", or "embedded" for the
    embedded model, which is too weak for more than a try. A run without a model is refused."""

    verify: bool | None = None
    """Whether the model checks every answer, so that a wrong one is repaired. By default every model but the embedded
    one does, which cannot judge."""

    max_depth: int | None = None
    """Depth at which every task is solved directly; with 0 nothing is ever split."""

    max_children: int | None = None
    """Sub-tasks per task."""

    max_attempts: int | None = None
    """Attempts per task, the first included."""

    max_fixes_total: int | None = None
    """Fix attempts in the whole tree."""

    max_concurrency: int | None = None
    """Calls at once in the whole tree."""

    max_task_seconds: float | None = None
    """Seconds per task, with all its attempts and sub-tasks."""

    max_llm_calls: int | None = None
    """Model calls of a run, the whole tree together."""

    interrupt_on_halt: bool | None = None
    """Whether a person is asked whenever a task halts, and may have it go on."""

    @classmethod
    def of(cls, config: RunnableConfig) -> ServerSettings:
        """Read the settings of a run: from its config, else from the environment.

        Raises:
            InvalidInputError: A value is not of its type; the message names it and where it stands.
        """
        given = config.get("configurable", {})
        found = {name: setting for name in cls.model_fields if (setting := _found(name, given)) is not None}
        try:
            return cls(**{name: value for name, (_, value) in found.items()})
        except ValidationError as error:
            detail = error.errors()[0]
            place, value = found[str(detail["loc"][0])]
            raise InvalidInputError(f"{place} = {value!r}: {detail['msg']}", field=place, value=value) from error

    def solver(self) -> RecursiveSolver:
        """Make the solver.

        Raises:
            MissingSolverError: No model is named.
            MissingDependencyError: The model's package is not installed.
            InvalidInputError: There is no such model.
            InvalidPolicyError: A limit is out of bounds.
        """
        model = self._chat_model()
        verify = self.verify if self.verify is not None else self.model != EMBEDDED
        return create_recursive_solver(model, verifiers=[llm_verifier(model)] if verify else (), policy=self._policy())

    def _chat_model(self) -> BaseChatModel:
        model = EmbeddedChatModel() if self.model == EMBEDDED else as_chat_model(self.model)
        if model is None:
            raise MissingSolverError(
                f"no model is named: set {ENVIRONMENT}MODEL where the server is started, or `model` in the context of "
                f"the run, to a name such as 'anthropic:claude-sonnet-4-5', or to '{EMBEDDED}' for a try",
                field="model",
            )
        return model

    def _policy(self) -> SolvePolicy:
        limits = self.model_dump(exclude_none=True, exclude={"model", "verify", "max_llm_calls"})
        return SolvePolicy(**limits, budget=Budget(max_llm_calls=self.max_llm_calls))


def _found(name: str, configurable: Mapping[str, Any]) -> tuple[str, Any] | None:
    """Where a setting stands, and its value there; None where it stands nowhere."""
    variable = ENVIRONMENT + name.upper()
    places = {f"configurable.{name}": configurable.get(name), variable: os.environ.get(variable)}
    return next(((place, value) for place, value in places.items() if value not in (None, "")), None)


async def make_graph(config: RunnableConfig, runtime: ServerRuntime[Any]) -> RecursiveSolver:
    """Make the graph for one access of the server, as `ServerSettings` says.

    It is made for each run anew, since a model's async client does not survive its event loop. To read schemas and
    states no model is needed.

    Args:
        config: The config of the run or the assistant.
        runtime: Why the server asks for the graph.

    Raises:
        RecursiveSolverError: It is asked for to run, and a setting is missing or wrong.
    """
    if runtime.execution_runtime is None:
        solver = create_recursive_solver(solver=_never_runs)
    else:
        # A model's client reads files, which the server does not let the event loop do.
        solver = await asyncio.to_thread(ServerSettings.of(config).solver)
    return solver.copy({"context_schema": ServerSettings})


def _never_runs(task: Any) -> str:
    raise RuntimeError("this graph is for reading schemas and states")
