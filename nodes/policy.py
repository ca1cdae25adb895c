"""The policy: every limit of a solver, in one place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from langgraph.types import RetryPolicy
from pydantic import ConfigDict, Field, ValidationError

from langgraph_recursive.state._model import Given
from langgraph_recursive.state.budget import Budget
from langgraph_recursive.state.errors import InvalidPolicyError, invalid_fields

from .prices import Price, listed_price
from .retry import is_transient

__all__ = ("RAISABLE", "ChildFailure", "SolvePolicy")

ChildFailure = Literal["fail_fast", "replan", "best_effort"]

RAISABLE = (
    "budget",
    "call_timeout",
    "max_attempts",
    "max_children",
    "max_context_chars",
    "max_depth",
    "max_evidence_chars",
    "max_fixes_total",
    "max_replans",
    "max_revisions",
    "max_task_seconds",
)
"""The limits that a person may raise for the rest of a run (Intervention.limits)."""

_UNBOUNDED = 100_000
_STEPS_PER_PASS = 8
_SPARE_STEPS = 25


class SolvePolicy(Given):
    """The limits of a solver. Frozen; `policy.model_copy(update={...})` makes a changed one.

    Raises:
        InvalidPolicyError: A field is unknown or out of bounds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    max_depth: int = Field(5, ge=0)
    """Depth at which every task is solved directly; the root is 0. With 0 nothing is ever split."""

    max_children: int = Field(6, ge=1)
    """Children per attempt of a task. A replan opens a new quota for the children it adds."""

    max_attempts: int = Field(3, ge=1)
    """Attempts per task, the first included. 1 leaves every retry to the parent."""

    max_fixes_total: int = Field(10, ge=0)
    """Fix attempts in the whole tree and run. 0 allows none."""

    max_replans: int = Field(1, ge=0)
    """Replans per attempt, whoever reviews. 0 allows none."""

    max_revisions: int = Field(1, ge=0)
    """Extra attempts a parent may grant one child with REVISE_CHILD. 0 allows none."""

    max_concurrency: int = Field(4, ge=1)
    """Component calls at once in the whole tree. `max_concurrency` in the config of one run takes its place."""

    on_child_failure: ChildFailure | None = None
    """What the rule-based reviewer does with a child that has no accepted answer. `fail_fast` ends the task at once
    and stops the other children; `replan` plans once more, then fails; `best_effort` aggregates what was accepted and
    lists what is missing. None means `replan` with `llm_decomposer`, else `fail_fast`."""

    sequential_children: bool = False
    """Run each child to its end before the next one starts."""

    stall_window: int = Field(1, ge=0)
    """How many attempts back a repeated verdict halts recovery. 1 compares with the previous attempt, 2 also finds
    A-B-A, 0 switches the test off."""

    call_timeout: float | None = Field(600.0, gt=0)
    """Seconds one component call may take, its repeats for unparsable output included. None sets no limit."""

    max_task_seconds: float | None = Field(None, gt=0)
    """Seconds one task may take with all its attempts and children. None sets no limit."""

    max_tool_rounds: int = Field(8, ge=1)
    """Rounds of tool calls in one answer of a solver with tools."""

    max_spec_chars: int = Field(50_000, ge=1)
    """Characters of a task given as a plain string."""

    max_context_chars: int = Field(50_000, ge=0)
    """Characters that one task may read of context references, all its attempts together. A text read twice counts
    twice. 0 allows none."""

    max_evidence_chars: int = Field(20_000, ge=0)
    """Characters of failure detail that a recovery spec carries; the oldest is dropped first."""

    budget: Budget = Field(default_factory=Budget)
    """What the whole run may spend: model calls, tokens, cost, time, tasks."""

    price: Price | None = None
    """`(model name, usage_metadata) -> cost`; it raises LookupError for a model that it has no price for. None uses the
    list of `genai-prices` where `max_cost` is set."""

    approve_over: int | None = Field(None, ge=0)
    """Ask a person (LangGraph `interrupt`) before a run whose worst case (`estimate`) is over this many calls."""

    interrupt_on_halt: bool = False
    """Ask a person (LangGraph `interrupt`) whenever a task halts, in the whole tree: `Command(resume=...)` with an
    Intervention has it go on, accepts its answer with a waiver, or lets the halt stand. Not asked about are tasks that
    were stopped, and tasks that halt because of a halt that a person let stand. Without a checkpointer nobody could
    answer, so nobody is asked."""

    retry: RetryPolicy | None = Field(default_factory=lambda: RetryPolicy(retry_on=is_transient))
    """How often a component call that raises is tried again. By default 3 tries, for transient provider errors (429,
    time-outs, lost connections, 5xx) only. None tries once."""

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise InvalidPolicyError(_explain(error), field=str(error.errors()[0]["loc"][0])) from error

    @property
    def pricing(self) -> Price | None:
        """What prices model calls, if cost is limited or a price function is given."""
        return self.price or (listed_price if self.budget.max_cost is not None else None)

    @property
    def recursion_limit(self) -> int:
        """Supersteps that one task's graph may need: every attempt with all its children, reviews and replans."""
        if self.interrupt_on_halt:  # whatever goes on longer, a person decided so
            return _UNBOUNDED
        children = self.max_children * (1 + self.max_replans) * (1 + self.max_revisions)
        passes = (self.max_attempts + self.max_revisions + 1) * (1 + self.max_replans)
        return _SPARE_STEPS + passes * (_STEPS_PER_PASS + 2 * children)

    def raised(self, limits: Mapping[str, Any]) -> SolvePolicy:
        """Raise limits; one that is higher already stays.

        Args:
            limits: Fields by name, `budget` with the fields of Budget; None lifts a limit.

        Raises:
            InvalidPolicyError: A field is no limit, or a value is out of bounds.
        """
        if unknown := sorted(set(limits) - set(RAISABLE)):
            raise InvalidPolicyError(
                f"limits.{unknown[0]} = {limits[unknown[0]]!r}: what can be raised is {', '.join(RAISABLE)}",
                field=unknown[0],
                value=limits[unknown[0]],
            )
        given = SolvePolicy(**{**limits, "budget": self._budget(limits)})
        higher = {name: _higher(getattr(self, name), getattr(given, name)) for name in limits if name != "budget"}
        return self.model_copy(update={**higher, "budget": given.budget})

    def _budget(self, limits: Mapping[str, Any]) -> Budget:
        wanted = limits.get("budget", {})
        fields = wanted.model_dump(exclude_unset=True) if isinstance(wanted, Budget) else wanted
        try:
            given = Budget.model_validate(fields)
        except ValidationError as error:
            raise InvalidPolicyError(invalid_fields("limits.budget", error), field="budget", value=wanted) from error
        higher = {name: _higher(getattr(self.budget, name), getattr(given, name)) for name in given.model_fields_set}
        return self.budget.model_copy(update=higher)


def _higher(one: Any, two: Any) -> Any:
    """The higher of two limits; None is no limit."""
    return None if one is None or two is None else max(one, two)


def _explain(error: ValidationError) -> str:
    known = ", ".join(sorted(SolvePolicy.model_fields))
    lines = invalid_fields("SolvePolicy", error)
    if any(detail["type"] == "extra_forbidden" for detail in error.errors()):
        return f"{lines}\nfields of SolvePolicy: {known}"
    return lines
