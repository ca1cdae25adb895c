"""What the first version with a working saver stored always resumes to its known answer."""

from __future__ import annotations

import asyncio
import gzip
import os
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import pytest
from langgraph.types import Command

from golden_job import ASKING, RECOVERING, GoldenJob
from langgraph_recursive.state.failure import Failure
from langgraph_recursive.state.task import Attempt, Task
from langgraph_recursive.state.task_state import TaskState
from saver_kinds import GROUPED, SQLITE, SaverKind

GOLDEN = Path(__file__).with_name("v0_1.sqlite.gz")

LEAVES = (
    "done: collect the sales()",
    "done: collect the costs(); with March",
    "done: compare sales and costs(done: collect the sales(), done: collect the costs(); with March)",
)
TEAM = "[done: list the people() | done: draw the chart(done: list the people()){asked}]"


def answer(asked: str = "") -> str:
    return f"[{' | '.join([*LEAVES, TEAM.format(asked=asked)])}]"


@pytest.fixture
def database(tmp_path: Path) -> str:
    path = tmp_path / "golden.sqlite"
    path.write_bytes(gzip.decompress(GOLDEN.read_bytes()))
    return os.fspath(path)


def resumed(kind: SaverKind, database: str, in_async: bool, job: GoldenJob, given: Any, config: Any) -> Any:
    async def run() -> Any:
        async with kind.open_async(database) as saver:
            return await job.solver(saver).ainvoke(given, config)

    if in_async:
        return asyncio.run(run())
    with kind.open_sync(database) as saver:
        return job.solver(saver).invoke(given, config)


@pytest.mark.parametrize("in_async", [False, True], ids=["invoke", "ainvoke"])
@pytest.mark.parametrize("kind", [SQLITE, GROUPED], ids=lambda kind: kind.name)
class TestGolden:
    def test_stopped_in_recovery(self, kind: SaverKind, database: str, in_async: bool) -> None:
        job = GoldenJob()
        result = resumed(kind, database, in_async, job, None, RECOVERING)
        assert result["output"] == answer()
        assert [attempt.id for attempt in result["attempts"]] == ["t", "t_fix_1"]
        assert job.calls["solve t.2_fix_1"] == 1
        assert job.calls["solve t.2"] == job.calls["decompose t"] == 0
        assert result["usage"].calls == 29
        assert Counter(trace.type for trace in result["traces"])["RECOVERED"] == 2

    def test_interrupted(self, kind: SaverKind, database: str, in_async: bool) -> None:
        job = GoldenJob(ask_at="t.4.2")
        result = resumed(kind, database, in_async, job, Command(resume="blue"), ASKING)
        assert result["output"] == answer(" (blue)")
        assert set(job.calls) == {
            f"{role} {task}"
            for task, roles in {
                "t.4.2": ("solve", "check", "style"),
                "t.4": ("combine", "check", "style"),
                "t": ("combine", "check", "style"),
                "t_fix_1": ("combine", "check", "style"),
            }.items()
            for role in roles
        }
        assert set(job.calls.values()) == {1}
        assert result["usage"].calls == 29


class TestOldTasks:
    """ADR 021: what was stored before a field existed still loads."""

    BRIEF: ClassVar = {"objective": "o", "reason": "r", "completion_criteria": ["c"], "expected_outputs": ["e"]}

    def test_a_task_without_recovery_fields(self) -> None:
        task = Task.model_validate({"id": "t.1", "spec": "do it", "brief": self.BRIEF})
        assert task.root_ref == "t.1"
        assert task.intent == "do it"
        assert task.prior_failures == []
        assert task.attempt == 1

    def test_a_field_of_a_newer_version_is_ignored(self) -> None:
        assert Task.model_validate({"id": "t", "spec": "s", "brief": self.BRIEF, "later": 1}).id == "t"

    def test_state_attempt_and_failure_with_the_least(self) -> None:
        state = TaskState.model_validate({"current": {"id": "t", "spec": "s", "brief": self.BRIEF}})
        assert state.attempt.id == "t"
        assert Attempt.model_validate({"id": "t", "attempt": 1, "outcome": "failed"}).failures == []
        failure = Failure.model_validate(
            {"attempt": 1, "validator_id": "v", "severity": "blocker", "justification": "j"}
        )
        assert failure.evidence == []
