"""A timeline: one lane per task, with its attempts, its calls and what it waited for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from langgraph_recursive.state.errors import InvalidInputError

from .growing import GrowingTree
from .lanes import Lane, Span, WaitKind, lanes_of
from .promised import last_run_events
from .safe import markup, shortened
from .svg import Svg, box, label, line, picture
from .views import TaskView
from .words import SIGNS, clock, counted, tone_of

__all__ = ("timeline",)

_LEFT, _RIGHT, _WIDTH = 230, 40, 1000
_LANE, _TOP, _BAR, _FOOT = 26, 34, 16, 20
_LABEL_CHARS = 32
_SHORTEST = 1.5
_PATTERNS = (
    '<pattern id="children" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="2" height="6" class="idle" fill="#7b8494" fill-opacity="0.6"/></pattern>'
    '<pattern id="slot" width="5" height="5" patternUnits="userSpaceOnUse">'
    '<rect x="1" y="1" width="2" height="2" class="busy" fill="#a87412"/></pattern>'
    '<pattern id="person" width="6" height="4" patternUnits="userSpaceOnUse">'
    '<rect width="6" height="2" class="person" fill="#8a4fc7"/></pattern>'
)
_LINES: dict[str, str] = {"planned": "idle", "dependencies": "busy"}
_STROKES = {"again": "busy", "open": "idle", "": "idle"}
_WAITS: dict[WaitKind, str] = {
    "planned": "planned",
    "dependencies": "waits for dependencies",
    "children": "waits for sub-tasks",
    "slot": "waits for a slot",
    "person": "waits for a person",
}
_ENDS = (("good", "accepted"), ("busy", "rejected, tried again"), ("bad", "halted"), ("idle", "not checked, not ended"))

_At = Callable[[float], float]


def timeline(events: Iterable[Mapping[str, Any]], *, run_id: str | None = None) -> Svg:
    """Draw when each task was at work, and what it waited for.

    Each task has a lane. In it stand its attempts as boxes and its calls as filled bars. What it waited for is drawn in
    five ways, which the legend names: to start, for its dependencies, for its sub-tasks, for a slot, for a person.

    Args:
        events: As they were streamed or from `read_events`.
        run_id: The run, where there are events of several; else it is the last one, with its resumes.

    Raises:
        InvalidInputError: There are no events, or one lacks what its type promises.
    """
    chosen = last_run_events(events, run_id)
    if not chosen:
        raise InvalidInputError("there are no events to draw", field="events")
    tree = GrowingTree()
    for event in chosen:
        tree.feed(event)
    tasks = [task for root in tree.roots() for task in root.walk()]
    times = [event["time"] for event in chosen]
    return _drawn(tasks, lanes_of(chosen), (min(times), max(times)), getattr(events, "note", ""))


def _drawn(tasks: Sequence[TaskView], lanes: Mapping[str, Lane], ends: tuple[float, float], note: str) -> Svg:
    start, total = ends[0], max(ends[1] - ends[0], 0.001)
    scale = (_WIDTH - _LEFT - _RIGHT) / total
    bottom = _TOP + _LANE * len(tasks)
    parts = _axis(total, scale, bottom)
    for number, task in enumerate(tasks):
        parts += _name(task, _middle(number))
        parts += _lane(lanes[task.id], _middle(number), task, lambda time: _LEFT + (time - start) * scale)
    for row, texts in enumerate((_attempts_legend(), _waits_legend())):
        parts += _legend(texts, bottom + (row + 1) * _FOOT)
    attempts = sum(len(lane.attempts) for lane in lanes.values())
    said = f"{counted(len(tasks), 'task')}, {counted(attempts, 'attempt')}, {clock(total)}"
    height = bottom + 2 * _FOOT + 14
    if note:
        parts.append(label(16, height + 4, note, "bad", size=11))
        height += _FOOT
    return picture(_WIDTH, height, parts, f"timeline: {said}", defs=_PATTERNS)


def _middle(number: int) -> float:
    return _TOP + (number + 0.5) * _LANE


def _axis(total: float, scale: float, bottom: float) -> list[str]:
    steps = (10.0**power * tens for power in range(-4, 9) for tens in (1, 2, 5))
    step = next((step for step in steps if total / step <= 8), total)
    digits = 0 if step >= 1 else len(f"{step:.4f}".rstrip("0")) - 2
    parts = []
    for number in range(int(total / step) + 1):
        x = _LEFT + number * step * scale
        parts.append(line(f"M{x:.1f} {_TOP - 8}V{bottom}", "faint"))
        parts.append(label(x, _TOP - 14, f"{number * step:.{digits}f}s", "soft", size=10, anchor="middle"))
    return parts


def _name(task: TaskView, middle: float) -> list[str]:
    depth = task.id.count(".")
    indent, room = 12 + 10 * depth, _LABEL_CHARS - 2 * depth
    return [
        label(indent, middle + 4, SIGNS[task.status], tone_of(task.status), anchor="middle", bold=True),
        label(indent + 10, middle + 4, shortened(f"{task.id} {task.objective}", max(8, room)), size=11),
    ]


def _lane(lane: Lane, middle: float, task: TaskView, at: _At) -> Iterator[str]:
    for span in lane.waits:
        if span.kind in _LINES:
            yield _waited(at(span.start), middle, at(_end(span)) - at(span.start), span)
    for span in lane.attempts:
        wide = max(2.0, at(_end(span)) - at(span.start))
        stroke = _STROKES.get(span.kind, span.kind)
        yield box(at(span.start), middle - _BAR / 2, wide, _BAR, "faint", stroke=stroke, told=span.told)
    for span in lane.waits:
        if span.kind not in _LINES:
            yield _waited(at(span.start), middle, at(_end(span)) - at(span.start), span)
    for span in lane.calls:
        x, wide = max(_LEFT, at(span.start)), max(_SHORTEST, at(_end(span)) - at(span.start))
        yield _call(x, middle, wide, span)
    if lane.attempts:
        end = at(_end(lane.attempts[-1]))
        yield label(end + 4, middle + 4, SIGNS[task.status], tone_of(task.status), size=11, bold=True)


def _end(span: Span) -> float:
    return span.start if span.end is None else span.end


def _call(x: float, middle: float, wide: float, span: Span) -> str:
    color = "bad" if span.kind == "failed" else "work"
    return box(x, middle - _BAR / 2 + 3, wide, _BAR - 6, color, told=span.told, radius=1.5)


def _waited(x: float, middle: float, wide: float, span: Span) -> str:
    """A wait to start is a line before the attempt, any other a pattern in it."""
    title = f"<title>{markup(span.told)}</title>" if span.told else ""
    if span.kind in _LINES:
        thick = 2 if span.kind == "dependencies" else 1
        drawn = line(f"M{x:.1f} {middle}h{max(0.0, wide):.1f}", _LINES[span.kind], width=thick, dashed=True)
        return f"<g>{title}{drawn}</g>"
    size = f'x="{x:.1f}" y="{middle - _BAR / 2 + 3:.1f}" width="{max(0.0, wide):.1f}" height="{_BAR - 6}"'
    return f'<rect {size} fill="url(#{span.kind})">{title}</rect>'


# --- legend ---

_Entry = tuple[str, Callable[[float, float], str]]


def _attempts_legend() -> list[_Entry]:
    def attempt(stroke: str) -> Callable[[float, float], str]:
        return lambda x, middle: box(x, middle - 6, 16, 12, "faint", stroke=stroke)

    calls: list[_Entry] = [
        ("call", lambda x, middle: _call(x, middle, 16, Span(0))),
        ("call that failed", lambda x, middle: _call(x, middle, 16, Span(0, kind="failed"))),
    ]
    return [*((told, attempt(stroke)) for stroke, told in _ENDS), *calls]


def _waits_legend() -> list[_Entry]:
    def wait(kind: WaitKind) -> Callable[[float, float], str]:
        return lambda x, middle: _waited(x, middle, 16, Span(0, kind=kind))

    return [(told, wait(kind)) for kind, told in _WAITS.items()]


def _legend(entries: Sequence[_Entry], middle: float) -> list[str]:
    x, parts = 16.0, []
    for told, sign in entries:
        parts += [sign(x, middle), label(x + 22, middle + 3.5, told, "soft", size=10)]
        x += 44 + 5.6 * len(told)
    return parts
