"""The commands."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Annotated, Any

import typer
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from ..builder import create_recursive_solver
from ..solver import RecursiveSolver
from . import options as opt
from .consoles import say, stdout
from .execution import execute
from .names import new_name
from .picture import PICTURE
from .problems import FAILED, Problem, told
from .progress import progress_for
from .results import print_json, report, resume_command, told_questions
from .runs import Runs, open_runs
from .settings import Settings
from .show import run_summary, show_runs, show_thread, thread_as_json
from .text import clean
from .tree import Tree

__all__ = ("app",)

app = typer.Typer(
    name="langgraph-recursive",
    help="Solve a task too big for one call: split it, solve the parts, combine, check, and repair what fails.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Thread = Annotated[str, typer.Argument(help="The thread's name; `runs` lists them.")]


def _version(wanted: bool) -> None:
    if wanted:
        print(installed_version("langgraph-recursive"))
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def solve(
    task: Annotated[str | None, typer.Argument(help="The task; - reads it from stdin.")] = None,
    file: Annotated[Path | None, typer.Option(metavar="FILE", help="Read the task from a file.")] = None,
    thread: Annotated[
        str | None, typer.Option(help="Name to store the run under. Default: a new one, which is printed.")
    ] = None,
    model: opt.Model = None,
    verify_with: opt.VerifyWith = None,
    cwd: opt.Cwd = None,
    graph: opt.Graph = None,
    max_depth: opt.MaxDepth = None,
    max_children: opt.MaxChildren = None,
    max_attempts: opt.MaxAttempts = None,
    max_fixes: opt.MaxFixes = None,
    max_concurrency: opt.MaxConcurrency = None,
    max_task_seconds: opt.MaxTaskSeconds = None,
    db: opt.Db = None,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
) -> None:
    """Solve a task. Exit code 0: accepted; 1: no accepted answer; 130: Ctrl-C."""
    text = _task_text(task, file)
    policy = _policy(max_depth, max_children, max_attempts, max_fixes, max_concurrency, max_task_seconds)
    settings = Settings.given(model=model, verify_with=verify_with, cwd=cwd, graph=graph, policy=policy)
    solver = settings.solver()
    if settings.embedded:
        say("no --model: the embedded 135M model answers; it is too weak to plan or to judge free text")
    with open_runs(db, make=True) as runs:
        name = _thread_name(runs, thread)
        tree = Tree(max_attempts=solver.policy.max_attempts)
        _run(runs, solver, text, name, settings, tree, db, as_json=as_json, quiet=quiet)


@app.command()
def resume(
    thread: Thread,
    answer: opt.Answers = None,
    model: opt.Model = None,
    verify_with: opt.VerifyWith = None,
    cwd: opt.Cwd = None,
    graph: opt.Graph = None,
    max_depth: opt.MaxDepth = None,
    max_children: opt.MaxChildren = None,
    max_attempts: opt.MaxAttempts = None,
    max_fixes: opt.MaxFixes = None,
    max_concurrency: opt.MaxConcurrency = None,
    max_task_seconds: opt.MaxTaskSeconds = None,
    db: opt.Db = None,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
) -> None:
    """Carry on a run that was stopped, killed or asks something. What is finished is not done again."""
    policy = _policy(max_depth, max_children, max_attempts, max_fixes, max_concurrency, max_task_seconds)
    given = Settings.given(model=model, verify_with=verify_with, cwd=cwd, graph=graph, policy=policy)
    with open_runs(db) as runs:
        stored = runs.settings(thread)
        if stored is None and given == Settings():
            raise Problem(f"thread {thread!r} was made by another program: name its solver with --graph or --model")
        settings = given if stored is None else stored.updated(given)
        solver = settings.solver()
        command = _answers(runs, solver, thread, answer or [], db)
        tree = Tree(max_attempts=solver.policy.max_attempts)
        tree.load(runs.tasks(thread))
        _run(runs, solver, command, thread, settings, tree, db, as_json=as_json, quiet=quiet)


@app.command("runs")
def list_runs(db: opt.Db = None, as_json: opt.AsJson = False) -> None:
    """List the runs, the latest first."""
    try:
        with open_runs(db) as runs:
            summaries = [run_summary(runs, thread) for thread in runs.threads()]
    except Problem as problem:
        if not str(problem).startswith("there are no runs yet"):
            raise
        summaries = []
    if as_json:
        print_json({"runs": summaries})
    elif summaries:
        show_runs(summaries, stdout())
    else:
        say("there are no runs yet")


@app.command()
def show(thread: Thread, db: opt.Db = None, as_json: opt.AsJson = False) -> None:
    """Show a run's tree with attempts, verdicts and evidence."""
    with open_runs(db) as runs:
        settings = runs.settings(thread) or Settings()
        tasks = runs.tasks(thread)
    tree = Tree(max_attempts=_max_attempts(settings))
    tree.load(tasks)
    if as_json:
        print_json(thread_as_json(tasks, tree, thread))
    else:
        show_thread(tasks, tree, stdout())


