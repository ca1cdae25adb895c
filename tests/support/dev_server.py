"""`langgraph dev` in a folder, for tests: offline, on a free port, in a process group of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import httpx

__all__ = ("DevServer",)

SUPPORT = Path(__file__).parent
START_SECONDS = 120.0


class DevServer:
    """A server that runs in a folder and keeps its state there.

    Args:
        folder: Where it runs.
        config: Its `langgraph.json`.
        env: Environment variables of its own.
    """

    def __init__(self, folder: Path, config: Path, env: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.config = config
        self.env = {
            **{name: value for name, value in os.environ.items() if not name.startswith("LANGGRAPH_RECURSIVE_")},
            "LANGGRAPH_STRICT_MSGPACK": "true",
            "LANGSMITH_TRACING": "false",
            "LANGGRAPH_CLI_NO_ANALYTICS": "1",
            "LANGGRAPH_NO_VERSION_CHECK": "true",
            "NO_COLOR": "1",
            "PYTHONPATH": str(SUPPORT),
            **(env or {}),
        }
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    def start(self) -> None:
        """Start it and wait until it answers."""
        self.port = free_port()
        options = ["--no-browser", "--no-reload", "--n-jobs-per-worker", "10", "--port", str(self.port)]
        command = [sys.executable, "-m", "langgraph_cli", "dev", "--config", str(self.config), *options]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, cwd=self.folder, env=self.env, stdout=log, stderr=log, start_new_session=True
            )
        try:
            self._wait(self.process)
        except BaseException:
            self.kill()
            raise

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            assert process.poll() is None, f"the server ended:\n{self.output()}"
            assert time.monotonic() < deadline, f"the server does not answer:\n{self.output()}"
            time.sleep(0.1)

    def answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/ok", timeout=10).is_success
        except httpx.TransportError:
            return False

    def kill(self) -> None:
        """End it as a crash would, and everything it started."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):  # it may have ended by itself
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def output(self) -> str:
        return self.log.read_text(errors="replace")[-20_000:]


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
