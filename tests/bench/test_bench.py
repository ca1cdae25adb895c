from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

RUN = Path(__file__).with_name("run.py")


def test_every_part_runs_and_writes_json(tmp_path: Path) -> None:
    written = tmp_path / "bench.json"
    ended = subprocess.run(
        [sys.executable, str(RUN), "--quick", "--json", str(written)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    report = json.loads(written.read_text())
    assert set(report["parts"]) == {"makespan", "cpu", "storage", "recovery", "validation", "imports", "orders"}
    for name, part in report["parts"].items():
        if name != "orders":
            assert part["rows"], name
            assert part["title"] in ended.stdout
    assert report["versions"]["langgraph"]


def test_the_engine_wins_where_the_loops_lose(tmp_path: Path) -> None:
    written = tmp_path / "bench.json"
    command = [sys.executable, str(RUN), "--quick", "--only", "recovery", "--json", str(written)]
    subprocess.run(command, capture_output=True, check=True)
    rows = {row["case"]: row for row in json.loads(written.read_text())["parts"]["recovery"]["rows"]}
    assert rows["whack-a-mole: one failure at a time"]["this engine"] == "! 4+4"
    assert rows["never converges"]["this engine"] == "x 2+2 recovery_stalled"
    assert rows["same verdict in other words"]["this engine"] == "x 2+2 recovery_stalled"
    assert rows["A-B-A: each fix undoes the last"]["this engine, stall_window=2"] == "x 3+3 recovery_stalled"
    assert rows["validator error"]["this engine"] == "x 1+1 validator_error"
    assert rows["fixable only with the evidence"]["retry the same text"] == "x 6+6"
