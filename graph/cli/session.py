"""One run of a thread, from its settings to its exit code."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from ..demo import render_table
from ..halted import put_back
from ..solver import RecursiveSolver
from ..view.growing import GrowingTree
from ..view.live import LiveTree
from ..view.safe import clean
from .consoles import say
from .execution import execute
from .names import new_name
from .problems import FAILED, Problem
from .progress import progress_for
from .results import report, resume_command, told_questions
from .runs import Runs
from .settings import Settings
from .show import run_summary

__all__ = ("UNENDED", "Output", "Session", "thread_name")

UNENDED = ("unfinished", "asks")
"""States of a thread, as `run_summary` names them, whose run can only be resumed."""


@dataclass(frozen=True)
class Output:
    """What is written where.

    Attributes:
        as_json: Whether stdout gets one JSON object.
        quiet: Whether only the answer and complaints are wanted.
    """

    as_json: bool = False
    quiet: bool = False


class Session:
    """A thread that is about to run.

    Args:
        runs: The database.
        thread: Its name.
        settings: What the solver is built from.
        solver: The solver, without a saver.
        db: The database as the user named it, for the command that resumes.
    """

    def __init__(self, runs: Runs, thread: str, settings: Settings, solver: RecursiveSolver, db: Path | None) -> None:
        self.thread = thread
        self.settings = settings
        self.solver = solver.copy({"checkpointer": runs.saver})
        self.tree = GrowingTree()
        self.again = resume_command(thread, None if db is None else str(db))
        self.config: RunnableConfig = {
            "configurable": {"thread_id": thread},
            "metadata": settings.metadata(),
        }

    def continue_from_halt(self, decision: Mapping[str, Any], task_id: str | None, output: Output) -> None:
        """Have a run that halted go on as a person decided, and tell what it came to.

        Args:
            decision: Fields of Intervention.
            task_id: The task that it is about; None for the one behind the halt.
            output: What is written where.

        Raises:
            RecursiveSolverError: It did not halt, or the decision cannot be carried out.
            typer.Exit: There is no accepted answer.
        """
        self.config = put_back(self.solver, self.config, decision, task_id)
        self.run(None, output)

    def run(self, input: Any, output: Output) -> None:
        """Run it and tell what it came to.

        Raises:
            typer.Exit: There is no accepted answer.
        """
        screen = progress_for(LiveTree(self.tree), f"thread {self.thread}", quiet=output.quiet, json=output.as_json)
        farewell = f"stopped; carry on with: {self.again}"
        outcome = execute(self.solver, input, self.config, screen, farewell=farewell)
        code = report(
            outcome,
            self.thread,
            self.again,
            as_json=output.as_json,
            quiet=output.quiet,
            worded=render_table if self.settings.demo else None,
        )
        if code:
            raise typer.Exit(code)

    def input_of_resume(self, answers: Sequence[str]) -> Command[Any] | None:
        """Answers to what the run asks, or nothing when it asks nothing.

        Raises:
            Problem: Answers and questions do not match.
        """
        interrupts = self.solver.get_state(self.config).interrupts
        if not interrupts:
            if answers:
                raise Problem(f"--answer: thread {self.thread!r} asks nothing")
            return None
        if len(answers) != len(interrupts):
            for line in told_questions(interrupts, self.again):
                say(line)
            raise Problem(f"{len(interrupts)} to answer, {len(answers)} given", code=FAILED)
        values = [_parsed(text) for text in answers]
        return Command(resume={entry.id: value for entry, value in zip(interrupts, values, strict=True)})


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return clean(text)


def thread_name(runs: Runs, thread: str | None) -> str:
    """The name for a new run: the one given, or a new one.

    Raises:
        Problem: It is empty, or its last run is unfinished.
    """
    if thread is None:
        return new_name(runs.has)
    if not thread.strip():
        raise Problem("--thread is empty")
    if runs.has(thread) and run_summary(runs, thread)["state"] in UNENDED:
        raise Problem(f"thread {thread!r} has an unfinished run: resume it, or take another --thread")
    return thread
