"""Killed at every call, a run resumes to the same answer and repeats only what had not been stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crash_stories import MOMENTS, WIDTH, Kills, crashed, exact, same_result, show

TREE = "crash_tree"
CALLS = 29


@pytest.mark.slow
@pytest.mark.parametrize("in_async", [False, True], ids=["invoke", "ainvoke"])
@pytest.mark.parametrize("saver", ["sqlite", "grouped"])
class TestKilled:
    def test_at_every_call(self, folder: Path, saver: str, in_async: bool, record_property: Any) -> None:
        """With durability "sync", what is made again is only what had not been stored.

        The two savers share the moments between them, so that each call is killed at both in `invoke` and in `ainvoke`.
        """
        turn = saver == "grouped"
        points: list[Kills] = [[(n, MOMENTS[(n + turn) % 2])] for n in range(1, CALLS + 1)]
        points += [[(n, "stored")] for n in range(1, CALLS + 1, 3)]
        calm, stories = crashed(folder, TREE, saver, in_async, "sync", points)
        assert calm.all_calls.total() == CALLS
        for story in stories:
            assert story.ends == [-9, 0], str(story)
            exact(story, calm)
            assert max(story.all_calls.values()) <= 2, str(story)
            # In a slot, or returned with its write on the way.
            assert story.repeated.total() <= 2 * WIDTH, str(story)
        show(stories, saver, in_async, "sync", record_property)

    def test_with_async_durability(self, folder: Path, saver: str, in_async: bool, record_property: Any) -> None:
        """A node's own checkpoint may be on the way too, and then its calls go with it."""
        points: list[Kills] = [[(n, MOMENTS[n % 3])] for n in range(1, CALLS + 1, 2)]
        calm, stories = crashed(folder, TREE, saver, in_async, "async", points)
        for story in stories:
            assert story.ends == [-9, 0], str(story)
            same_result(story, calm)
        show(stories, saver, in_async, "async", record_property)

    def test_again_during_the_resume(self, folder: Path, saver: str, in_async: bool) -> None:
        points: list[Kills] = [
            [(n, MOMENTS[n % 3]), (1 + (7 * n) % (CALLS - n), MOMENTS[n % 2])] for n in range(2, CALLS - 1, 4)
        ]
        calm, stories = crashed(folder, TREE, saver, in_async, "sync", points)
        for story in stories:
            assert story.ends in ([-9, -9, 0], [-9, 0]), str(story)
            exact(story, calm)
            assert max(story.all_calls.values()) <= 3, str(story)
