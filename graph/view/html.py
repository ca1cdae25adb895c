"""A tree as HTML that also stands where a notebook's sanitizer takes styles out: details and tables only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from langgraph_recursive.state.evidence import Evidence
from langgraph_recursive.state.failure import Failure

from .rows import Status
from .safe import markup, shortened
from .views import AttemptView, TaskView, complaint, numbers
from .words import SIGNS, check_name

__all__ = ("html_of",)

_OBJECTIVE_CHARS = 120
_ANSWER_CHARS = 2_000
# Mid tones, which read on white and on black; all other text keeps the page's own colour.
_GOOD, _BAD, _BUSY, _IDLE = "#2f9e62", "#d64b43", "#c08a1e", "#8a8f98"
_COLORS: dict[Status, str] = {"checked": _GOOD, "unchecked": _IDLE, "halted": _BAD, "waiting": _IDLE, "stopped": _IDLE}
_OUTCOMES = {"passed": _GOOD, "none": _IDLE}
_LINE = "rgba(128,128,128,0.35)"
_BLOCK = f"margin:2px 0 2px 6px;padding-left:14px;border-left:1px solid {_LINE}"
_PRE = (
    "margin:4px 0;padding:6px 8px;max-height:22em;overflow:auto;white-space:pre-wrap;overflow-wrap:anywhere;"
    "font-size:12px;line-height:1.4;text-align:left;color:inherit;"
    f"background:rgba(128,128,128,0.12);border:1px solid {_LINE};border-radius:4px"
)
_TABLE = "border-collapse:collapse;border:0;margin:2px 0;font-size:13px;color:inherit"
_CELL = "padding:1px 10px 1px 0;text-align:left;vertical-align:top;border:0;background:transparent"


def html_of(roots: Sequence[TaskView], foot: str = "") -> str:
    """Write the tasks as nested details; failed tasks and their last verdict start folded out."""
    parts = [part for root in roots for part in _task(root)]
    if foot:
        parts.append(f'<div style="opacity:0.7;margin-top:6px">{markup(foot)}</div>')
    style = "font-family:system-ui,sans-serif;font-size:13px;line-height:1.55;text-align:left"
    return f'<div style="{style}">{"".join(parts)}</div>'


def _task(task: TaskView) -> Iterator[str]:
    is_open = " open" if task.children or task.halt is not None else ""
    objective = markup(shortened(task.objective, _OBJECTIVE_CHARS))
    yield f'<details{is_open}><summary style="cursor:pointer">'
    yield _colored(f"{SIGNS[task.status]}", _COLORS.get(task.status, _BUSY))
    yield f' <b>{markup(task.id)}</b> {objective} <span style="opacity:0.65">{markup(" · ".join(numbers(task)))}</span>'
    yield f'</summary><div style="{_BLOCK}">'
    if task.halt is not None:
        yield f"<div>{_colored(task.halt.type, _BAD)} {markup(task.halt.detail)}</div>"
    if len(task.objective) > _OBJECTIVE_CHARS or "\n" in task.objective:
        yield from _folded("the whole task", task.objective)
    for attempt in task.attempts:
        yield from _attempt(attempt, task.answer)
    if task.answer:
        yield from _folded("answer", task.answer[:_ANSWER_CHARS])
    for child in task.children:
        yield from _task(child)
    yield "</div></details>"


def _colored(text: str, color: str) -> str:
    return f'<b style="color:{color}">{markup(text)}</b>'


def _attempt(attempt: AttemptView, accepted: str) -> Iterator[str]:
    yield (
        f'<details><summary style="cursor:pointer">attempt {attempt.number} '
        f'<span style="opacity:0.65">{markup(attempt.id)}</span> '
        f"{_colored(attempt.verdict, _OUTCOMES.get(attempt.outcome, _BUSY))}"
    )
    if attempt.blockers:
        yield f' <span style="opacity:0.8">{markup(shortened(complaint(attempt.blockers[0]), _OBJECTIVE_CHARS))}</span>'
    yield f'</summary><div style="{_BLOCK}"><table style="{_TABLE}"><tbody>'
    for name, said in attempt.passed:
        yield _check("✓", _GOOD, name, said)
    for failure in attempt.failures:
        blocks = failure.severity == "blocker"
        first = failure.justification.strip().split("\n")[0]
        name = check_name(failure.validator_id, failure.check_id)
        yield _check("✗" if blocks else "!", _BAD if blocks else _BUSY, name, first)
    yield "</tbody></table>"
    for failure in attempt.failures:
        yield from _evidence(failure)
    if attempt.answer and attempt.answer != accepted:
        yield from _folded("its answer", attempt.answer[:_ANSWER_CHARS])
    yield "</div></details>"


def _check(sign: str, color: str, name: str, said: str) -> str:
    cells = (_colored(sign, color), markup(name), markup(said))
    row = "".join(f'<td style="{_CELL}">{cell}</td>' for cell in cells)
    return f"<tr>{row}</tr>"


def _evidence(failure: Failure) -> Iterator[str]:
    quoted = failure.evidence and all(evidence.text in failure.justification for evidence in failure.evidence)
    if "\n" in failure.justification.strip() and not quoted:
        yield from _folded("in full", failure.justification)
    for evidence in failure.evidence:
        if evidence.text.strip():
            yield from _folded(_label(evidence), evidence.text)


def _label(evidence: Evidence) -> str:
    return f"{evidence.label or 'evidence'} ({evidence.size:,} characters{', cut' if evidence.truncated else ''})"


def _folded(title: str, text: str) -> Iterator[str]:
    yield f'<details><summary style="cursor:pointer;opacity:0.8">{markup(title)}</summary>'
    # One line feed after <pre> is not shown, so that the text's own first one is.
    yield f'<pre style="{_PRE}">\n{markup(text)}</pre></details>'
