"""Which calls of a node have a LangGraph `task` of their own."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass
from typing import Any

from .effects import Join, Start

__all__ = ("CallTasks", "StoredTasks")


@dataclass(frozen=True)
class StoredTasks:
    """What the checkpoints of a run that was cut off tell of the calls of its nodes.

    Attributes:
        namespaces: The checkpoint namespaces of all graphs.
        writers: By a graph's namespace, the LangGraph tasks whose results or interrupts its newest checkpoint holds.
    """

    namespaces: Collection[str]
    writers: Mapping[str, Set[str]]

    def had(self, node: str, call: str) -> bool:
        """Whether the calls of a node had tasks of their own: one was interrupted or finished, or a graph ran in it.

        Args:
            node: The node's own namespace, which ends with the id of its LangGraph task.
            call: Name of its first call.
        """
        graph, _, own = node.rpartition("|")
        others = self.writers.get(graph, set()) - {own.rpartition(":")[2]}
        return bool(others) or any(name.startswith(f"{node}|{call}:") for name in self.namespaces)


class CallTasks:
    """How what the calls of one execution of a node gave is kept.

    Without a saver nothing is, and no call needs a `task`. With one, LangGraph keeps what a node writes as soon as it
    has ended, so its only call needs none either. When another one starts, the first is put on record, under the name
    and number that its `task` would have had. A process that goes on where another was cut off does as that one did:
    LangGraph knows calls, what they asked a person and the graphs in them by their tasks.

    Args:
        stored: What an earlier process left; None without a saver.
        node: The node's own checkpoint namespace.

    Attributes:
        used: Whether there are tasks that LangGraph keeps.
    """

    def __init__(self, stored: StoredTasks | None, node: str) -> None:
        self.used = False
        self._stored = stored
        self._node = node
        self._begun = False
        self._first: tuple[str, dict[str, Any]] | None = None

    def spared(self, call: str) -> bool:
        """Whether a call that starts now needs none: as long as it is the only one."""
        if self._stored is None:
            return True
        if self._begun or self.used:
            return False
        self._begun = True
        return not self._stored.had(self._node, call)

    def ended(self, call: str, record: dict[str, Any]) -> None:
        """Remember the record of a call that was spared one."""
        self._first = call, record

    async def open(self) -> None:
        """Put the first call on record, since another starts."""
        if self._stored is None:
            return
        self.used = True
        if self._first is not None:
            (call, record), self._first = self._first, None
            await Join(await Start(call, functools.partial(_made, record)))


async def _made(record: dict[str, Any]) -> dict[str, Any]:
    return record
