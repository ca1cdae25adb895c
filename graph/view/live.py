"""The trees of what is watched, while they grow."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from langgraph_recursive.state.event import Limits

from .growing import GrowingTree
from .promised import starts_run
from .views import TaskView

__all__ = ("LiveTree",)


class LiveTree:
    """The trees of the runs that go on under one call, while they grow: a host may run a solver several times.

    Thread safe: events come from threads of the run, and a picture is drawn in one of its own.

    Args:
        known: What is known of a run that is resumed.
    """

    def __init__(self, known: GrowingTree | None = None) -> None:
        self.lock = threading.RLock()
        self._trees: list[GrowingTree] = [known] if known is not None else []
        self._by_run: dict[str, GrowingTree] = {}

    def feed(self, event: Mapping[str, Any]) -> None:
        """Take an event in; one of a run that is not known goes on with the last one."""
        with self.lock:
            run_id = event["run_id"]
            if run_id not in self._by_run:
                if not self._trees or (self._by_run and starts_run(event, None)):
                    self._trees.append(GrowingTree())
                self._by_run[run_id] = self._trees[-1]
            self._by_run[run_id].feed(event)

    def roots(self) -> list[TaskView]:
        """The topmost tasks of all runs."""
        with self.lock:
            return [root for tree in self._trees for root in tree.roots()]

    @property
    def budget(self) -> Limits:
        """What the last run has spent of its limits."""
        return self._trees[-1].budget if self._trees else {}
