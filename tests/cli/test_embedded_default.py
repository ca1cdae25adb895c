"""Without --model the embedded model answers, and a user is told what it is good for."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import Finished


@pytest.mark.embedded
def test_the_embedded_model_is_the_default(cli: Callable[..., Finished]) -> None:
    verify = f"{sys.executable} -c \"print('seen'); raise SystemExit(3)\""
    limits = ["--max-depth", "0", "--max-attempts", "1"]
    done = cli("solve", "Say hello.", "--thread", "one", "--verify-with", verify, *limits)
    assert done.returncode == 1, done.stderr
    assert "too weak" in done.stderr
    assert "recovery_exhausted" in done.stderr
    shown = cli("show", "one")
    assert "attempt 1 t: failed" in shown.stdout
    assert "seen" in shown.stdout


@pytest.mark.embedded
def test_the_demo_makes_a_table(cli: Callable[..., Finished], tmp_path: Path) -> None:
    file = tmp_path / "orders.txt"
    file.write_text("Please send 12 chairs to Ann Baker.\nI want 3 lamps, says Tom Reed.\n", encoding="utf-8")
    done = cli("demo", "--file", str(file), "--thread", "one")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("no")
    assert "2 orders verified" in done.stdout
    assert "attempt 1 t.1: passed" in cli("show", "one").stdout
    refused = cli("resume", "one", "--max-depth", "1")
    assert refused.returncode == 2
    assert "demo" in refused.stderr


def test_a_demo_without_messages_is_a_mistake(cli: Callable[..., Finished], tmp_path: Path) -> None:
    file = tmp_path / "orders.txt"
    file.write_text("\n")
    done = cli("demo", "--file", str(file))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
