"""The state machine as a drawing, with the path of one run marked on it."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langgraph_recursive.state.errors import InvalidInputError
from langgraph_recursive.state.ids import ROOT_ID, root_ref

from .promised import last_run_events
from .svg import Svg, box, label, line, picture

__all__ = ("machine_svg", "path_of")

_START, _END = "START", "END"
_WIDTH, _HEIGHT = 980, 346
_BOX = (100, 36)

_PLACES: dict[str, tuple[int, int]] = {
    _START: (42, 80),
    "admit": (140, 80),
    "decompose": (300, 80),
    "solve": (610, 80),
    "subtasks": (300, 190),
    "review": (440, 190),
    "aggregate": (610, 190),
    "verify": (760, 135),
    "recovery": (760, 240),
    "intervene": (890, 240),
    _END: (900, 135),
}

# From, to, path, and what is written on it where.
_EDGES: tuple[tuple[str, str, str, str, int, int], ...] = (
    (_START, "admit", "M56 80H88", "", 0, 0),
    ("admit", "decompose", "M190 80H248", "", 0, 0),
    ("admit", "solve", "M150 62V34H610V60", "fix", 375, 29),
    ("admit", "aggregate", "M170 98V262H610V210", "fix", 375, 257),
    ("decompose", "solve", "M350 80H558", "atomic", 450, 75),
    ("decompose", "subtasks", "M285 98V170", "split", 268, 139),
    ("review", "decompose", "M440 172C440 125 340 150 322 100", "replan", 412, 134),
    ("subtasks", "review", "M350 184H388", "", 0, 0),
    ("review", "subtasks", "M418 208C410 236 335 236 322 210", "next", 370, 243),
    ("review", "aggregate", "M490 190H558", "accepted", 523, 184),
    ("review", _END, "M460 208V284H956V135H920", "fail", 500, 279),
    ("solve", "verify", "M660 80H760V115", "", 0, 0),
    ("aggregate", "verify", "M660 190H735V155", "", 0, 0),
    ("verify", _END, "M810 135H880", "passed", 846, 129),
    ("verify", "recovery", "M760 153V220", "failed", 724, 213),
    ("recovery", _END, "M795 222V190H894V153", "halt", 832, 185),
    ("recovery", "intervene", "M810 240H838", "", 0, 0),
    ("intervene", _END, "M907 222V153", "ends", 922, 192),
    ("intervene", "admit", "M890 258V328H116V100", "goes on", 845, 322),
    ("recovery", "admit", "M760 258V306H130V100", "next attempt", 445, 320),
)
_MARKERS = "".join(
    f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" '
    f'markerUnits="userSpaceOnUse" orient="auto">'
    f'<path d="M0 0L8 4L0 8z" class="{color}" fill="{plain}"/></marker>'
    for name, color, plain in (("end", "soft", "#5d6675"), ("gone", "work", "#3b76c4"))
)


def machine_svg(path: Sequence[str] = ()) -> Svg:
    """Draw the state machine, without network.

    Args:
        path: Names of the nodes that a run went through, in order, as from `path_of`; it is marked.

    Raises:
        InvalidInputError: There is no node of a name.
    """
    for name in path:
        if name not in _PLACES:
            raise InvalidInputError(
                f"there is no node {name!r}: {', '.join(_PLACES)}", field="path", value=str(name)[:80]
            )
    steps = Counter(itertools.pairwise(path))
    visits = Counter(path)
    gone = [edge for edge in _EDGES if steps[edge[:2]]]
    parts = [part for edge in _EDGES if edge not in gone for part in _edge(edge, 0)]
    parts += [part for edge in gone for part in _edge(edge, steps[edge[:2]])]
    parts += [part for name in _PLACES for part in _node(name, visits[name], marked=bool(path))]
    said = f"path: {' → '.join(path)}" if path else "the state machine of a task; subtasks runs it for each sub-task"
    return picture(_WIDTH, _HEIGHT, parts, said, defs=_MARKERS)


def _edge(edge: tuple[str, str, str, str, int, int], times: int) -> list[str]:
    *_, path, told, x, y = edge
    color, marker = ("work", "gone") if times else ("soft", "end")
    parts = [line(path, color, width=2.5 if times else 1, marker=marker)]
    told = f"{told} ({times}x)".strip() if times > 1 else told
    if told and x:
        parts.append(label(x, y, told, "work" if times else "soft", size=10, anchor="middle", bold=times > 0))
    return parts


def _node(name: str, visits: int, *, marked: bool) -> list[str]:
    x, y = _PLACES[name]
    ends = name in (_START, _END)
    wide, high = (36, 36) if name == _END else (28, 28) if name == _START else _BOX
    color = "work" if visits else "edge" if marked else "soft"
    parts = [box(x - wide / 2, y - high / 2, wide, high, "faint", stroke=color, radius=high / 2 if ends else 6)]
    if name == _START:
        return [*parts, label(x, y + 30, name, "soft", size=10, anchor="middle")]
    told = f"{name} ({visits}x)" if visits > 1 else name
    size = 10 if name == _END else 12
    ink = "ink" if visits or not marked else "soft"
    return [*parts, label(x, y + 4, told, ink, size=size, anchor="middle", bold=visits > 0)]


# --- path ---

_CALLS = {"atomizer": "decompose", "decomposer": "decompose", "solver": "solve", "aggregator": "aggregate"}
_NODES = {
    "decomposed": "decompose",
    "solved": "solve",
    "aggregated": "aggregate",
    "verified": "verify",
    "recovering": "recovery",
    "reviewed": "review",
    "intervened": "intervene",
    "accepted": _END,
    "halted": _END,
}


def path_of(events: Iterable[Mapping[str, Any]], task_id: str = ROOT_ID, *, run_id: str | None = None) -> list[str]:
    """The nodes that one task went through, for `machine_svg`.

    Args:
        events: As they were streamed or from `read_events`.
        task_id: The task; its fixes belong to it.
        run_id: The run, where there are events of several; else it is the last one, with its resumes.
    """
    path: list[str] = []
    begins = "decompose"
    for event in last_run_events(events, run_id):
        if root_ref(event["task_id"]) == root_ref(task_id):
            if event["type"] == "task_started":
                begins = event["data"]["start"]
            if event["type"] == "intervened" and path[-1:] == [_END]:
                path.pop()  # the halt did not end it
            path += _steps(path, event, begins)
    return path


def _steps(path: Sequence[str], event: Mapping[str, Any], begins: str) -> list[str]:
    """The nodes that an event tells of, those in between included."""
    kind, data = event["type"], event["data"]
    if kind == "task_started":
        return ["admit"] if path and path[-1] != _END else [_START, "admit"]
    node = _CALLS.get(data["call"]) if kind == "call_finished" else _NODES.get(kind)
    if node is None or not path:
        return []
    steps = _reached(path[-1], node, begins)
    if kind == "intervened" and data["decision"] != "retry":
        return [*steps, _END]
    if kind == "decomposed" and data["children"]:
        return [*steps, "subtasks"]
    if kind == "halted" and path[-1] == "verify" and not _ends_there(event):
        return ["recovery", *steps]
    return steps


def _reached(last: str, node: str, begins: str) -> list[str]:
    if node == last:
        return []
    if last == "admit" and begins == "decompose" and node in ("solve", "subtasks"):
        return ["decompose", node]
    return [node]


def _ends_there(event: Mapping[str, Any]) -> bool:
    """Whether a verdict ends a task without recovery: it could not be checked, or it was stopped."""
    return event["data"]["halt"] in ("validator_error", "cancelled", "timed_out")
