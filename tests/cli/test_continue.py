"""`continue`: a person has a run that halted go on."""

import json
import re
from collections.abc import Callable
from pathlib import Path

from command_line import Finished, graph

Cli = Callable[..., Finished]


def test_a_hint_helps_the_task_behind_the_halt(cli: Cli) -> None:
    halted = cli("solve", "the job", *graph("hinted"), "--thread", "one")
    assert halted.returncode == 1
    assert "recovery_stalled" in halted.stderr
    assert re.search(r"go on with: langgraph-recursive continue one .*--hint TEXT", halted.stderr)
    done = cli("continue", "one", "--hint", "look at line 3", "--by", "ann")
    assert (done.returncode, done.stdout) == (0, "answer of t_fix_1\n")
    assert "✓ checked" in done.stderr
    assert not re.search(r"^t\.[13] .*solve", done.stderr, re.MULTILINE)  # their results are kept


def test_an_answer_is_accepted_with_a_waiver(cli: Cli) -> None:
    cli("solve", "the job", *graph("rejected"), "--thread", "one")
    done = cli("continue", "one", "--accept", "--by", "ann", "--json")
    found = json.loads(done.stdout)
    assert (found["state"], found["output"], found["waived_by"]) == ("accepted", "answer of t_fix_1", "ann")
    assert found["verified"] is False
    cli("solve", "the job", *graph("rejected"), "--thread", "two")
    done = cli("continue", "two", "--answer", "by hand")
    assert (done.returncode, done.stdout) == (0, "by hand\n")
    assert "✓ waived by a person" in done.stderr


def test_it_may_halt_again(cli: Cli) -> None:
    cli("solve", "the job", *graph("rejected"), "--thread", "one")
    done = cli("continue", "one", "--spec", "another job")
    assert done.returncode == 1
    assert "recovery_stalled" in done.stderr


def test_mistakes_are_told_without_a_traceback(cli: Cli, tmp_path: Path) -> None:
    cli("solve", "the job", *graph("checked"), "--thread", "fine")
    cli("solve", "the job", *graph("rejected"), "--thread", "bad")
    cli("solve", "the job", *graph("asking"), "--thread", "open")
    for arguments, complaint in [
        (("fine", "--hint", "x"), "has an accepted answer"),
        (("open", "--hint", "x"), "has not ended, so there is no halt; go on with: langgraph-recursive resume open"),
        (("unknown", "--hint", "x"), "there is no thread 'unknown'"),
        (("bad", "--task", "t.7"), "no task 't.7' has halted: those that did are t"),
        (("bad", "--accept", "--hint", "x"), "hint cannot go with decision 'accept'"),
    ]:
        done = cli("continue", *arguments)
        assert done.returncode == 2, done.stderr
        assert complaint in done.stderr
        assert "Traceback" not in done.stderr
