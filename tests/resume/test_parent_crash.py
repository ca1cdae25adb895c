"""Killed at every call of an `agent_parent`'s model, the run and its conversations go on where they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from crash_stories import MOMENTS, WIDTH, Kills, crashed, exact, same_result
from parent_tree import ANSWER

TREE = "parent_tree"
CALLS = 14


@pytest.mark.slow
@pytest.mark.parametrize("in_async", [False, True], ids=["invoke", "ainvoke"])
@pytest.mark.parametrize("saver", ["sqlite", "grouped"])
class TestKilled:
    def test_at_every_call(self, folder: Path, saver: str, in_async: bool) -> None:
        """The two savers share the moments between them, as in `test_crash`."""
        turn = 2 * (saver == "grouped") + in_async
        points: list[Kills] = [[(n, MOMENTS[(n + turn) % 3])] for n in range(1, CALLS + 1)]
        calm, stories = crashed(folder, TREE, saver, in_async, "sync", points)
        assert (calm.result["output"], calm.all_calls.total()) == (ANSWER, CALLS)
        for story in stories:
            assert story.ends == [-9, 0], str(story)
            exact(story, calm)
            assert story.repeated.total() <= WIDTH, str(story)

    def test_again_during_the_resume(self, folder: Path, saver: str, in_async: bool) -> None:
        points: list[Kills] = [[(n, MOMENTS[n % 3]), (1 + n % (CALLS - n), MOMENTS[n % 2])] for n in range(1, CALLS, 4)]
        calm, stories = crashed(folder, TREE, saver, in_async, "async", points)
        for story in stories:
            assert story.ends in ([-9, -9, 0], [-9, 0]), str(story)
            same_result(story, calm)
