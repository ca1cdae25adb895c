import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_recursive.nodes.parts.commands import CommandValidator, _Capture, command_validator
from langgraph_recursive.state.errors import ComponentError, InvalidInputError
from langgraph_recursive.state.evidence import bounded
from langgraph_recursive.state.failure import Failure
from langgraph_recursive.state.repeat import failure_key, plain
from langgraph_recursive.state.verdict import Verdict

TASK = SimpleNamespace(id="t.2_fix_1")


def python(code: str, **options: Any) -> Verdict:
    return command_validator([sys.executable, "-c", code], **options)(TASK, "answer", 2)


def seen(verdict: Verdict) -> str:
    return verdict.checks[0].justification


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def gone(pid: int) -> bool:
    deadline = time.monotonic() + 5
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not alive(pid)


def test_exit_0_passes_with_evidence() -> None:
    verdict = python("print('fine')")
    assert verdict.outcome == "passed"
    assert verdict.checked
    assert [(e.label, e.text) for e in verdict.checks[0].evidence] == [("stdout", "fine\n")]


def test_failure_quotes_both_streams() -> None:
    verdict = python("import sys; print('some rows'); sys.exit('3 rows missing')")
    assert verdict.outcome == "failed"
    assert "exited with code 1." in seen(verdict)
    assert "stdout:\nsome rows" in seen(verdict)
    assert "stderr:\n3 rows missing" in seen(verdict)
    assert verdict.feedback == seen(verdict)


def test_silent_failure_says_so() -> None:
    assert seen(python("raise SystemExit(3)")).endswith("exited with code 3.\n\nIt printed nothing.")


def test_optional_command_is_a_warning() -> None:
    verdict = python("raise SystemExit(3)", required=False)
    assert verdict.outcome == "passed"
    assert verdict.checks[0].severity == "warning"


def pytest_project(folder: Path, lines: int) -> CommandValidator:
    folder.mkdir()
    padding = "# padding\n" * lines
    (folder / "test_basket.py").write_text(f"{padding}def test_total():\n    total = 11\n    assert total == 12\n")
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir=."]
    return command_validator(argv, cwd=folder, name="pytest", env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})


def test_pytest_failure_shows_test_assertion_and_file_and_repeats_on_other_lines(tmp_path: Path) -> None:
    verdicts = [pytest_project(tmp_path / str(lines), lines)(TASK, "", 1) for lines in (0, 5)]
    for verdict in verdicts:
        assert verdict.outcome == "failed"
        assert "test_basket.py::test_total" in seen(verdict)
        assert "assert 11 == 12" in seen(verdict)
    keys = {failure_key(Failure(attempt=1, validator_id="pytest", justification=seen(v))) for v in verdicts}
    assert len(keys) == 1


@pytest.mark.parametrize("name", ["no-such-command", "./no-such-file"])
def test_not_found_is_an_error(name: str) -> None:
    verdict = command_validator([name])(TASK, "", 1)
    assert verdict.outcome == "error"
    assert "not found" in str(verdict.error)
    assert name in str(verdict.error)


def test_not_executable_is_an_error(tmp_path: Path) -> None:
    script = tmp_path / "check"
    script.write_text("#!/bin/sh\n")
    verdict = command_validator([str(script)])(TASK, "", 1)
    assert verdict.outcome == "error"
    assert "not executable" in str(verdict.error)


def test_not_a_program_is_an_error(tmp_path: Path) -> None:
    script = tmp_path / "check"
    script.write_bytes(b"\x7fELF nothing")
    script.chmod(0o755)
    assert command_validator([str(script)])(TASK, "", 1).outcome == "error"


def test_missing_folder_is_an_error(tmp_path: Path) -> None:
    verdict = python("", cwd=tmp_path / "none")
    assert verdict.outcome == "error"
    assert "none" in str(verdict.error)


