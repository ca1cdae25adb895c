"""What is carried: the data of a task and the rules on that data."""

if __name__ != "langgraph_recursive.state":
    raise ImportError("import this room as langgraph_recursive.state")

from .answer import Answer
from .brief import ContextRef, RootTaskAnchor, SubTask, TaskBrief
from .budget import Budget
from .errors import (
    CallTimeoutError,
    ChangedAnchorError,
    ChangedBriefError,
    ComponentError,
    FinishedThreadError,
    InvalidInputError,
    InvalidPolicyError,
    MissingDependencyError,
    MissingSolverError,
    MissingThreadError,
    MixedResultError,
    RecursiveSolverError,
    UnknownThreadError,
    UnparsableOutputError,
    WrongSaverError,
)
from .event import Event, EventType
from .evidence import Evidence, bounded
from .failure import Failure
from .goal import GoalStatus, goal_status
from .report import ArtifactRef, NextStepSuggestion, TaskReport, Validation
from .review import ReviewDecision, TaskReview
from .task import Attempt, Halt, Partial, PlannedChild, Task, TaskInput
from .task_state import ChildResult, NextAction, TaskState
from .trace import SolveTrace
from .usage import Usage
from .verdict import (
    RetryFrom,
    ScopeValidationResult,
    ValidationCheck,
    ValidationResult,
    Verdict,
    accept,
    reject,
)

__all__ = (
    "Answer",
    "ArtifactRef",
    "Attempt",
    "Budget",
    "CallTimeoutError",
    "ChangedAnchorError",
    "ChangedBriefError",
    "ChildResult",
    "ComponentError",
    "ContextRef",
    "Event",
    "EventType",
    "Evidence",
    "Failure",
    "FinishedThreadError",
    "GoalStatus",
    "Halt",
    "InvalidInputError",
    "InvalidPolicyError",
    "MissingDependencyError",
    "MissingSolverError",
    "MissingThreadError",
    "MixedResultError",
    "NextAction",
    "NextStepSuggestion",
    "Partial",
    "PlannedChild",
    "RecursiveSolverError",
    "RetryFrom",
    "ReviewDecision",
    "RootTaskAnchor",
    "ScopeValidationResult",
    "SolveTrace",
    "SubTask",
    "Task",
    "TaskBrief",
    "TaskInput",
    "TaskReport",
    "TaskReview",
    "TaskState",
    "UnknownThreadError",
    "UnparsableOutputError",
    "Usage",
    "Validation",
    "ValidationCheck",
    "ValidationResult",
    "Verdict",
    "WrongSaverError",
    "accept",
    "bounded",
    "goal_status",
    "reject",
)
