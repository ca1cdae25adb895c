"""Which errors of a provider are worth a second try."""

from __future__ import annotations

from langgraph_recursive.state.errors import RecursiveSolverError

__all__ = ("is_transient",)

_TRANSIENT_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
_TRANSIENT_NAMES = (
    "ratelimit",
    "timeout",
    "apiconnection",
    "serviceunavailable",
    "overloaded",
    "toomanyrequests",
)


def is_transient(error: BaseException) -> bool:
    """Tell whether an error looks like one that passes by itself: 429, 5xx, time-outs, lost connections.

    Providers' packages share no base class, so the status code counts first and then the class names.
    """
    if isinstance(error, RecursiveSolverError):
        return False  # our own time-out: every try shares one deadline
    if isinstance(error, ConnectionError | TimeoutError):
        return True
    status = getattr(error, "status_code", None) or getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(status, int):
        return status in _TRANSIENT_STATUS
    names = (kind.__name__.lower() for kind in type(error).__mro__)
    return any(part in name for name in names for part in _TRANSIENT_NAMES)
