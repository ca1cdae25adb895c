"""Goals: what the simple agent carries, gives back and tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field

from ._model import Data, Stored
from .event import EventType
from .evidence import bounded
from .report import TaskReport, Validation, answer_report, failed_report

__all__ = (
    "AgentEvent",
    "AgentResult",
    "AgentStatus",
    "GoalAchievedEvent",
    "GoalExhaustedEvent",
    "GoalFailedEvent",
    "GoalState",
    "GoalSubmittedEvent",
    "IterationCompletedEvent",
    "TimeoutEvent",
)

_SUMMARY_CHARS = 200

AgentStatus = Literal["working", "achieved", "failed", "exhausted", "timed_out", "interrupted"]
"""`achieved`: the model said DONE. `failed`: it said FAIL, or could not be called. `exhausted`: the iterations ran out.
`timed_out`: the time did. `interrupted`: a tool asks a person; only a result says so, a state is still `working`."""


class GoalState(Stored):
    """How far the agent has come with its goal.

    Attributes:
        goal: What was asked.
        iteration: Replies without tool calls so far.
        solution: The last answer, whether or not it is final.
        status: Where it stands.
        reason: Why it ended without a final answer.
        rounds: Rounds of tool calls in this iteration.
        elapsed: Seconds of work; waiting for a person is not counted.
    """

    goal: str = ""
    iteration: int = 0
    solution: str | None = None
    status: AgentStatus = "working"
    reason: str = ""
    rounds: int = 0
    elapsed: float = 0.0

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return self.status != "working"


class AgentResult(Data):
    """What the agent gives back.

    Attributes:
        success: Whether the model called its answer final.
        solution: The answer; without success the best one so far, if there is any.
        status: How it ended.
        reason: Why there is no final answer.
        iterations: Replies without tool calls.
    """

    success: bool
    solution: str | None = None
    status: AgentStatus
    reason: str = ""
    iterations: int = 0

    @classmethod
    def of(cls, state: GoalState) -> Self:
        """The result of a goal's state."""
        return cls(
            success=state.status == "achieved",
            solution=state.solution,
            status=state.status,
            reason=state.reason,
            iterations=state.iteration,
        )

    @classmethod
    def told_by(cls, output: Any) -> bool:
        """Whether a graph's output is an agent's result."""
        return isinstance(output, Mapping) and cls.model_fields.keys() <= output.keys()

    def report(self) -> TaskReport:
        """The result as a solver's report: `satisfied`, `partial` with an answer that is not final, or `failed`."""
        if self.success and self.solution is not None:
            return answer_report(self.solution)
        reason = self.reason or f"the agent's goal is {self.status}"
        if self.status == "failed" or not self.solution:
            raw = bounded(self.solution, limit=2_000).text if self.solution else ""
            return failed_report(reason, raw=raw)
        return TaskReport(
            summary=self.solution[:_SUMMARY_CHARS],
            outcome="partial",
            validation=Validation(open_issues=[reason]),
            outputs=[{"text": self.solution}],
            remaining_issues=[reason],
        )


class AgentEvent(Data):
    """Something that happened to a goal. Who subscribes to this class gets every event.

    Attributes:
        run_id: The run it belongs to.
        time: When, in seconds since the epoch.
        state: The goal's state right after it.
    """

    kind: ClassVar[EventType]

    run_id: str
    time: float
    state: GoalState = Field(default_factory=GoalState)

    @property
    def goal(self) -> str:
        """What was asked."""
        return self.state.goal

    @property
    def iteration(self) -> int:
        """Replies without tool calls so far."""
        return self.state.iteration

    @property
    def solution(self) -> str | None:
        """The last answer."""
        return self.state.solution

    @property
    def reason(self) -> str:
        """Why there is no final answer."""
        return self.state.reason


class GoalSubmittedEvent(AgentEvent):
    """A goal was given to the agent."""

    kind = "goal_submitted"


class IterationCompletedEvent(AgentEvent):
    """The model gave a reply that calls no tool.

    Attributes:
        response: The reply's text.
    """

    kind = "iteration_completed"

    response: str = ""


class GoalAchievedEvent(AgentEvent):
    """The model called its last answer final."""

    kind = "goal_achieved"


class GoalFailedEvent(AgentEvent):
    """The model gave up, or could not be called."""

    kind = "goal_failed"


class GoalExhaustedEvent(AgentEvent):
    """The iterations ran out before an answer was called final."""

    kind = "goal_exhausted"


class TimeoutEvent(AgentEvent):
    """The time ran out before an answer was called final."""

    kind = "goal_timed_out"
