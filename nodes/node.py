"""A node as LangGraph runs it: one body, for threads and for the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.errors import GraphInterrupt
from langgraph.types import Command

from langgraph_recursive.state.task_state import TaskState

from .context import CallFailed, Context, entered
from .effects import Body, adrive, drive
from .execution import RUN_KEY, Execution, Update, run_of
from .run import TaskStopped

if TYPE_CHECKING:
    from .components import Components

__all__ = ("RUN_KEY", "Node", "NodeBody", "Route", "Update", "run_of")

NodeBody = Callable[[TaskState, Context], Body[Update]]
Route = Callable[[TaskState], str]
"""Names the node that comes next, or END."""


class Node(Runnable[dict[str, Any], Command[str]]):
    """One node of the state machine.

    Args:
        name: Its name in the graph.
        body: What it does, written once for sync and async.
        route: Which node comes next.
        parts: The components.
        solver_name: Name of the solver's graph.
    """

    def __init__(self, name: str, body: NodeBody, route: Route, parts: Components, solver_name: str) -> None:
        self.name = name
        self.body = body
        self.route = route
        self.parts = parts
        self.solver_name = solver_name

    def invoke(self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any) -> Command[str]:
        """Run the body in this thread."""
        execution = Execution(self, input, config or {})
        try:
            with entered(execution.context):
                return execution.finish(drive(self.body(execution.state, execution.context)))
        except (TaskStopped, CallFailed) as stop:
            return execution.finish(execution.stopped(stop))
        except GraphInterrupt as interrupt:
            raise execution.interrupted(interrupt) from None

    async def ainvoke(self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any) -> Command[str]:
        """Run the body on the event loop."""
        execution = Execution(self, input, config or {}, asyncio.get_running_loop())
        try:
            with entered(execution.context):
                return execution.finish(await adrive(self.body(execution.state, execution.context)))
        except (TaskStopped, CallFailed) as stop:
            return execution.finish(execution.stopped(stop))
        except GraphInterrupt as interrupt:
            raise execution.interrupted(interrupt) from None
        finally:
            await execution.run.told()
