"""On a terminal the tree grows in place."""

import re
from pathlib import Path

from command_line import command, graph
from terminal import on_terminal, without_codes


def test_the_tree_grows(environment: dict[str, str], db: Path) -> None:
    arguments = command("solve", "the job", *graph("checked"), "--thread", "one", "--db", str(db))
    code, written = on_terminal(arguments, {**environment, "DELAY": "0.3"})
    assert code == 0
    plain = without_codes(written)
    assert "0 of 1 task done" in plain
    assert "0 of 4 tasks done" in plain
    last = plain[plain.rindex("✓ t the job") :]
    assert re.search(r"├─ ✓ t\.2 \[red\]part b\[/red\] of \\x1b\[31mt +checked +2 attempts +\d calls", last)
    assert re.search(r"\n│ +attempt 1 t\.2: failed\r\n│ +✗ check: expected 12, got 11\r\n", last)
    assert re.search(r"└─ ✓ t\.3 .* +checked +\d calls", last)
    assert "4 of 4 tasks done" in last
    assert "\nanswer of t\r\n" in last


def test_a_low_terminal_is_not_overrun(environment: dict[str, str], db: Path) -> None:
    arguments = command("solve", "the job", *graph("checked"), "--db", str(db))
    code, written = on_terminal(arguments, {**environment, "DELAY": "0.2"}, rows=6, columns=60)
    assert code == 0
    grown = without_codes(written[: written.index("answer of t")])
    assert max(map(len, grown.replace("\r", "\n").split("\n"))) <= 60
    assert re.search(r"…  checked +2 attempts  \d calls  \d", grown)  # the task's text gives way, not the columns


def test_no_color_is_honoured(environment: dict[str, str], db: Path) -> None:
    arguments = command("solve", "the job", *graph("unchecked"), "--db", str(db))
    _, written = on_terminal(arguments, {**environment, "NO_COLOR": "1"})
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", written)


def test_an_answer_cannot_steer_the_terminal(environment: dict[str, str], db: Path) -> None:
    arguments = command("solve", "the job", *graph("colourful"), "--db", str(db), "-q")
    _, written = on_terminal(arguments, environment)
    assert r"\x1b[31mred\x1b[0m" in written
