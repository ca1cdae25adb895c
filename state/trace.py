"""Traces: what happened to each task, in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ._model import Data

__all__ = ("DETAIL_CHARS", "SolveTrace", "TraceType", "cut")

DETAIL_CHARS = 80

TraceType = Literal["DECOMPOSED", "SOLVED", "AGGREGATED", "VERIFIED", "RECOVERED", "HALTED", "REWOUND", "INTERVENED"]


class SolveTrace(Data):
    """One step of a task (recursive-task-solver, "Result and traces").

    Attributes:
        type: What happened. `RECOVERED`, `HALTED`, `REWOUND` and `INTERVENED` are ours, the others the document's.
        task: The task's original text.
        detail: What came of it. Answers and sub-task texts are cut to 80 characters, feedback is whole.
        depth: Depth of the task in the tree, the root is 0.
        attempt: The attempt's number for `SOLVED`, 0 for what the document counts as 0.
        task_id: The attempt it belongs to.
        time: Seconds since the epoch.
    """

    type: TraceType
    task: str = ""
    detail: str = ""
    depth: int = 0
    attempt: int = 0
    task_id: str = ""
    time: float = 0.0


def cut(text: str) -> str:
    """Cut an answer or a sub-task's text for a trace, to 80 characters."""
    return text[:DETAIL_CHARS]


def listed(texts: Sequence[str]) -> str:
    """Write the detail of `DECOMPOSED`: the number of sub-tasks and their text."""
    return f"{len(texts)}: " + "; ".join(cut(text) for text in texts)
