"""Every command and exit code, as a process."""

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import Finished, command, graph

Cli = Callable[..., Finished]


def test_an_accepted_answer_is_all_of_stdout(cli: Cli) -> None:
    done = cli("solve", "the job", *graph("checked"), "--thread", "one")
    assert done.returncode == 0
    assert done.stdout == "answer of t\n"
    assert "✓ checked" in done.stderr
    assert "1 fix" in done.stderr


def test_progress_without_a_terminal_is_plain_lines(cli: Cli) -> None:
    done = cli("solve", "the job", *graph("checked"))
    lines = done.stderr.splitlines()
    assert "\x1b" not in done.stderr + done.stdout
    assert re.fullmatch(r"thread [a-z]+-[a-z]+-\d\d", lines[0])
    assert any(line.startswith("t.2_fix_1") and "attempt 2/3" in line for line in lines)
    assert any("verified" in line and "expected 12, got 11" in line for line in lines)
    assert r"[red]part a[/red] of \x1b[31mt" in done.stderr


def test_an_unchecked_answer_says_so(cli: Cli) -> None:
    done = cli("solve", "the job", *graph("unchecked"), "--quiet")
    assert (done.returncode, done.stdout) == (0, "plain the job\n")
    assert "not checked" in done.stderr


def test_quiet_leaves_only_the_answer(cli: Cli) -> None:
    done = cli("solve", "the job", *graph("checked"), "-q")
    assert (done.stdout, done.stderr) == ("answer of t\n", "")


def test_what_a_part_prints_does_not_mix_with_the_answer(cli: Cli) -> None:
    done = cli("solve", "the job", *graph("chatty"), "-q")
    assert done.stdout == "the answer\n"
    assert "printed by a part" in done.stderr


def test_a_rejected_answer_exits_1_with_halt_and_parts(cli: Cli) -> None:
    done = cli("solve", "the job", *graph("rejected"))
    assert done.returncode == 1
    assert done.stdout == ""
    assert "recovery_stalled" in done.stderr
    assert "finished parts:" in done.stderr
    assert "answer of t_fix_1" in done.stderr


def test_a_task_from_stdin_and_from_a_file(cli: Cli, tmp_path: Path) -> None:
    assert cli("solve", "-", *graph("unchecked"), "-q", stdin="from stdin\n").stdout == "plain from stdin\n"
    file = tmp_path / "task.txt"
    file.write_text("from a file\nof two lines\n", encoding="utf-8")
    assert cli("solve", "--file", str(file), *graph("unchecked"), "-q").stdout == "plain from a file\nof two lines\n"


def test_json_is_one_object_and_nothing_else(cli: Cli) -> None:
    done = cli("solve", "the job", *graph("checked"), "--thread", "one", "--json")
    found = json.loads(done.stdout)
    assert (found["thread"], found["state"], found["output"]) == ("one", "accepted", "answer of t")
    assert found["verified"] is True
    assert found["usage"]["fixes"] == 1
    assert any(trace["type"] == "RECOVERED" for trace in found["traces"])
    assert done.stderr.count("\n") == 1  # the last line, and no progress

    halted = cli("solve", "the job", *graph("rejected"), "--json")
    assert halted.returncode == 1
    assert json.loads(halted.stdout)["halt"]["type"] == "recovery_stalled"


def test_runs_and_show_tell_what_became_of_a_run(cli: Cli) -> None:
    assert cli("runs").returncode == 0
    cli("solve", "the job", *graph("checked"), "--thread", "first", "-q")
    cli("solve", "the second job", *graph("rejected"), "--thread", "second", "-q")

    runs = cli("runs")
    rows = [line.split() for line in runs.stdout.splitlines()]
    assert rows[0] == ["thread", "state", "attempts", "calls", "when", "task"]
    assert [row[:3] for row in rows[1:]] == [["second", "recovery_stalled", "2"], ["first", "accepted", "1"]]
    listed = json.loads(cli("runs", "--json").stdout)["runs"]
    assert [entry["task"] for entry in listed] == ["the second job", "the job"]

    shown = cli("show", "first")
    assert shown.returncode == 0
    assert shown.stderr == ""
    assert "✗ check: expected 12, got 11" in shown.stdout
    assert "in line 3" in shown.stdout
    assert "attempt 2 t.2_fix_1: passed" in shown.stdout
    assert "\x1b" not in shown.stdout

    told = json.loads(cli("show", "first", "--json").stdout)
    assert [task["id"] for task in told["tasks"]] == ["t", "t.1", "t.2", "t.3"]
    assert len(told["tasks"][2]["attempts"]) == 2


