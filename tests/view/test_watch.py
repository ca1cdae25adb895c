"""watch: the tree grows where the run is watched, and the run is what it is without being watched."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from rich.console import Console

from langgraph_recursive.graph import (
    Budget,
    EventEmitter,
    SimpleRecursiveAgent,
    SolvePolicy,
    TaskTree,
    awatch,
    create_recursive_solver,
    solver_tool,
    watch,
)
from langgraph_recursive.graph.view.html import html_of
from langgraph_recursive.graph.view.live import LiveTree
from langgraph_recursive.graph.view.screens import LinesScreen
from langgraph_recursive.graph.view.terminal import TerminalScreen
from langgraph_recursive.nodes import accept, reject
from langgraph_recursive.state import ComponentError, FinishedThreadError, MissingThreadError, UnknownThreadError
from scripted import ScriptedChatModel
from terminal import on_terminal, without_codes
from view_kit import CONFIG, HOSTILE

Watch = Callable[..., Any]
JOB = Path(__file__).with_name("watched.py")
_TIMES = re.compile(r"\d+(?:\.\d+s|:\d\d)")


@pytest.fixture
def watched(way: str) -> Watch:
    """Watch a run: by itself, and in a cell whose event loop runs already."""

    def run(*args: Any, **kwargs: Any) -> Any:
        if way == "async":
            return asyncio.run(awatch(*args, **kwargs))

        async def in_a_cell() -> Any:
            return watch(*args, **kwargs)

        return asyncio.run(in_a_cell())

    return run


def family(**parts: Any) -> Any:
    given = {
        "solver": lambda task: "4" if task.prior_failures else "5",
        "decomposer": lambda task, depth: ["one", HOSTILE] if depth == 0 else [],
        "aggregator": lambda results: "+".join(results),
        "verifiers": [lambda task, result: accept() if "4" in result else reject(f"{HOSTILE} {result}")],
    }
    return create_recursive_solver(**{**given, **parts})


class Cell:
    """A notebook's output: what is displayed, and each update."""

    def __init__(self) -> None:
        self.pictures: list[dict[str, str]] = []

    def display(self, picture: dict[str, str], *, raw: bool, display_id: bool) -> Cell:
        assert raw
        assert display_id
        self.pictures.append(picture)
        return self

    def update(self, picture: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.pictures.append(picture)


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Cell:
    shown = Cell()
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=shown.display))
    return shown


def heard() -> tuple[EventEmitter, list[Any]]:
    emitter, events = EventEmitter(), list[Any]()
    emitter.subscribe("*", events.append)
    return emitter, events


# --- a log ---


def test_it_gives_what_invoke_gives_and_leaves_the_tree(watched: Watch) -> None:
    emitter, events = heard()
    out = io.StringIO()
    result = watched(family(), "the task", {"callbacks": [emitter]}, file=out)
    assert (result["output"], result["verified"], result["usage"].fixes) == ("4+4", True, 2)
    lines = out.getvalue().split("\n")
    assert lines[0] == "t            task_started  attempt 1/3: the task"
    tree = str(TaskTree.from_events(events))
    assert _TIMES.sub("", out.getvalue()).endswith(_TIMES.sub("", tree) + "\n")
    assert "\x1b" not in out.getvalue()


def test_an_error_comes_after_the_tree(watched: Watch) -> None:
    out = io.StringIO()
    with pytest.raises(ComponentError):
        watched(family(solver=lambda task: 5), "the task", file=out)
    assert "2 sub-tasks" in out.getvalue()
    assert out.getvalue().rstrip().split("\n")[-1].startswith("0 of 3 tasks done")


def test_a_question_shows_and_its_answer_goes_on(watched: Watch) -> None:
    graph = create_recursive_solver(solver=lambda task: interrupt(f"which? {HOSTILE}"), checkpointer=InMemorySaver())
    out = io.StringIO()
    result = watched(graph, "the task", CONFIG, file=out)
    assert result["__interrupt__"][0].value.startswith("which?")
    assert "? t the task  asks a person" in out.getvalue()
    assert "? which? <script>" in out.getvalue()
    assert watched(graph, Command(resume="this"), CONFIG, file=out)["output"] == "this"


