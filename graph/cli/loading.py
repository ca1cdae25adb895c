"""Load a user's own solver: `--graph path.py:name` or `--graph package.module:name`."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from ..solver import RecursiveSolver
from .problems import Problem, told

__all__ = ("absolute_reference", "load_solver")


def absolute_reference(reference: str) -> str:
    """Make the path in a reference absolute, so that a resume from another folder finds it.

    Raises:
        Problem: It is not `FILE.py:NAME` or `MODULE:NAME`.
    """
    where, colon, name = reference.rpartition(":")
    if not colon or not where or not name:
        raise Problem(f"--graph {reference!r}: give FILE.py:NAME or MODULE:NAME")
    return f"{Path(where).resolve()}:{name}" if _is_file(where) else reference


def load_solver(reference: str) -> RecursiveSolver:
    """Import what a reference names: a solver, or a function without arguments that makes one.

    Raises:
        Problem: It cannot be loaded, or is no solver.
    """
    with contextlib.redirect_stdout(sys.stderr):
        found = _found(reference)
    if not isinstance(found, RecursiveSolver):
        raise Problem(
            f"--graph {reference}: is of type {type(found).__name__}, not what create_recursive_solver returns, "
            "nor a function that makes it"
        )
    return found


def _found(reference: str) -> Any:
    where, _, name = reference.rpartition(":")
    module = _imported(where)
    if not hasattr(module, name):
        raise Problem(f"--graph: {where} has no {name!r}")
    found = getattr(module, name)
    if not isinstance(found, RecursiveSolver) and callable(found):
        return _made(found, reference)
    return found


def _is_file(where: str) -> bool:
    return where.endswith(".py") or "/" in where


def _imported(where: str) -> ModuleType:
    try:
        return _from_file(Path(where)) if _is_file(where) else _from_path(where)
    except Problem:
        raise
    except Exception as error:  # a mistake in the user's file is told, whatever it is
        raise Problem(f"--graph: cannot import {where}: {_located(error)}") from error


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise Problem(f"--graph: there is no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise Problem(f"--graph: {path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    return module


def _from_path(name: str) -> ModuleType:
    if "" not in sys.path:
        sys.path.insert(0, "")
    return importlib.import_module(name)


def _made(factory: Any, reference: str) -> Any:
    try:
        made = factory()
    except Exception as error:  # likewise
        raise Problem(f"--graph {reference}: {_located(error)}") from error
    if inspect.iscoroutine(made):
        made.close()
        raise Problem(f"--graph {reference}: is async; give a plain function")
    return made


def _located(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1] if frames else None
    where = f" ({last.filename}:{last.lineno})" if last and not last.filename.startswith("<") else ""
    return f"{type(error).__name__}: {told(error)}{where}"
