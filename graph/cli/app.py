"""The commands."""

from __future__ import annotations

import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Annotated

import typer

from langgraph_recursive.state.errors import FinishedThreadError

from ..builder import create_recursive_solver
from ..demo import demo_task, read_messages
from ..demo.order import messages_of
from ..view.safe import clean
from . import options as opt
from .consoles import say, stdout
from .picture import PICTURE
from .problems import Problem
from .results import print_json
from .runs import Runs, open_runs
from .session import UNENDED, Output, Session, thread_name
from .settings import Settings
from .show import run_summary, show_runs, show_thread, thread_as_json

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
        Session(runs, thread_name(runs, thread), settings, solver, db).run(text, Output(as_json, quiet))


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
        session = _session_of(runs, thread, given, db)
        try:
            session.run(session.input_of_resume(answer or []), Output(as_json, quiet))
        except FinishedThreadError as error:
            see = session.again.replace(" resume ", " show ", 1)
            raise Problem(f"thread {thread!r} has ended, so there is nothing to resume; see it with: {see}") from error


@app.command("continue")
def go_on(
    thread: Thread,
    hint: opt.Hint = None,
    spec: opt.Spec = None,
    accept: opt.Accept = False,
    answer: opt.Answer = None,
    task: opt.HaltedTask = None,
    reason: opt.Reason = None,
    by: opt.By = None,
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
    """Have a run that halted go on: with a hint, other limits, another model; or accept its answer with a waiver."""
    policy = _policy(max_depth, max_children, max_attempts, max_fixes, max_concurrency, max_task_seconds)
    given = Settings.given(model=model, verify_with=verify_with, cwd=cwd, graph=graph, policy=policy)
    said = {"hint": hint, "spec": spec, "answer": answer, "reason": reason, "by": by}
    decision = {name: clean(text) for name, text in said.items() if text is not None}
    decision["decision"] = "accept" if accept or answer is not None else "retry"
    with open_runs(db) as runs:
        session = _session_of(runs, thread, given, db)
        if run_summary(runs, thread)["state"] in UNENDED:
            raise Problem(
                f"the run of thread {thread!r} has not ended, so there is no halt; go on with: {session.again}"
            )
        session.continue_from_halt(decision, task, Output(as_json, quiet))


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
        runs.known(thread)
        tasks = runs.tasks(thread)
    if as_json:
        print_json(thread_as_json(tasks, thread))
    else:
        show_thread(tasks, stdout())


@app.command()
def demo(
    file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Your own order messages: one a line, or blocks with blank lines between them."
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="PROVIDER:NAME", help="Another chat model. Default: the embedded one."),
    ] = None,
    thread: Annotated[
        str | None, typer.Option(help="Name to store the run under. Default: a new one, which is printed.")
    ] = None,
    db: opt.Db = None,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
) -> None:
    """Make a table of orders from short messages, with a 135M model on this machine: no key, no server.

    The model is too weak to do it in one go. It works because the file is split by message, and each answer is checked
    and repaired.
    """
    messages = read_messages(file)
    settings = Settings(model=model, demo=True)
    solver = settings.solver(messages=messages)
    with open_runs(db, make=True) as runs:
        session = Session(runs, thread_name(runs, thread), settings, solver, db)
        session.run(demo_task(messages), Output(as_json, quiet))


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


def _session_of(runs: Runs, thread: str, given: Settings, db: Path | None) -> Session:
    """A stored thread with the solver it was started with, save for what is given now."""
    stored = runs.settings(thread)
    if stored is None and given == Settings():
        raise Problem(f"thread {thread!r} was made by another program: name its solver with --graph or --model")
    settings = given if stored is None else stored.updated(given)
    tasks = runs.tasks(thread)
    solver = settings.solver(messages=messages_of(tasks[0].task.intent) if tasks else ())
    session = Session(runs, thread, settings, solver, db)
    session.tree.load(tasks)
    return session


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
