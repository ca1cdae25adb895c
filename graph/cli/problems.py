"""A user's mistakes, each told in one line."""

from __future__ import annotations

__all__ = ("FAILED", "STOPPED", "USAGE", "Problem", "told")

FAILED = 1
USAGE = 2
STOPPED = 130

_SHOWN = 400


class Problem(Exception):  # noqa: N818 - what the user is told, not an error of the library
    """Ends the command with one line on stderr.

    Attributes:
        code: The exit code.
    """

    def __init__(self, message: str, *, code: int = USAGE) -> None:
        super().__init__(message)
        self.code = code


def told(error: BaseException) -> str:
    """An exception's message in one line, with its type where the message says nothing."""
    message = " ".join(str(error).split())
    if not message or isinstance(error, KeyError):
        message = f"{type(error).__name__}: {message}".rstrip(": ")
    return message if len(message) <= _SHOWN else message[: _SHOWN - 3] + "..."
