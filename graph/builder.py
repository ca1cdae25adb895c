"""create_recursive_solver: parts in, compiled graph out."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

from langgraph_recursive.nodes import components as roles
from langgraph_recursive.nodes.combine import SolvingAggregator
from langgraph_recursive.nodes.components import Component, Components
from langgraph_recursive.nodes.context_store import ContextStore
from langgraph_recursive.nodes.models import as_chat_model
from langgraph_recursive.nodes.parts.aggregators import llm_aggregator
from langgraph_recursive.nodes.parts.atomizers import depth_based, llm_atomizer
from langgraph_recursive.nodes.parts.decomposers import llm_decomposer
from langgraph_recursive.nodes.parts.solvers import LLMSolver, llm_solver
from langgraph_recursive.nodes.parts.validators import ModelValidator, ValidatorTools
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.nodes.prices import listed_price, require_price_list
from langgraph_recursive.nodes.validators import Validators
from langgraph_recursive.state.artifacts import ArtifactResolver
from langgraph_recursive.state.errors import (
    ComponentError,
    InvalidInputError,
    InvalidPolicyError,
    MissingSolverError,
)
from langgraph_recursive.state.validation_policy import ValidationPolicy

from .machine import state_machine
from .solver import RecursiveSolver

__all__ = ("create_recursive_solver",)

_DEFAULT_DEPTH = 3


def create_recursive_solver(
    model: str | BaseChatModel | None = None,
    *,
    atomizer: Any = None,
    decomposer: Any = None,
    solver: Any = None,
    aggregator: Any = None,
    verifiers: Sequence[Any] | Callable[..., Any] = (),
    prechecks: Sequence[Any] | Callable[..., Any] = (),
    reviewer: Any = None,
    tools: Sequence[Any] = (),
    models: Mapping[str, str | BaseChatModel] | None = None,
    validation_policy: ValidationPolicy | None = None,
    validator_model: str | BaseChatModel | None = None,
    root_validator_model: str | BaseChatModel | None = None,
    validator_tools: ValidatorTools | None = None,
    artifact_resolver: ArtifactResolver | None = None,
    context_store: ContextStore | BaseStore | None = None,
    policy: SolvePolicy | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    store: BaseStore | None = None,
    name: str = "recursive_solver",
) -> RecursiveSolver:
    """Build a solver that splits a task, solves the parts, combines them, checks every answer and repairs what fails.

    Parts are plain callables or Runnables, sync or async; what is not given is made from `model`. Without a model only
    `solver` is required: then a task is split only if there is a decomposer, and the solver also combines.

    Args:
        model: A chat model, or "provider:name" for `init_chat_model` (extra `models`).
        atomizer: `(task, depth) -> bool`: whether to solve directly. By default the model is asked; without a model
            tasks at depth 3 are solved directly.
        decomposer: `(task, depth) -> list[str | TaskBrief | SubTask]`; an empty list means solve directly.
        solver: `(task) -> str | TaskReport`.
        aggregator: `(task, results) -> str | TaskReport`; `results` are texts that carry their reports.
        verifiers: `(task, result, attempt) -> Verdict | bool`, each. Without any, nothing is checked and the result
            says `verified: False`.
        prechecks: `(task) -> Verdict | bool`, each: run on every attempt's spec before anything else.
        reviewer: `(report, result, ctx) -> TaskReview`: judges each child's report and verdict. By default rules
            do, as `policy.on_child_failure` says.
        tools: Tools for the built-in solver.
        models: Models by name, of which a person may choose one for a task after a halt (`Intervention.model`).
        validation_policy: The application's minimum of independent validation. With it, or with a validator model, a
            model validates every sub-task beside the verifiers, and the root's answer must pass the root gate. Without
            either only what is asked for is: briefs with `validation_scopes`, and a task given as a RootTaskAnchor.
        validator_model: Validates sub-tasks, and the root; by default the solver's model does.
        root_validator_model: Validates at the root gate in its place.
        validator_tools: `(report) -> session`: makes the validator's own tools for one run in the scopes evidence,
            hypothesis and root, such as a `WebSession`. Without them no source can be opened, so the scope evidence
            passes on resolved artifacts only.
        artifact_resolver: Finds the artifacts that reports refer to, such as `StoreArtifacts`. Each is a required check
            of the answer; without a resolver no artifact can be told, and such a report is not accepted.
        context_store: Keeps the snapshots that briefs grant with `context_refs`; by default it is in `store`, or in the
            store of the graph or server that the solver runs in. Who the user is, `user_id` in the Runtime context or
            in `config["configurable"]` says.
        policy: The limits.
        checkpointer: LangGraph saver; needed to resume.
        store: LangGraph store, for the parts and for context snapshots.
        name: Name of the graph and of the message it answers with.

    Returns:
        A compiled graph: invoke, ainvoke, stream, astream, batch, get_state, get_graph.

    Raises:
        MissingSolverError: There is neither a model nor a solver.
        ComponentError: A part cannot be called as its role asks.
        InvalidInputError: Arguments contradict each other.
        InvalidPolicyError: The policy is no SolvePolicy.
        MissingDependencyError: A model is given by name and `langchain` is not installed, or cost is limited and there
            are no prices.
    """
    policy = _policy(policy)
    chat = as_chat_model(model)
    if chat is None and solver is None:
        raise MissingSolverError(
            "give a model (create_recursive_solver('provider:name')) or a solver (solver=lambda task: ...)",
            field="model",
        )
    if tools and solver is not None:
        raise InvalidInputError("tools go to the built-in solver: give tools or solver, not both", field="tools")
    parts = _components(chat, atomizer, decomposer, solver, aggregator, tools, policy)
    parts = dataclasses.replace(
        parts,
        verifiers=_named(roles.VERIFIER, verifiers),
        prechecks=_named(roles.PRECHECK, prechecks),
        validators=_validators(
            validation_policy,
            as_chat_model(validator_model),
            as_chat_model(root_validator_model),
            chat if chat is not None else _model_of(solver),
            validator_tools,
        ),
        artifacts=_resolver(artifact_resolver),
        contexts=_contexts(context_store if context_store is not None else store),
        models=_models(models or {}),
        **_judging(reviewer, decomposer, chat, policy),
    )
    return compiled_solver(parts, policy, checkpointer=checkpointer, store=store, name=name)


def compiled_solver(
    parts: Components,
    policy: SolvePolicy,
    *,
    checkpointer: BaseCheckpointSaver[Any] | None,
    store: BaseStore | None,
    name: str,
) -> RecursiveSolver:
    """Compile the state machine for these parts."""
    compiled = state_machine(parts, name).compile(checkpointer=checkpointer, store=store, name=name)
    return RecursiveSolver.of(compiled, policy, parts)


def _policy(policy: Any) -> SolvePolicy:
    if policy is None:
        return SolvePolicy()
    if not isinstance(policy, SolvePolicy):
        raise InvalidPolicyError(f"policy = {policy!r}: give a SolvePolicy", field="policy", value=policy)
    if policy.pricing is listed_price:
        require_price_list()
    return policy


def _components(
    model: BaseChatModel | None,
    atomizer: Any,
    decomposer: Any,
    solver: Any,
    aggregator: Any,
    tools: Sequence[Any],
    policy: SolvePolicy,
) -> Components:
    """Fill in what is not given: from the model, or by rules.md 31 without one."""
    if model is not None:
        atomizer = atomizer if atomizer is not None else llm_atomizer(model)
        decomposer = (
            decomposer if decomposer is not None else llm_decomposer(model, max_subtasks=min(5, policy.max_children))
        )
        solver = (
            solver if solver is not None else llm_solver(model, tools=tools, max_tool_rounds=policy.max_tool_rounds)
        )
        aggregator = aggregator if aggregator is not None else llm_aggregator(model)
    elif atomizer is None and decomposer is not None:
        atomizer = depth_based(_DEFAULT_DEPTH)
    solving = Component(roles.SOLVER, solver)
    return Components(
        solver=solving,
        aggregator=(
            Component(roles.AGGREGATOR, aggregator)
            if aggregator is not None
            else Component(roles.COMBINER, SolvingAggregator(solving))
        ),
        atomizer=None if atomizer is None else Component(roles.ATOMIZER, atomizer),
        decomposer=None if decomposer is None else Component(roles.DECOMPOSER, decomposer),
    )


def _judging(reviewer: Any, decomposer: Any, model: BaseChatModel | None, policy: SolvePolicy) -> dict[str, Any]:
    """Who judges children: a reviewer, or rules (rules.md 4)."""
    configured = policy.on_child_failure
    if reviewer is None:
        by_model = getattr(decomposer, "plans_with_model", decomposer is None and model is not None)
        return {"on_child_failure": configured or ("replan" if by_model else "fail_fast")}
    if configured not in (None, "best_effort"):
        raise InvalidInputError(
            f"on_child_failure={configured!r} configures the rule-based reviewer: leave it out, or leave out reviewer",
            field="on_child_failure",
            value=configured,
        )
    return {"reviewer": Component(roles.REVIEWER, reviewer), "on_child_failure": configured}


def _validators(
    policy: ValidationPolicy | None,
    validator: BaseChatModel | None,
    root: BaseChatModel | None,
    own: BaseChatModel | None,
    tools: ValidatorTools | None,
) -> Validators:
    """Who validates independently: the models given, else the solver's own."""
    everywhere = policy is not None or validator is not None
    if everywhere and validator is None and own is None:
        raise InvalidInputError(
            "validation_policy needs a model that validates: give model or validator_model", field="validation_policy"
        )

    def component(model: BaseChatModel | None) -> Component | None:
        if model is None:
            return None
        return Component(roles.VALIDATOR, ModelValidator(model, tools=tools))

    return Validators(
        on=True,
        policy=policy or ValidationPolicy(),
        sub_tasks=component(validator or own),
        root=component(root or validator or own),
        always=everywhere,
        gate=everywhere or root is not None,
        with_tools=tools is not None,
    )


