"""Run the command line as a process of its own."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import Finished, command

_DROPPED = ("LANGGRAPH_", "XDG_", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR")


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "state" / "runs.db"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_DROPPED)}
    wanted = {
        "CALL_LOG": str(tmp_path / "calls"),
        "XDG_STATE_HOME": str(tmp_path / "home"),
        "LANGSMITH_TRACING": "false",
    }
    return {**kept, **wanted}


@pytest.fixture
def cli(environment: dict[str, str], db: Path) -> Callable[..., Finished]:
    def run(*arguments: str, stdin: str | None = None, at: Path | None = db, **more: str) -> Finished:
        return subprocess.run(
            command(*arguments, *([] if at is None else ["--db", str(at)])),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=120,
            env={**environment, **more},
            check=False,
        )

    return run
