"""Stories of crashes: what the crash job made of a tree, and what must be the same however often it was killed."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from call_log import Key, Moment, logged

__all__ = ("MOMENTS", "WIDTH", "Kills", "Story", "crashed", "exact", "folder", "same_result", "show")

JOB = Path(__file__).parents[1] / "resume" / "crash_job.py"
WIDTH = 3
MOMENTS: tuple[Moment, ...] = ("called", "returned", "stored")
SECONDS = 120

Kills = Sequence[tuple[int, Moment]]
"""For each run to be killed: at its n-th call, and at which moment of it."""


class Story:
    """What became of one scenario of the crash job."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.kills = told["kills"]
        self.ends: list[int] = told["ends"]
        self.folder = Path(told["folder"])

    def __str__(self) -> str:
        stderr = self.folder / "stderr.txt"
        return f"kills {self.kills}, ends {self.ends}\n{stderr.read_text() if stderr.exists() else ''}"

    @cached_property
    def result(self) -> dict[str, Any]:
        assert self.ends[-1] == 0, str(self)
        value: dict[str, Any] = json.loads((self.folder / "result.json").read_text())
        return value

    @cached_property
    def calls(self) -> list[Counter[Key]]:
        """The calls that each run started."""
        return [logged(self.folder / f"calls-{stage}.log") for stage in range(len(self.ends))]

    @property
    def all_calls(self) -> Counter[Key]:
        return sum(self.calls, Counter())

    @property
    def repeated(self) -> Counter[Key]:
        return self.all_calls - Counter(set(self.all_calls))

    @cached_property
    def finished(self) -> Counter[Key]:
        """The calls that had returned when a run was killed."""
        killed = len(self.ends) - 1
        return sum((logged(self.folder / f"calls-{stage}.log", "end") for stage in range(killed)), Counter())

    @property
    def finished_repeated(self) -> int:
        """Calls that had returned and were made again."""
        return (self.repeated & self.finished).total()

    @cached_property
    def stored(self) -> list[int]:
        """How many calls were stored when each run began."""
        return [int((self.folder / f"stored-{stage}.txt").read_text()) for stage in range(len(self.ends))]


def run_all(scenarios: Sequence[dict[str, Any]]) -> list[Story]:
    """Have the crash job run the scenarios."""
    lines = "".join(json.dumps(scenario) + "\n" for scenario in scenarios)
    try:
        done = subprocess.run(
            [sys.executable, str(JOB)],
            input=lines,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        pytest.fail(f"hangs: {late.stderr!r}")
    assert done.returncode == 0, done.stderr
    stories = [Story(json.loads(line)) for line in done.stdout.splitlines()]
    assert len(stories) == len(scenarios), done.stderr
    return stories


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory where there is one: SIGKILL loses nothing that was written, so no disk is needed."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as path:
        yield Path(path)


def scenarios_of(
    folder: Path, tree: str, saver: str, in_async: bool, durability: str, stories: Sequence[Kills]
) -> list[dict[str, Any]]:
    made = []
    for number, kills in enumerate([(), *stories]):  # the first is not disturbed
        place = folder / str(number)
        place.mkdir()
        made.append(
            {
                "folder": str(place),
                "saver": saver,
                "in_async": in_async,
                "durability": durability,
                "kills": list(kills),
                "tree": tree,
            }
        )
    return made


def crashed(
    folder: Path, tree: str, saver: str, in_async: bool, durability: str, stories: Sequence[Kills]
) -> tuple[Story, list[Story]]:
    """The undisturbed run, and the stories of those that were killed."""
    found = run_all(scenarios_of(folder, tree, saver, in_async, durability, stories))
    calm = next(story for story in found if not story.kills)
    assert calm.result["usage"]["calls"] == calm.all_calls.total()
    return calm, [story for story in found if story.kills]


def same_result(story: Story, calm: Story) -> None:
    for key in ("output", "success", "verified", "attempts", "said"):
        assert story.result[key] == calm.result[key], f"{key}: {story}"
    assert set(story.all_calls) == set(calm.all_calls), str(story)


def exact(story: Story, calm: Story) -> None:
    """Nothing stored was made again, and every call that was needed is counted once."""
    same_result(story, calm)
    for calls, stored in zip(story.calls, story.stored, strict=True):
        assert calls.total() <= calm.all_calls.total() - stored, str(story)
    assert story.result["usage"] == calm.result["usage"], str(story)
    assert story.result["total_usage"] == calm.result["total_usage"], str(story)
    assert story.result["traces"] == calm.result["traces"], str(story)


def show(stories: list[Story], saver: str, in_async: bool, durability: str, record_property: Any) -> None:
    """Tell the figures (`pytest -s` prints them); a call killed between its return and its write is bound to repeat."""
    finished = [story.finished_repeated - (story.kills[0][1] == "returned") for story in stories]
    repeated = [story.repeated.total() for story in stories]
    figures = (
        f"{saver} {'ainvoke' if in_async else 'invoke'} {durability}: {len(stories)} crashes, "
        f"{statistics.mean(repeated):.2f} calls repeated each (at most {max(repeated)}), "
        f"others finished {statistics.mean(finished):.2f} (at most {max(finished)})"
    )
    record_property("crashes", figures)
    print(figures)