def test_signal_is_named() -> None:
    verdict = python("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert verdict.outcome == "failed"
    assert "killed by signal SIGSEGV (11)" in seen(verdict)


FAMILY = "import subprocess, sys, time\nchild = subprocess.Popen(['sleep', '60'])\nprint(child.pid, flush=True)\n"


def grandchild(verdict: Verdict) -> int:
    return int(verdict.checks[0].evidence[0].text.split()[0])


def test_timeout_kills_the_grandchildren_that_hold_the_pipes() -> None:
    start = time.monotonic()
    verdict = python(FAMILY + "time.sleep(60)", timeout=0.5)
    assert time.monotonic() - start < 10
    assert verdict.outcome == "failed"
    assert "timed out: it did not end within 0.5 s" in seen(verdict)
    assert gone(grandchild(verdict))


def test_grandchild_that_keeps_stdout_open_does_not_hang_it() -> None:
    start = time.monotonic()
    verdict = python(FAMILY)
    assert time.monotonic() - start < 10
    assert verdict.outcome == "passed"
    assert gone(grandchild(verdict))


def test_process_that_left_the_group_does_not_hang_it() -> None:
    escaped = FAMILY.replace("'60']", "'3'], start_new_session=True")
    start = time.monotonic()
    verdict = python(escaped)
    assert time.monotonic() - start < 2.9
    assert verdict.outcome == "passed"
    assert gone(grandchild(verdict))


def test_ctrl_c_kills_the_group(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    child = f"import os, time; open({str(file)!r}, 'w').write(f'{{os.getpid()}}.'); time.sleep(60)"
    caller = (
        "from langgraph_recursive.nodes.parts.commands import command_validator\n"
        f"command_validator({[sys.executable, '-c', child]!r})(None, '', 1)\n"
    )
    with subprocess.Popen([sys.executable, "-c", caller], stderr=subprocess.PIPE) as running:
        while not (file.exists() and file.read_text().endswith(".")):
            assert running.poll() is None
            time.sleep(0.01)
        running.send_signal(signal.SIGINT)
        assert b"KeyboardInterrupt" in running.communicate(timeout=10)[1]
    assert gone(int(file.read_text().rstrip(".")))


def test_huge_output_is_bounded() -> None:
    code = "import sys\nfor _ in range(2000): sys.stdout.write('x' * 9999 + chr(10))\nprint('the end'); sys.exit(1)"
    verdict = python(code, evidence_chars=20_000)
    (evidence,) = verdict.checks[0].evidence
    assert evidence == bounded(("x" * 9999 + "\n") * 2000 + "the end\n", label="stdout", limit=20_000)
    assert evidence.size == 20_000_008
    assert len(seen(verdict)) < 21_000
    assert seen(verdict).endswith("the end\n")


def test_output_that_is_no_text_is_still_shown() -> None:
    verdict = python(r"import os; os.write(1, b'a\0b\xff \x1b[31mred\x1b[0m\r\n'); raise SystemExit(1)")
    assert verdict.checks[0].evidence[0].text == "a\ufffdb\ufffd red\n"


def test_answer_on_stdin() -> None:
    code = "import sys; sys.exit(sys.stdin.read() != 'answer')"
    assert python(code, stdin=True).accepted
    assert not python(code).accepted
    unread = command_validator(["true"], stdin=True)
    assert unread(TASK, "x" * 1_000_000, 1).accepted


def test_environment() -> None:
    names = ["LANGGRAPH_RECURSIVE_TASK_ID", "LANGGRAPH_RECURSIVE_ATTEMPT", "MINE"]
    code = f"import os; print(*[os.environ[name] for name in {names}])"
    verdict = python(code, env={"MINE": "set"})
    assert verdict.checks[0].evidence[0].text == "t.2_fix_1 2 set\n"


def test_folder_made_for_the_answer(tmp_path: Path) -> None:
    def write(task: Any, result: Any) -> Path:
        folder = tmp_path / str(task.id)
        folder.mkdir()
        (folder / "answer.txt").write_text(result)
        return folder

    assert python("assert open('answer.txt').read() == 'answer'", cwd=write).accepted


@pytest.mark.parametrize("argv", ["pytest -q", b"pytest", ["pytest", 1], ["pytest", Path("a")]])
def test_wrong_argv(argv: Any) -> None:
    with pytest.raises(ComponentError, match=r"shlex\.split") as error:
        command_validator(argv)
    assert error.value.field == "argv"


@pytest.mark.parametrize(
    "options",
    [{"argv": []}, {"argv": [""]}, {"argv": ["a\0"]}, {"timeout": 0}, {"timeout": float("nan")}, {"evidence_chars": 1}],
)
def test_wrong_input(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        command_validator(**{"argv": ["true"], **options})


def test_names() -> None:
    check = command_validator(shlex.split("pytest -q"), cwd="app")
    assert check.validator_id == "command:pytest -q"
    assert repr(check) == "command_validator(['pytest', '-q'], cwd='app', timeout=300.0)"
    assert command_validator(["true"], name="mine")(TASK, "", 1).checks[0].validator_id == "mine"
    assert len(command_validator(["x" * 500]).validator_id) < 100


@given(
    st.lists(st.sampled_from(["a\n", "line", "\r", "\r\n", "é", "\x1b[31m", "\x1b[0m", "\x1b]8;;u\x1b\\", "\x1b"])),
    st.integers(1, 7),
    st.integers(2, 40),
)
def test_capture_is_what_bounded_says_of_the_whole(parts: list[str], step: int, limit: int) -> None:
    whole = "".join(parts)
    data = whole.encode()
    capture = _Capture("stdout", limit)
    for start in range(0, len(data), step):
        capture.feed(data[start : start + step])
    capture.feed(b"", final=True)
    assert capture.evidence() == bounded(plain(whole), label="stdout", limit=limit)