def test_a_resumed_run_goes_on_with_the_whole_tree(watched: Watch) -> None:
    def solve(task: Any) -> str:
        return f"{interrupt('which?')}" if str(task) == "two" else "one"

    graph = create_recursive_solver(
        solver=solve,
        decomposer=lambda task, depth: ["one", "two"] if depth == 0 else [],
        aggregator=lambda results: "+".join(results),
        checkpointer=InMemorySaver(),
    )
    out = io.StringIO()
    watched(graph, "the task", CONFIG, file=out)
    for again, answer in ((graph, Command(resume="this")), (graph.with_config(CONFIG), None)):
        out = io.StringIO()
        with contextlib.suppress(FinishedThreadError):
            assert watched(again, answer, CONFIG if answer else None, file=out)["output"] == "one+this"
        tree = out.getvalue().split("✓ t the task")[1]
        assert "✓ t.1 one" in tree
        assert "✓ t.2 two" in tree
        assert out.getvalue().rstrip().split("\n")[-1].startswith("3 of 3 tasks done")


def test_a_run_that_asks_before_its_first_attempt_is_one_tree_when_resumed(watched: Watch) -> None:
    graph = create_recursive_solver(
        solver=str, prechecks=[lambda task: interrupt("begin?") == "yes"], checkpointer=InMemorySaver()
    )
    watched(graph, "the task", CONFIG, file=io.StringIO())
    out = io.StringIO()
    assert watched(graph, Command(resume="yes"), CONFIG, file=out)["success"]
    assert out.getvalue().count("✓ t the task") == 1
    assert "1 of 1 task done" in out.getvalue()


def test_what_has_nothing_to_resume_fails_as_it_does_without_being_watched(watched: Watch) -> None:
    for graph, config in (
        (family(), None),
        (family(checkpointer=InMemorySaver()), None),
        (family(checkpointer=InMemorySaver()), CONFIG),
    ):
        with pytest.raises((MissingThreadError, UnknownThreadError)):
            watched(graph, None, config, file=io.StringIO())


def test_budget_and_calls_are_shown_against_each_other(watched: Watch) -> None:
    out = io.StringIO()
    watched(family(policy=SolvePolicy(budget=Budget(max_llm_calls=40))), "the task", file=out)
    assert re.search(r"3 of 3 tasks done · \d+ calls · 2 fixes · ▰+▱+ \d+/40 model calls$", out.getvalue().rstrip())


def test_what_the_solver_is_a_part_of_is_watched_too(watched: Watch) -> None:
    out = io.StringIO()
    chain = RunnableLambda(lambda text: f"{text}!") | family() | (lambda result: result["output"])
    assert watched(chain, "the task", file=out) == "4+4"
    assert "✓ t the task!" in out.getvalue()
    tool = solver_tool(family())
    watched(tool, {"task": "as a tool"}, file=out)
    assert "✓ t as a tool" in out.getvalue()


def test_several_runs_are_several_trees(watched: Watch) -> None:
    out = io.StringIO()
    twice: Any = RunnableLambda(lambda text, config: [family().invoke(f"{text} {n}", config)["output"] for n in "ab"])
    watched(twice, "run", file=out)
    assert "✓ t run a" in out.getvalue()
    assert "✓ t run b" in out.getvalue()
    assert "6 of 6 tasks done" in out.getvalue()


def test_an_agent_is_watched(watched: Watch) -> None:
    out = io.StringIO()
    agent = SimpleRecursiveAgent(ScriptedChatModel(answers=["42", "DONE"]))
    assert watched(agent, {"goal": "find it"}, file=out)["solution"] == "42"
    assert "✓ t find it  not checked" in out.getvalue()


def test_a_custom_event_of_someone_else_is_passed_over(watched: Watch) -> None:
    from langchain_core.callbacks import dispatch_custom_event

    def tell(task: Any) -> str:
        dispatch_custom_event("solved", {"type": "other"})
        dispatch_custom_event("mine", "text")
        return "done"

    assert watched(create_recursive_solver(solver=tell), "the task", file=io.StringIO())["output"] == "done"


# --- a notebook ---


def test_in_a_notebook_the_cell_ends_as_the_tree(watched: Watch, cell: Cell) -> None:
    emitter, events = heard()
    result = watched(family(), "the task", {"callbacks": [emitter]})
    assert result["output"] == "4+4"
    tree = TaskTree.from_events(events)._repr_mimebundle_()
    assert {kind: _TIMES.sub("", text) for kind, text in cell.pictures[-1].items()} == {
        kind: _TIMES.sub("", text) for kind, text in tree.items()
    }
    assert cell.pictures[0]["text/plain"] == "0 of 0 tasks done · 0 calls"


def test_in_a_notebook_the_tree_grows_while_the_run_goes_on(watched: Watch, cell: Cell) -> None:
    seen = []

    def solve(task: Any) -> str:
        while not any(f"{task.brief.objective}  working" in picture["text/plain"] for picture in cell.pictures):
            pass  # until it is drawn
        seen.append(task.id)
        return "4"

    watched(family(solver=solve, decomposer=lambda task, depth: ["one", "two"] if depth == 0 else []), "the task")
    assert sorted(seen) == ["t.1", "t.2"]


