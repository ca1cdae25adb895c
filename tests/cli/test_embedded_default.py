"""Without --model the embedded model answers, and a user is told what it is good for."""

import sys
from collections.abc import Callable

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
    assert "attempt 1/1" in shown.stdout
    assert "seen" in shown.stdout
