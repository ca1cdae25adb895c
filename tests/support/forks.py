"""A warm process that forks: each stage of a story runs in a child of its own, a few stories at once."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import traceback
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

__all__ = ("fork", "serve")

Story = TypeVar("Story", bound=Any)

STORIES_AT_ONCE = 3


def fork(stage: Callable[[], None], output: str | Path, *, seconds: float) -> int:
    """Run a stage in a child, whose errors go to a file and which ends after so many seconds at the latest."""
    child = os.fork()
    if child:
        return child
    code = 1
    file = open(output, "a")  # noqa: SIM115 - the child's for good
    try:
        os.dup2(file.fileno(), 2)
        faulthandler.dump_traceback_later(seconds, exit=True, file=file)
        stage()
        code = 0
    except BaseException:  # noqa: BLE001 - a child that fails says why and ends
        traceback.print_exc(file=file)
    finally:
        file.flush()
        os._exit(code)


def serve(waiting: list[Story], start: Callable[[Story], int], goes_on: Callable[[Story], bool]) -> None:
    """Run stories stage by stage, and write each to stdout as JSON when it is through.

    Args:
        waiting: The stories, dataclasses whose `ends` take in how each stage ended.
        start: Forks the next stage of one.
        goes_on: Whether one has another stage.
    """
    running: dict[int, Story] = {}
    while waiting or running:
        while waiting and len(running) < STORIES_AT_ONCE:
            story = waiting.pop(0)
            running[start(story)] = story
        child, status = os.wait()
        story = running.pop(child)
        story.ends.append(os.waitstatus_to_exitcode(status))
        if goes_on(story):
            running[start(story)] = story
        else:
            with contextlib.suppress(BrokenPipeError):
                print(json.dumps(asdict(story)), flush=True)
