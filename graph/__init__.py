"""How the nodes are wired and run: the solver, its front, its policy, its saver."""

import importlib
from typing import TYPE_CHECKING, Any

if __name__ != "langgraph_recursive.graph":
    raise ImportError("import this room as langgraph_recursive.graph")

if TYPE_CHECKING:
    from .api import *  # noqa: F403 - the names that are asked for below


def __getattr__(name: str) -> Any:
    """Import the room's names with the first that is asked for.

    The command line lies below this package: so it begins at once, and is not interrupted half imported.
    """
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.api"), name)


def __dir__() -> list[str]:
    return [*globals(), *__getattr__("__all__")]