def _resolver(resolver: ArtifactResolver | None) -> ArtifactResolver | None:
    if resolver is not None and not callable(getattr(resolver, "resolve", None)):
        raise ComponentError(
            f"artifact_resolver = {resolver!r}: needs resolve(ref, *, root, user_id)",
            field="artifact_resolver",
            value=resolver,
        )
    return resolver


def _contexts(store: ContextStore | BaseStore | None) -> ContextStore | None:
    return store if store is None or isinstance(store, ContextStore) else ContextStore(store)


def _named(role: roles.Role, given: Sequence[Any] | Callable[..., Any]) -> list[Component]:
    """Make validators with distinct names, so that a failure says whose it is."""
    targets = list(given) if isinstance(given, Sequence) else [given]
    validators = [Component(role, target) for target in targets]
    seen: Counter[str] = Counter()
    for validator in validators:
        seen[validator.name] += 1
        if seen[validator.name] > 1:
            validator.name = f"{validator.name}#{seen[validator.name]}"
    return validators


def _model_of(solver: Any) -> BaseChatModel | None:
    """The model of a solver made with `llm_solver`."""
    model = getattr(solver, "model", None)
    return model if isinstance(solver, LLMSolver) and isinstance(model, BaseChatModel) else None


def _models(given: Mapping[str, str | BaseChatModel]) -> dict[str, BaseChatModel]:
    models = {name: as_chat_model(model) for name, model in given.items()}
    for name, model in models.items():
        if not isinstance(model, BaseChatModel):
            raise ComponentError(f"models[{name!r}] = {model!r}: must be a chat model", field="models", value=model)
    return cast(dict[str, BaseChatModel], models)