def test_a_command_verifies_and_its_output_is_the_evidence(cli: Cli, tmp_path: Path) -> None:
    made = tmp_path / "work" / "test_it.py"
    made.parent.mkdir()
    made.write_text("def test_sum():\n    assert 1 + 1 == 3\n")
    solver = tmp_path / "mine.py"
    solver.write_text(
        "from langgraph_recursive.graph.builder import create_recursive_solver\n"
        "from langgraph_recursive.nodes.parts.commands import command_validator\n"
        "def make():\n"
        "    check = command_validator(['python', '-m', 'pytest', '-q', '-p', 'no:cacheprovider'], cwd='work')\n"
        "    return create_recursive_solver(solver=lambda task: 'done', verifiers=[check])\n"
    )
    environment = {"PATH": f"{Path(command()[0]).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        command("solve", "x", "--graph", "mine.py:make", "--thread", "one", "--db", "runs.db"),
        cwd=tmp_path,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    shown = cli("show", "one", at=tmp_path / "runs.db")
    assert "assert (1 + 1) == 3" in shown.stdout
    assert "test_it.py" in shown.stdout


def test_the_picture_has_every_node(cli: Cli) -> None:
    from langgraph_recursive.graph.machine import NODES

    drawn = cli("graph", at=None)
    picture = cli("graph", "--ascii", at=None)
    assert drawn.stdout.startswith("---\n")
    for node in NODES:
        assert node in drawn.stdout
        assert node in picture.stdout
    assert picture.stdout.isascii()


def test_questions_are_asked_and_answered(cli: Cli) -> None:
    asked = cli("solve", "the job", *graph("asking"), "--thread", "one")
    assert asked.returncode == 1
    assert "1. what of t.1?" in asked.stderr
    assert "2. what of t.2?" in asked.stderr
    assert "resume one" in asked.stderr
    assert "asks" in cli("runs").stdout
    assert re.search(r"\? t\.1 one +asks a person", shown := cli("show", "one").stdout)
    assert "? what of t.1?" in shown

    again = cli("resume", "one")
    assert again.returncode == 1
    assert "2. what of t.2?" in again.stderr
    done = cli("resume", "one", "--answer", "yes", "--answer", '{"n": 2}')
    assert (done.returncode, done.stdout) == (0, "you said yes; you said {'n': 2}\n")


def test_a_closed_pipe_is_quiet(cli: Cli, environment: dict[str, str], db: Path) -> None:
    for number in range(3):
        cli("solve", "the job", *graph("unchecked"), "--thread", f"n{number}", "-q")
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        command("runs", "--db", str(db)),
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        check=False,
    )
    os.close(writing)
    assert done.stderr == ""


def test_the_default_database_is_below_the_state_folder(cli: Cli, environment: dict[str, str]) -> None:
    assert cli("solve", "the job", *graph("unchecked"), "-q", at=None).returncode == 0
    assert (Path(environment["XDG_STATE_HOME"]) / "langgraph-recursive" / "runs.db").is_file()


def test_a_second_run_on_a_thread_starts_anew(cli: Cli) -> None:
    cli("solve", "the first", *graph("checked"), "--thread", "one", "-q")
    again = cli("solve", "the second", *graph("checked"), "--thread", "one", "--json")
    assert json.loads(again.stdout)["usage"]["tasks"] == 4
    assert cli("runs").stdout.count("\n") == 2


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_the_extra_one_line_names_it(missing: str, environment: dict[str, str]) -> None:
    hidden = (
        "import importlib.util as u, sys\n"
        f"real = u.find_spec\nu.find_spec = lambda name, *a: None if name == {missing!r} else real(name, *a)\n"
        "from langgraph_recursive.graph.cli import main\nmain()"
    )
    done = subprocess.run([command()[0], "-c", hidden], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 2
    assert done.stderr == 'the command line needs: pip install "langgraph-recursive[cli]"\n'
