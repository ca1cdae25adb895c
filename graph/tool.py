"""solver_tool: a solver as a tool that any agent may call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langgraph.errors import GraphBubbleUp
from pydantic import BaseModel, Field
from pydantic_core import to_jsonable_python

from langgraph_recursive.state._model import plain
from langgraph_recursive.state.brief import RootTaskAnchor, TaskBrief
from langgraph_recursive.state.errors import InvalidInputError

from .solver import RecursiveSolver

__all__ = ("solver_tool",)

DESCRIPTION = (
    "Solve a task that is too big or too unreliable for one step: it is split, solved, checked and repaired. "
    "Returns the checked answer, or an error that says why there is none."
)
_ARTIFACT = ("output", "success", "verified", "attempts", "usage")
_BRIEF = {*TaskBrief.model_fields, *RootTaskAnchor.model_fields}


class SolveArguments(BaseModel):
    """What a model fills in."""

    task: str = Field(description="The whole task in words; nothing else of this conversation is known to the solver.")


def solver_tool(
    solver: RecursiveSolver,
    *,
    name: str | None = None,
    description: str = DESCRIPTION,
    args_schema: type[BaseModel] | dict[str, Any] = SolveArguments,
) -> BaseTool:
    """Make a tool of a solver, for `create_agent` and any model with `bind_tools`.

    Within a graph it runs with that graph's config: interrupts reach the agent's caller and are resumed there, and
    checkpointer, store, context and callbacks carry through. The tool message holds the accepted answer, and as its
    artifact the whole result as JSON data. A halt or an error comes back as a tool message with the status "error".

    Args:
        solver: The solver.
        name: Name of the tool; by default the solver's.
        description: Tells the model when to use it.
        args_schema: What the model fills in, a pydantic class or a JSON schema; it is the solver's input. It needs a
            `task`, `messages`, or the fields of a TaskBrief or RootTaskAnchor.

    Raises:
        InvalidInputError: `solver` is no solver, or `args_schema` has no task, or fields that no task has.
    """
    if not isinstance(solver, RecursiveSolver):
        raise InvalidInputError(
            f"solver is a {type(solver).__name__}: give what create_recursive_solver returned",
            field="solver",
            value=solver,
        )

    def solve(**arguments: Any) -> tuple[str, dict[str, Any]]:
        try:
            return _answer(solver.invoke(_input(arguments)))
        except (GraphBubbleUp, ToolException):
            raise
        except Exception as error:
            raise _refused(error) from error

    async def asolve(**arguments: Any) -> tuple[str, dict[str, Any]]:
        try:
            return _answer(await solver.ainvoke(_input(arguments)))
        except (GraphBubbleUp, ToolException):
            raise
        except Exception as error:
            raise _refused(error) from error

    tool = StructuredTool.from_function(
        func=solve,
        coroutine=asolve,
        name=name if name is not None else solver.name,
        description=description,
        args_schema=args_schema,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )
    _check_fields(set(tool.args))
    return tool


def _check_fields(names: set[str]) -> None:
    """Refuse a schema without a task, or with what the solver would not read.

    Raises:
        InvalidInputError: It is such a schema.
    """
    if names & {"task", "messages"} and names <= {"task", "task_id", "messages"}:
        return
    if {"objective", "completion_criteria"} <= names <= _BRIEF:
        return
    raise InvalidInputError(
        f"args_schema has {', '.join(sorted(names)) or 'no fields'}: it needs task or messages, "
        "or the fields of a TaskBrief or RootTaskAnchor, and nothing else",
        field="args_schema",
        value=sorted(names),
    )


def _input(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The solver's input: without what a model did not fill in, and as plain data."""
    return {key: plain(value) for key, value in arguments.items() if value is not None}


def _answer(result: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The tool message's text and its artifact.

    Raises:
        ToolException: There is no accepted answer; the text says why, and what there is all the same.
    """
    if result.get("__interrupt__"):
        asked = json.dumps([entry.value for entry in result["__interrupt__"]], default=str)
        raise ToolException(f"The solver asks {asked}: call this tool in a graph with a checkpointer to answer it.")
    text = str(result["messages"][-1].text)
    if not result["success"]:
        finished = [f"- {part.task}: {part.text}" for part in result["partial"]]
        raise ToolException(
            "\n".join([text, *(["What there is, none of it accepted as the answer:"] if finished else []), *finished])
        )
    return text, {key: to_jsonable_python(result[key]) for key in _ARTIFACT}


def _refused(error: Exception) -> ToolException:
    return ToolException(f"{type(error).__name__}: {error}")
