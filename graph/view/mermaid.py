"""A tree as a Mermaid flowchart."""

from __future__ import annotations

from collections.abc import Sequence

from .safe import mermaid_label, shortened
from .views import TaskView, numbers
from .words import SIGNS, Status

__all__ = ("mermaid_of",)

_OBJECTIVE_CHARS = 60
# Strokes only, so that Mermaid's own light and dark themes keep their colours.
_CLASSES: dict[str, tuple[Status, ...]] = {
    "good": ("checked", "unchecked"),
    "bad": ("halted",),
    "busy": ("working", "split", "combining", "checking", "repairing"),
    "idle": ("waiting", "stopped"),
}
_STROKES = {
    "good": "stroke:#2f9e62,stroke-width:2px",
    "bad": "stroke:#d64b43,stroke-width:2px",
    "busy": "stroke:#c08a1e,stroke-width:2px",
    "idle": "stroke:#8a8f98,stroke-dasharray:4 3",
}


def mermaid_of(roots: Sequence[TaskView]) -> str:
    """Write the tasks as a flowchart, each with its status, attempts and numbers."""
    tasks = [task for root in roots for task in root.walk()]
    names = {id(task): f"n{number}" for number, task in enumerate(tasks)}
    lines = ["flowchart TD"]
    for task in tasks:
        title = mermaid_label(f"{SIGNS[task.status]} {task.id} {shortened(task.objective, _OBJECTIVE_CHARS)}")
        lines.append(f'    {names[id(task)]}["{title}<br/>{mermaid_label(numbers(task))}"]')
    for task in tasks:
        arrow = "-.->" if task.given_up else "-->"
        lines += [f"    {names[id(task)]} {arrow} {names[id(child)]}" for child in task.children]
    for kind, statuses in _CLASSES.items():
        if members := [names[id(task)] for task in tasks if task.status in statuses]:
            lines += [f"    classDef {kind} {_STROKES[kind]}", f"    class {','.join(members)} {kind}"]
    return "\n".join(lines)
