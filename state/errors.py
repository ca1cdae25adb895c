"""Errors by cause, each with a stable code, the field, the value, the rule and the remedy.

Only bad input, components of the wrong shape and failures of the machinery itself are raised. What goes wrong in
the work becomes a report or a halt, and LangGraph's own `GraphBubbleUp` family always passes through.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import ValidationError

__all__ = (
    "CallTimeoutError",
    "ChangedAnchorError",
    "ChangedBriefError",
    "ChangedUserError",
    "ComponentError",
    "ContextReadError",
    "FinishedThreadError",
    "InvalidInputError",
    "InvalidPolicyError",
    "MissingDependencyError",
    "MissingSolverError",
    "MissingThreadError",
    "MixedResultError",
    "NotRunningError",
    "RecursiveSolverError",
    "RunningThreadError",
    "UnknownTaskError",
    "UnknownThreadError",
    "UnparsableOutputError",
    "UnreachedPointError",
    "WrongSaverError",
    "invalid_fields",
)

_SHOWN = 200
_KEPT = 4_000


class RecursiveSolverError(Exception):
    """The base of every error this library raises.

    Args:
        message: What is wrong and what to do about it.
        field: The input or setting at fault, if there is one.
        value: The value it had. A text is kept up to 4,000 characters, of anything else the bounded `repr`, so that
            the error pickles.
    """

    code: ClassVar[str] = "recursive_solver_error"

    def __init__(self, message: str, *, field: str | None = None, value: Any = None) -> None:
        super().__init__(message)
        self.field = field
        self.value = value[:_KEPT] if isinstance(value, str) else None if value is None else _shown(value)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), str(self), self.field, self.value)


def _rebuild(cls: type[RecursiveSolverError], message: str, field: str | None, value: Any) -> RecursiveSolverError:
    return cls(message, field=field, value=value)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


class InvalidInputError(RecursiveSolverError, ValueError):
    """The task or another input breaks a rule."""

    code = "invalid_input"


class InvalidPolicyError(RecursiveSolverError, ValueError):
    """A policy field is unknown or out of bounds."""

    code = "invalid_policy"


class MissingSolverError(RecursiveSolverError, ValueError):
    """Neither a model nor a solver was given."""

    code = "missing_solver"


class ComponentError(RecursiveSolverError, TypeError):
    """A component cannot be called as its role asks, or returned something of the wrong shape."""

    code = "invalid_component"


class MissingThreadError(RecursiveSolverError, ValueError):
    """A checkpointer is set and the config has no `thread_id`."""

    code = "missing_thread_id"


class UnknownThreadError(RecursiveSolverError, LookupError):
    """Nothing was ever stored under this `thread_id`, so there is nothing to resume."""

    code = "unknown_thread"


class FinishedThreadError(RecursiveSolverError, ValueError):
    """The thread's last run has ended, so there is nothing to resume."""

    code = "finished_thread"


class RunningThreadError(RecursiveSolverError, RuntimeError):
    """The thread's run is still under way."""

    code = "running_thread"


class NotRunningError(RecursiveSolverError, LookupError):
    """There is no such run under way in this process."""

    code = "not_running"


class UnknownTaskError(RecursiveSolverError, LookupError):
    """There is no task of this id; the message names those there are."""

    code = "unknown_task"


class UnreachedPointError(RecursiveSolverError, ValueError):
    """The task never came to this point, or no checkpoint of it was kept; the message names the points there are."""

    code = "unreached_point"


class WrongSaverError(RecursiveSolverError, TypeError):
    """The saver has no methods for this kind of call, sync or async."""

    code = "wrong_saver"


class MissingDependencyError(RecursiveSolverError, ImportError):
    """A package behind an extra is not installed."""

    code = "missing_dependency"


class MixedResultError(RecursiveSolverError, RuntimeError):
    """A child came back with another child's id: the checkpoints of this thread are inconsistent."""

    code = "mixed_result"


class ChangedBriefError(RecursiveSolverError, RuntimeError):
    """A child was about to run on another brief than the one its parent approved."""

    code = "changed_brief"


class ChangedAnchorError(RecursiveSolverError, RuntimeError):
    """The root's anchor is not the one that the tree was started with."""

    code = "changed_anchor"


class ChangedUserError(RecursiveSolverError, RuntimeError):
    """A run goes on under another user than the one it was started by."""

    code = "changed_user"


class ContextReadError(RecursiveSolverError, LookupError):
    """A context reference cannot be read: it was not granted, is unknown, or is over the task's allowance."""

    code = "context_read_refused"


class UnparsableOutputError(RecursiveSolverError, ValueError):
    """A model's answer does not have the form that was asked for. It is asked for again, at most twice."""

    code = "unparsable_output"


class CallTimeoutError(RecursiveSolverError, TimeoutError):
    """A component call took longer than its time-out."""

    code = "call_timed_out"


def invalid_fields(subject: str, error: ValidationError) -> str:
    """Say in one line per field which rule each value breaks.

    Args:
        subject: What was being read, such as `task` or `SolvePolicy`.
        error: pydantic's error about it.
    """
    lines = []
    for detail in error.errors(include_url=False):
        where = ".".join(str(part) for part in detail["loc"])
        name = f"{subject}.{where}" if where else subject
        message = detail["msg"].removeprefix("Value error, ")
        lines.append(f"{name} = {_shown(detail['input'])}: {message}")
    return "\n".join(lines)
