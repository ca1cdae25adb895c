"""Killed at any write after a person's decision, a run goes on to the same end: nothing is done or decided twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from call_log import logged
from saver_kinds import KINDS, new_file

JOB = Path(__file__).with_name("halt_job.py")
SECONDS = 300
STRIDE = 29


@pytest.fixture
def folder() -> Iterator[Path]:
    memory = Path("/dev/shm")  # SIGKILL loses nothing that was written, so no disk is needed
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as path:
        yield Path(path)


def told(folder: Path, saver: str, in_async: bool, asks: bool, points: list[tuple[int, bool]]) -> list[dict[str, Any]]:
    """Have the job run one story per point."""
    lines = []
    for number, (kill_at, after) in enumerate(points):
        place = folder / f"{len(list(folder.iterdir()))}-{number}"
        place.mkdir()
        location = KINDS[saver].new_location(place) if saver in KINDS else new_file(place)
        story = {"folder": str(place), "location": location, "saver": saver, "in_async": in_async, "asks": asks}
        lines.append(json.dumps({**story, "kill_at": kill_at, "after": after}) + "\n")
    done = subprocess.run(
        [sys.executable, str(JOB)],
        input="".join(lines),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        env={**os.environ, "LANGGRAPH_STRICT_MSGPACK": "true", "LANGSMITH_TRACING": "false"},
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def result_of(story: dict[str, Any]) -> dict[str, Any]:
    folder = Path(story["folder"])
    result = json.loads((folder / "result.json").read_text()) if (folder / "result.json").exists() else {}
    stderr = folder / "stderr.txt"
    assert story["ends"][-1] == 0, f"{story} {stderr.read_text()[-4000:] if stderr.exists() else ''}"
    return dict(result)


def calls_of(story: dict[str, Any]) -> Counter[Any]:
    return sum((logged(Path(story["folder"]) / f"calls-{n}.log") for n in range(len(story["ends"]))), Counter())


@pytest.mark.slow
@pytest.mark.parametrize("asks", [True, False], ids=["interrupt", "continue_from_halt"])
@pytest.mark.parametrize("in_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize(
    "saver", ["sqlite", "grouped", "history", pytest.param("postgres", marks=pytest.mark.postgres)]
)
def test_at_any_write(folder: Path, saver: str, in_async: bool, asks: bool) -> None:
    """The savers and worlds share the writes between them."""
    [calm] = told(folder, saver, in_async, asks, [(0, False)])
    expected, needed = result_of(calm), calls_of(calm)
    assert calm["ends"] == [0, 0]
    assert expected["output"] == "first+second+third+fourth"
    assert max(needed.values()) == 1
    offset = 1 + 2 * in_async + asks + ["sqlite", "grouped", "history", "postgres"].index(saver)
    writes = [*range(1, 4), *range(3 + offset % STRIDE, expected["writes"] + 1, STRIDE)]
    stories = told(folder, saver, in_async, asks, [(n, bool((n + offset) % 2)) for n in writes])
    for story in stories:
        result, made = result_of(story), calls_of(story)
        assert story["ends"] in ([0, -9, 0], [0, 0]), story  # a run may come to its end with a few writes less
        assert result["attempts"] == expected["attempts"], story
        assert (result["output"], result["usage"]) == (expected["output"], expected["usage"]), story
        assert set(made) == set(needed), story
        # What was in its slot, and what had returned with its write on the way.
        assert (made - needed).total() <= 2, story
