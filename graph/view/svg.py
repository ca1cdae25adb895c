"""Plain SVG: the drawing of a tree, and what all drawings share.

A picture brings its own background, for a notebook shows it as an image that knows nothing of the page. Its colours
follow the reader's preference for a dark theme; where styles are taken out, the light ones stand as attributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from .safe import markup, shortened
from .views import TaskView, numbers
from .words import SIGNS, tone_of

__all__ = ("Svg", "box", "label", "line", "picture", "svg_of")

_LIGHT = {
    "bg": "#ffffff",
    "edge": "#d8dce3",
    "ink": "#1f2430",
    "soft": "#5d6675",
    "faint": "#e9ecf1",
    "good": "#23895a",
    "bad": "#c53b33",
    "busy": "#a87412",
    "idle": "#7b8494",
    "work": "#3b76c4",
    "person": "#8a4fc7",
}
_DARK = {
    "bg": "#16191f",
    "edge": "#3a414d",
    "ink": "#e6e9ef",
    "soft": "#a2abba",
    "faint": "#262b34",
    "good": "#4cc38a",
    "bad": "#f0736b",
    "busy": "#e0b040",
    "idle": "#8b94a5",
    "work": "#6aa5f0",
    "person": "#b48cf2",
}
_FONT = "ui-sans-serif,system-ui,sans-serif"


class Svg:
    """A drawing. A notebook shows it; `str` gives its source.

    Args:
        source: The SVG document.
        said: What it shows, in words.
    """

    def __init__(self, source: str, said: str) -> None:
        self.source = source
        self.said = said

    def __str__(self) -> str:
        return self.source

    def __repr__(self) -> str:
        return f"<Svg {self.said!r}>"

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to a file."""
        Path(path).write_text(self.source, encoding="utf-8")

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"image/svg+xml": self.source, "text/plain": self.said}


def picture(width: float, height: float, parts: Sequence[str], said: str, *, defs: str = "") -> Svg:
    """Put the parts of a drawing together on its background."""
    source = "".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" class="lgr" '
            f'font-family="{_FONT}" font-size="12" style="max-width:100%;height:auto">',
            f"<title>{markup(said)}</title>",
            f"<style>{_rules(_LIGHT)}@media (prefers-color-scheme:dark){{{_rules(_DARK)}}}</style>",
            f"<defs>{defs}</defs>" if defs else "",
            f'<rect width="{width:.0f}" height="{height:.0f}" rx="6" class="bg" fill="{_LIGHT["bg"]}"/>',
            *parts,
            "</svg>",
        )
    )
    return Svg(source, said)


def _rules(colors: dict[str, str]) -> str:
    return "".join(f".lgr .{name}{{fill:{color}}}.lgr .s-{name}{{stroke:{color}}}" for name, color in colors.items())


def label(
    x: float, y: float, text: str, color: str = "ink", *, size: int = 12, anchor: str = "", bold: bool = False
) -> str:
    """Write a text, which cannot be anything but text."""
    more = (f' text-anchor="{anchor}"' if anchor else "") + (' font-weight="600"' if bold else "")
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" class="{color}" fill="{_LIGHT[color]}" font-size="{size}"{more}>'
        f"{markup(text)}</text>"
    )


def line(path: str, color: str, *, width: float = 1, dashed: bool = False, marker: str = "") -> str:
    """Draw a line along an SVG path."""
    more = (' stroke-dasharray="4 3"' if dashed else "") + (f' marker-end="url(#{marker})"' if marker else "")
    return f'<path d="{path}" fill="none" class="s-{color}" stroke="{_LIGHT[color]}" stroke-width="{width:g}"{more}/>'


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    fill: str,
    *,
    stroke: str = "",
    told: str = "",
    radius: float = 3,
    opacity: float = 1,
) -> str:
    """Draw a rectangle.

    Args:
        x: Left edge.
        y: Upper edge.
        width: Its width.
        height: Its height.
        fill: Colour of its inside.
        stroke: Colour of its edge, if it has one.
        told: What is said of it when pointed at.
        radius: Of its corners.
        opacity: Of its inside.
    """
    edge = f' stroke="{_LIGHT[stroke]}"' if stroke else ""
    names = f"{fill} s-{stroke}" if stroke else fill
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius:g}" class="{names}" '
        f'fill="{_LIGHT[fill]}"{edge}' + (f' fill-opacity="{opacity:g}"' if opacity < 1 else "")
    ) + (f"><title>{markup(told)}</title></rect>" if told else "/>")


# --- the tree ---

_ROW, _STEP, _TOP = 24, 22, 14
_WIDTH, _TEXT_CHARS = 860, 96
_CHAR = 6.6  # about the width of one, for what stands after it


def svg_of(roots: Sequence[TaskView], foot: str = "") -> Svg:
    """Draw the tasks, one line each, with why it was tried again below."""
    drawing = _Drawing()
    for root in roots:
        drawing.task(root, 0, None)
    if foot:
        drawing.y += 6
        drawing.parts.append(label(16, drawing.y + 16, foot, "soft", size=11))
        drawing.y += _ROW
    return picture(_WIDTH, drawing.y + _TOP, drawing.parts, foot or "tree of tasks")


class _Drawing:
    def __init__(self) -> None:
        self.parts: list[str] = []
        self.y: float = _TOP

    def task(self, task: TaskView, depth: int, above: float | None) -> None:
        """Draw a task and all below it, joined to its parent's line at `above`."""
        x, middle = 16 + depth * _STEP, self.y + _ROW / 2
        if above is not None:
            turn = x - _STEP + 6
            self.parts.append(line(f"M{turn} {above:.1f}V{middle:.1f}H{x - 2}", "edge", dashed=task.given_up))
        self._head(task, x, middle)
        self.y += _ROW
        for said, color in _notes(task):
            self.parts.append(label(x + 20, self.y + 10, shortened(said, _TEXT_CHARS + 24 - 3 * depth), color, size=11))
            self.y += 18
        start = middle + 8
        for child in task.children:
            self.task(child, depth + 1, start)

    def _head(self, task: TaskView, x: float, middle: float) -> None:
        color = tone_of(task.status)
        self.parts.append(label(x + 6, middle + 5, SIGNS[task.status], color, size=14, anchor="middle", bold=True))
        told = numbers(task)
        room = _TEXT_CHARS - len(task.id) - 3 * depth_of(x) - len(told) // 2
        self.parts.append(label(x + 20, middle + 4, task.id, "ink", bold=True))
        objective = shortened(task.objective, max(12, room))
        self.parts.append(label(x + 28 + len(task.id) * _CHAR * 1.08, middle + 4, objective))
        self.parts.append(label(_WIDTH - 16, middle + 4, told, "soft", size=11, anchor="end"))


def depth_of(x: float) -> int:
    """How deep a task stands whose line starts at `x`."""
    return round((x - 16) / _STEP)


def _notes(task: TaskView) -> Iterator[tuple[str, str]]:
    for why in task.retried:
        yield f"↻ {why}", "busy"
    if task.halt is not None:
        yield f"{task.halt.type}: {task.halt.detail}", "bad"
