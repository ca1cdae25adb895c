"""A run that was killed or stopped goes on where it was."""

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import Finished, command, graph

Cli = Callable[..., Finished]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")


INTERRUPTING = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
"""
"""Sends Ctrl-C when a module is about to be imported."""


def started(environment: dict[str, str], db: Path, delay: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command("solve", "the job", *graph("checked"), "--thread", "one", "--db", str(db)),
        env={**environment, "DELAY": delay},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_calls(log: Path, number: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if log.exists() and len(log.read_text().splitlines()) >= number:
            return
        time.sleep(0.02)
    raise AssertionError(f"no {number} calls within a minute")


def calls(log: Path) -> Counter[str]:
    return Counter(log.read_text().splitlines())


def test_killed_and_resumed_without_options(cli: Cli, environment: dict[str, str], db: Path, tmp_path: Path) -> None:
    log = tmp_path / "calls"
    process = started(environment, db, "0.3")
    wait_for_calls(log, 6)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert "unfinished" in cli("runs").stdout

    done = cli("resume", "one")
    assert (done.returncode, done.stdout) == (0, "answer of t\n"), done.stderr
    assert "Deserializing" not in done.stderr
    assert calls(log)["split t"] == 1
    finished = cli("resume", "one")
    assert finished.returncode == 2
    assert "has ended" in finished.stderr


def test_ctrl_c_lets_calls_end_and_tells_how_to_go_on(
    cli: Cli, environment: dict[str, str], db: Path, tmp_path: Path
) -> None:
    log = tmp_path / "calls"
    process = started(environment, db, "0.5")
    wait_for_calls(log, 3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out == ""
    assert f"langgraph-recursive resume one --db {db}" in err
    assert "Traceback" not in err

    refused = cli("solve", "another", *graph("checked"), "--thread", "one")
    assert refused.returncode == 2
    assert "unfinished" in refused.stderr
    done = cli("resume", "one")
    assert (done.returncode, done.stdout) == (0, "answer of t\n"), done.stderr
    # All calls in flight had ended, so none was made twice.
    assert set(calls(log).values()) == {1}


def test_a_second_ctrl_c_ends_at_once(environment: dict[str, str], db: Path, tmp_path: Path) -> None:
    process = started(environment, db, "30")
    wait_for_calls(tmp_path / "calls", 1)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=10)
    assert process.returncode == 130
    assert "langgraph-recursive resume one" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("module", ["typer", "langgraph.graph", "pydantic"])
def test_ctrl_c_while_it_is_starting_ends_it_without_a_word(
    environment: dict[str, str], db: Path, tmp_path: Path, module: str
) -> None:
    """Interrupted while a module of its own start is being imported."""
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTING.format(module=module))
    done = subprocess.run(
        command("runs", "--db", str(db)),
        env={**environment, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
