"""The README's server and its client do what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from dev_server import DevServer

README = Path(__file__).parents[2] / "README.md"


def blocks(kind: str) -> list[str]:
    section = README.read_text().split("### langgraph dev\n")[1].split("\n## ")[0]
    return re.findall(rf"```{kind}\n(.*?)```", section, re.DOTALL)


def test_the_program_on_the_server_and_its_client(tmp_path: Path) -> None:
    (agent,), (config,), (client,) = blocks("python"), blocks("json"), blocks("py")
    (tmp_path / "agent.py").write_text(agent)
    (tmp_path / "langgraph.json").write_text(config)
    server = DevServer(tmp_path, tmp_path / "langgraph.json")
    try:
        server.start()
        program = client.replace("http://127.0.0.1:2024", server.url)
        done = subprocess.run([sys.executable, "-c", program], env=server.env, capture_output=True, text=True)
        if done.returncode:
            pytest.fail(done.stderr + server.output())
    finally:
        server.kill()
    promised = [line[2:] for line in client.splitlines() if line.startswith("# ")]
    assert done.stdout.splitlines() == promised
