"""What is carried: the data of a task and the rules on that data.

The recursive task protocol was written for another framework. Its names stand for ours so (rules.md 26):

| there | here |
|---|---|
| Trace | an attempt at a task; `child_trace_id` and `parent_trace_id` are `child_task_id` and `parent_task_id` |
| UID | the user: `user_id`, from the Runtime context or the config, fixed at the root |
| Goal | the status of a task (`GoalStatus`), computed from its state |
| root message | a failure of the root's, which its next attempt reads |
| tools allowed in a state | the edges of the graph, and for `agent_parent` the tools of each gate |
"""

if __name__ != "langgraph_recursive.state":
    raise ImportError("import this room as langgraph_recursive.state")

from .answer import Answer
from .artifacts import ArtifactResolver, ResolvedArtifact
from .brief import ContextRef, RootTaskAnchor, SubTask, TaskBrief
from .budget import Budget
from .context_reads import ContextRead
from .errors import (
    CallTimeoutError,
    ChangedAnchorError,
    ChangedBriefError,
    ChangedUserError,
    ComponentError,
    ContextReadError,
    FinishedThreadError,
    InvalidInputError,
    InvalidPolicyError,
    MissingDependencyError,
    MissingSolverError,
    MissingThreadError,
    MixedResultError,
    NotRunningError,
    RecursiveSolverError,
    RunningThreadError,
    UnknownTaskError,
    UnknownThreadError,
    UnparsableOutputError,
    UnreachedPointError,
    WrongSaverError,
)
from .event import Event, EventType
from .evidence import Evidence, bounded
from .failure import Failure
from .goal import GoalStatus, goal_status
from .intervention import Intervention
from .owner import Owner
from .report import ArtifactRef, NextStepSuggestion, TaskReport, Validation
from .review import ReviewDecision, TaskReview
from .task import Attempt, Halt, Partial, PlannedChild, Task, TaskInput
from .task_state import ChildResult, NextAction, TaskState
from .trace import SolveTrace
from .usage import Usage
from .validation import ValidationPlan
from .validation_policy import ValidationCheckSpec, ValidationPolicy
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
    "ArtifactResolver",
    "Attempt",
    "Budget",
    "CallTimeoutError",
    "ChangedAnchorError",
    "ChangedBriefError",
    "ChangedUserError",
    "ChildResult",
    "ComponentError",
    "ContextRead",
    "ContextReadError",
    "ContextRef",
    "Event",
    "EventType",
    "Evidence",
    "Failure",
    "FinishedThreadError",
    "GoalStatus",
    "Halt",
    "Intervention",
    "InvalidInputError",
    "InvalidPolicyError",
    "MissingDependencyError",
    "MissingSolverError",
    "MissingThreadError",
    "MixedResultError",
    "NextAction",
    "NextStepSuggestion",
    "NotRunningError",
    "Owner",
    "Partial",
    "PlannedChild",
    "RecursiveSolverError",
    "ResolvedArtifact",
    "RetryFrom",
    "ReviewDecision",
    "RootTaskAnchor",
    "RunningThreadError",
    "ScopeValidationResult",
    "SolveTrace",
    "SubTask",
    "Task",
    "TaskBrief",
    "TaskInput",
    "TaskReport",
    "TaskReview",
    "TaskState",
    "UnknownTaskError",
    "UnknownThreadError",
    "UnparsableOutputError",
    "UnreachedPointError",
    "Usage",
    "Validation",
    "ValidationCheck",
    "ValidationCheckSpec",
    "ValidationPlan",
    "ValidationPolicy",
    "ValidationResult",
    "Verdict",
    "WrongSaverError",
    "accept",
    "bounded",
    "goal_status",
    "reject",
)
