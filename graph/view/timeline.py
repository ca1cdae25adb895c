"""A timeline: one lane per task, with its attempts, its calls and what it waited for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from langgraph_recursive.state.errors import InvalidInputError
from langgraph_recursive.state.ids import root_ref

from .growing import GrowingTree
from .promised import last_run_events
from .safe import shortened
from .svg import Svg, box, label, line, picture
from .views import TaskView
from .words import SIGNS, clock, counted, tone_of

__all__ = ("timeline",)

_LEFT, _RIGHT, _WIDTH = 230, 40, 1000
_LANE, _TOP, _BAR = 26, 34, 16
_LABEL_CHARS = 32
_HATCH = (
    '<pattern id="wait" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="2" height="6" fill="#8a8f98" fill-opacity="0.55"/></pattern>'
)


@dataclass
class _Span:
    """A stretch of time, with what is said of it."""

    start: float
    end: float
    told: str = ""
    kind: str = ""


@dataclass
class _Lane:
    """What happened to one task, when."""

    planned: float | None = None
    attempts: list[_Span] = field(default_factory=list)
    calls: list[_Span] = field(default_factory=list)
    waits: list[_Span] = field(default_factory=list)
    is_open: bool = False


def timeline(events: Iterable[Mapping[str, Any]], *, run_id: str | None = None) -> Svg:
    """Draw when each task was at work.

    Each task has a lane. In it stand its attempts as boxes, its calls as filled bars, the time it waited for its
    sub-tasks hatched, and as a dotted line the time from its planning to its start.

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
    lanes = _lanes(chosen)
    note = getattr(events, "note", "")
    times = [event["time"] for event in chosen]
    return _drawn(tasks, lanes, (min(times), max(times)), note)


# --- reading ---


def _lanes(events: list[dict[str, Any]]) -> dict[str, _Lane]:
    lanes: dict[str, _Lane] = {}
    for event in events:
        lane = lanes.setdefault(root_ref(event["task_id"]), _Lane())
        _take(lane, event, event["data"])
        if event["type"] == "decomposed":
            for child_id, _ in event["data"]["children"]:
                lanes.setdefault(root_ref(child_id), _Lane()).planned = event["time"]
    for lane in lanes.values():
        if lane.is_open:
            _close(lane, events[-1]["time"], "open", "not ended")
    return lanes


def _take(lane: _Lane, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
    now = event["time"]
    match event["type"]:
        case "task_started":
            if lane.is_open:
                _close(lane, now, "open", "cut off")
            lane.attempts.append(_Span(now, now, f"attempt {event['attempt']} ({event['task_id']})"))
            lane.is_open = True
        case "call_finished":
            took = (event["duration_ms"] or 0) / 1000
            lane.calls.append(_Span(now - took, now, f"{data['call']}: {took:.3f}s"))
        case "goal_changed":
            _end_wait(lane, now)
            if data["goal"] == "waiting_children":
                lane.waits.append(_Span(now, now, "waits for its sub-tasks", "open"))
        case "recovering":
            _close(lane, now, "again", "rejected, tried again")
        case "accepted":
            _close(lane, now, "good" if data["verified"] else "idle", "accepted")
        case "halted":
            _close(lane, now, "idle" if data["halt"] == "cancelled" else "bad", f"{data['halt']}: {data['detail']}")


def _end_wait(lane: _Lane, now: float) -> None:
    if lane.waits and lane.waits[-1].kind == "open":
        lane.waits[-1].end, lane.waits[-1].kind = now, ""


def _close(lane: _Lane, now: float, kind: str, told: str) -> None:
    _end_wait(lane, now)
    if lane.is_open:
        span = lane.attempts[-1]
        span.end, span.kind = now, kind
        span.told += f": {told}"
    lane.is_open = False


# --- drawing ---


def _drawn(tasks: list[TaskView], lanes: Mapping[str, _Lane], ends: tuple[float, float], note: str) -> Svg:
    start, total = ends[0], max(ends[1] - ends[0], 0.001)
    scale = (_WIDTH - _LEFT - _RIGHT) / total
    bottom = _TOP + _LANE * len(tasks)
    parts = _axis(total, scale, bottom)
    for number, task in enumerate(tasks):
        parts += _lane(task, lanes[task.id], _TOP + number * _LANE, lambda time: _LEFT + (time - start) * scale)
    parts += _legend(bottom + 22)
    attempts = sum(len(lane.attempts) for lane in lanes.values())
    said = f"{counted(len(tasks), 'task')}, {counted(attempts, 'attempt')}, {clock(total)}"
    if note:
        parts.append(label(16, bottom + 46, note, "bad", size=11))
    return picture(_WIDTH, bottom + (56 if note else 34), parts, f"timeline: {said}", defs=_HATCH)


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


def _lane(task: TaskView, lane: _Lane, top: float, at: Any) -> list[str]:
    middle, indent = top + _LANE / 2, 12 + 10 * _depth(task)
    parts = [label(indent, middle + 4, SIGNS[task.status], tone_of(task.status), anchor="middle", bold=True)]
    room = _LABEL_CHARS - 2 * _depth(task)
    parts.append(label(indent + 10, middle + 4, shortened(f"{task.id} {task.objective}", max(8, room)), size=11))
    if lane.planned is not None and lane.attempts and lane.attempts[0].start > lane.planned:
        path = f"M{at(lane.planned):.1f} {middle}H{at(lane.attempts[0].start):.1f}"
        parts.append(line(path, "idle", dashed=True))
    bar = middle - _BAR / 2
    for span in lane.attempts:
        stroke = {"again": "busy", "open": "idle", "": "idle"}.get(span.kind, span.kind)
        wide = max(2.0, at(span.end) - at(span.start))
        parts.append(box(at(span.start), bar, wide, _BAR, "faint", stroke=stroke, told=span.told))
    for span in lane.waits:
        parts.append(_hatched(at(span.start), bar + 3, at(span.end) - at(span.start), span.told))
    for span in lane.calls:
        wide = max(1.5, at(span.end) - at(span.start))
        parts.append(box(max(_LEFT, at(span.start)), bar + 3, wide, _BAR - 6, "work", told=span.told, radius=1.5))
    if lane.attempts:
        end = at(lane.attempts[-1].end)
        parts.append(label(end + 4, middle + 4, SIGNS[task.status], tone_of(task.status), size=11, bold=True))
    return parts


def _hatched(x: float, y: float, width: float, told: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(0.0, width):.1f}" height="{_BAR - 6}" fill="url(#wait)">'
        f"<title>{told}</title></rect>"
    )


def _depth(task: TaskView) -> int:
    return task.id.count(".")


def _legend(y: float) -> list[str]:
    x, parts = float(_LEFT), []
    for stroke, told in (("good", "accepted"), ("busy", "rejected, tried again"), ("bad", "halted")):
        parts += [box(x, y - 9, 16, 11, "faint", stroke=stroke), label(x + 22, y, told, "soft", size=10)]
        x += 40 + 5.6 * len(told)
    parts += [box(x, y - 8, 16, 9, "work", radius=1.5), label(x + 22, y, "call", "soft", size=10)]
    parts += [_hatched(x + 60, y - 9, 16, ""), label(x + 82, y, "waits for sub-tasks", "soft", size=10)]
    parts += [line(f"M{x + 200} {y - 4}h16", "idle", dashed=True), label(x + 222, y, "planned", "soft", size=10)]
    return parts