@app.command("graph")
def draw(
    ascii_: Annotated[bool, typer.Option("--ascii", help="Draw it as text.")] = False,
) -> None:
    """Print the state machine, as Mermaid or as text."""
    if ascii_:
        print(PICTURE)
    else:
        print(create_recursive_solver(solver=str).get_graph().draw_mermaid().rstrip())


# --- what the commands share ---


def _task_text(task: str | None, file: Path | None) -> str:
    if (task is None) == (file is None):
        raise Problem("give the task as text, - for stdin, or --file: exactly one of them")
    if file is not None:
        try:
            text = file.read_text(encoding="utf-8")
        except OSError as error:
            raise Problem(f"--file {file}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise Problem(f"--file {file}: is not UTF-8 text") from error
    elif task == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
    else:
        text = clean(task or "")
    if not text.strip():
        raise Problem("the task is empty: say what is to be done")
    return text.strip("\n")


def _policy(
    depth: int | None,
    children: int | None,
    attempts: int | None,
    fixes: int | None,
    concurrency: int | None,
    seconds: float | None,
) -> dict[str, float | None]:
    return {
        "max_depth": depth,
        "max_children": children,
        "max_attempts": attempts,
        "max_fixes_total": fixes,
        "max_concurrency": concurrency,
        "max_task_seconds": seconds,
    }


def _thread_name(runs: Runs, thread: str | None) -> str:
    if thread is None:
        return new_name(runs.has)
    if not thread.strip():
        raise Problem("--thread is empty")
    latest = runs.latest(thread)
    if latest is not None and run_summary(runs, thread)["state"] in ("unfinished", "asks"):
        raise Problem(f"thread {thread!r} has an unfinished run: resume it, or take another --thread")
    return thread


def _run(
    runs: Runs,
    solver: RecursiveSolver,
    input: Any,
    thread: str,
    settings: Settings,
    tree: Tree,
    db: Path | None,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    again = resume_command(thread, None if db is None else str(db))
    progress = progress_for(tree, f"thread {thread}", quiet=quiet, json=as_json)
    lent = solver.copy({"checkpointer": runs.saver})
    config: RunnableConfig = {"configurable": {"thread_id": thread}, "metadata": settings.metadata()}
    outcome = execute(lent, input, config, progress, farewell=f"stopped; carry on with: {again}")
    code = report(outcome, thread, again, as_json=as_json, quiet=quiet)
    if code:
        raise typer.Exit(code)


def _answers(
    runs: Runs, solver: RecursiveSolver, thread: str, answers: list[str], db: Path | None
) -> Command[Any] | None:
    """The input of a resume: answers to what the run asks, or nothing."""
    config: RunnableConfig = {"configurable": {"thread_id": thread}}
    interrupts = solver.copy({"checkpointer": runs.saver}).get_state(config).interrupts
    if not interrupts:
        if answers:
            raise Problem(f"--answer: thread {thread!r} asks nothing")
        return None
    if len(answers) != len(interrupts):
        again = resume_command(thread, None if db is None else str(db))
        for line in told_questions(interrupts, again):
            say(line)
        raise Problem(f"{len(interrupts)} to answer, {len(answers)} given", code=FAILED)
    values = [_parsed(text) for text in answers]
    return Command(resume={entry.id: value for entry, value in zip(interrupts, values, strict=True)})


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return clean(text)


def _max_attempts(settings: Settings) -> int:
    """The limit to show attempts against; a user's own solver may be gone, and a picture does not need it."""
    try:
        policy = settings.limits() if settings.graph is None else settings.solver().policy
    except Problem as problem:
        say(f"{told(problem)}; attempts are shown against the default limit")
        policy = Settings().limits()
    return policy.max_attempts