def test_in_a_notebook_an_error_leaves_the_tree(watched: Watch, cell: Cell) -> None:
    with pytest.raises(ComponentError):
        watched(family(solver=lambda task: 5), "the task")
    assert "0 of 3 tasks done" in cell.pictures[-1]["text/html"]


@pytest.mark.notebook
def test_in_a_real_kernel() -> None:
    v4: Any = pytest.importorskip("nbformat").v4
    nbclient = pytest.importorskip("nbclient")
    lines = [
        "from langgraph_recursive.graph import awatch, create_recursive_solver, watch",
        "solver = create_recursive_solver(solver=lambda task: 'done')",
        "result = watch(solver, 'in a cell')",
    ]
    cells = [v4.new_code_cell("\n".join(lines)), v4.new_code_cell("await awatch(solver, 'awaited')")]
    notebook = v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    for code, objective in zip(notebook.cells, ("in a cell", "awaited"), strict=True):
        [shown] = [output for output in code.outputs if output.output_type == "display_data"]
        assert f"<b>t</b> {objective}" in shown["data"]["text/html"]
        assert "1 of 1 task done" in shown["data"]["text/plain"]


# --- a terminal ---


def test_on_a_terminal_it_grows_in_place(tmp_path: Path) -> None:
    code, written = on_terminal([sys.executable, str(JOB), "family"], dict(os.environ), rows=20, columns=70)
    assert code == 0
    plain = without_codes(written)
    assert "0 of 3 tasks done" in plain
    last = plain[plain.rindex("✓ t the task") :]
    assert re.search(r"├─ ✓ t\.1 one +checked +2 attempts +\d calls", last)
    assert "attempt 1 t.1: failed\r\n" in last
    assert last.rstrip().endswith("output 4+4")
    assert written.count("\x1b[?25l") == written.count("\x1b[?25h") == 1  # the cursor is there again


def test_ctrl_c_leaves_the_terminal_clean(tmp_path: Path) -> None:
    sent: list[int] = []

    def stop(pid: int, written: str) -> None:
        if "working" in written and not sent:
            sent.append(pid)
            os.kill(pid, signal.SIGINT)

    code, written = on_terminal([sys.executable, str(JOB), "waiting"], dict(os.environ), on_text=stop)
    assert sent
    assert code == 130
    assert written.rindex("\x1b[?25h") > written.rindex("\x1b[?25l")
    assert without_codes(written).rstrip().endswith("stopped")


# --- hostile text ---


def growing(text: str) -> LiveTree:
    """A run in which every text is the same."""
    place = {"run_id": "r", "parent_id": None, "attempt": 1, "depth": 0, "time": 1.0, "duration_ms": 1, "usage": None}
    failure = {"attempt": 1, "validator_id": text, "justification": text, "evidence": [{"head": text, "label": text}]}
    tree = LiveTree()
    for kind, data in (
        ("task_started", {"objective": text, "start": "solve", "max_attempts": 3}),
        ("call_started", {"call": text, "id": "1", "tries": 1, "waited_ms": 0}),
        ("solved", {"answer": text}),
        ("verified", {"outcome": "failed", "issues": [text], "failures": [failure], "passed": [[text, text, text]]}),
        ("stalled", {"repeats": text}),
        ("halted", {"halt": "recovery_stalled", "detail": text}),
        ("interrupted", {"id": None, "value": text}),
    ):
        tree.feed({**place, "task_id": "t", "type": kind, "data": data})
    return tree


@given(st.text(max_size=200).map(lambda text: text + HOSTILE) | st.text(max_size=200))
def test_any_text_is_text_wherever_a_run_is_watched(text: str) -> None:
    tree, out = growing(text), io.StringIO()
    for screen in (
        TerminalScreen(tree, Console(file=out, force_terminal=True, width=60, height=20, markup=True)),
        LinesScreen(tree, out, ""),
    ):
        screen.start()
        screen.event({**_place, "type": "halted", "task_id": "t", "data": {"halt": "cancelled", "detail": text}})
        if isinstance(screen, TerminalScreen):
            screen.note(text)
        screen.stop()
    shown = re.sub(r"\x1b\[[0-9;?]*[mhlKAJ]", "", out.getvalue())  # what rich itself writes
    assert not re.search(r"[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]", shown.replace("\t", ""))
    assert "<script" not in html_of(tree.roots())


_place = {"run_id": "r", "parent_id": None, "attempt": 1, "depth": 0, "time": 2.0, "duration_ms": 1, "usage": None}
