"""Run the app and turn every end into an exit code."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Sequence

import typer

from langgraph_recursive.state.errors import RecursiveSolverError

from ..view.safe import visible
from .app import app
from .consoles import prepare_streams, say
from .problems import FAILED, STOPPED, USAGE, Problem, told

__all__ = ("run_app",)

_PIPE_CLOSED = 141  # as a shell reports a program that SIGPIPE ended


def run_app(arguments: Sequence[str]) -> int:
    """Run a command line.

    Args:
        arguments: Without the program's name.

    Returns:
        The exit code. A mistake of the user is one line on stderr; anything else unexpected is raised.
    """
    prepare_streams()
    try:
        code = app(list(arguments), prog_name="langgraph-recursive", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        return _pipe_closed()
    except Problem as problem:
        return _complain(told(problem), problem.code)
    except typer.TyperException as error:
        usage = told_usage(error)  # empty when no command was given: then the help has been printed
        return _complain(f"{usage} (see --help)", USAGE) if usage else USAGE
    except RecursiveSolverError as error:
        return _complain(told(error), USAGE)
    except sqlite3.Error as error:
        return _complain(f"database: {told(error)}", FAILED)
    except (KeyboardInterrupt, typer.Abort):
        return _complain("stopped", STOPPED)
    return code if isinstance(code, int) else 0


def told_usage(error: typer.TyperException) -> str:
    """A usage error as typer words it, in one line."""
    return " ".join(error.format_message().split()).rstrip(".")


def _complain(message: str, code: int) -> int:
    say(f"langgraph-recursive: {visible(message)}")
    return code


def _pipe_closed() -> int:
    # Else the interpreter complains when it flushes stdout at its end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _PIPE_CLOSED
