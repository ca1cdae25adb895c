"""A tree as HTML that also stands where a notebook's sanitizer takes styles out: details and tables only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from langgraph_recursive.state.failure import Failure

from .rows import evidence_label
from .safe import markup, shortened
from .views import AttemptView, TaskView, columns, complaint
from .words import SIGNS, Tone, check_name, tone_of

__all__ = ("html_of",)

_OBJECTIVE_CHARS = 120
_ANSWER_CHARS = 2_000
# Mid tones, which read on white and on black; all other text keeps the page's own colour.
_COLORS: dict[Tone, str] = {"good": "#2f9e62", "bad": "#d64b43", "busy": "#c08a1e", "idle": "#8a8f98"}
_OUTCOMES: dict[str, Tone] = {"passed": "good", "none": "idle"}
_LINE = "rgba(128,128,128,0.35)"
# A quote is indented also without styles.
_BLOCK = f"margin:2px 0 2px 6px;padding:0 0 0 14px;border-left:1px solid {_LINE};color:inherit;background:transparent"
_PRE = (
    "margin:4px 0;padding:6px 8px;max-height:22em;overflow:auto;white-space:pre-wrap;overflow-wrap:anywhere;"
    "font-size:12px;line-height:1.4;text-align:left;color:inherit;"
    f"background:rgba(128,128,128,0.12);border:1px solid {_LINE};border-radius:4px"
)
_TABLE = "border-collapse:collapse;border:0;margin:2px 0;font-size:13px;color:inherit"
_CELL = "padding:1px 10px 1px 0;text-align:left;vertical-align:top;border:0;background:transparent"


def html_of(roots: Sequence[TaskView], foot: str = "", *, now: float | None = None) -> str:
    """Write the tasks as nested details.

    Args:
        roots: The topmost tasks.
        foot: What stands below them.
        now: Seconds since the epoch while the run goes on; times run on.
    """
    parts = [part for root in roots for part in _task(root, now)]
    if foot:
        parts.append(f'<div style="opacity:0.7;margin-top:6px">{markup(foot)}</div>')
    style = "font-family:system-ui,sans-serif;font-size:13px;line-height:1.55;text-align:left"
    return f'<div style="{style}">{"".join(parts)}</div>'


def _task(task: TaskView, now: float | None) -> Iterator[str]:
    is_open = " open" if task.children or task.halt is not None or task.asks else ""
    objective = markup(shortened(task.objective, _OBJECTIVE_CHARS))
    told = markup(" · ".join(filter(None, columns(task, now))))
    yield f'<details{is_open}><summary style="cursor:pointer">'
    yield _colored(f"{SIGNS[task.status]}", tone_of(task.status))
    yield f' <b>{markup(task.id)}</b> {objective} <span style="opacity:0.65">{told}</span>'
    yield f'</summary><blockquote style="{_BLOCK}">'
    if task.halt is not None:
        yield f"<div>{_colored(task.halt.type, 'bad')} {markup(task.halt.detail)}</div>"
    for question in task.asks:
        yield f"<div>{_colored('asks', 'busy')} {markup(question)}</div>"
    if len(task.objective) > _OBJECTIVE_CHARS or "\n" in task.objective:
        yield from _folded("the whole task", task.objective)
    for attempt in task.attempts:
        yield from _attempt(attempt, task.answer)
    if task.answer:
        yield from _folded("answer", task.answer[:_ANSWER_CHARS])
    for child in task.children:
        yield from _task(child, now)
    yield "</blockquote></details>"


def _colored(text: str, tone: Tone) -> str:
    return f'<b style="color:{_COLORS[tone]}">{markup(text)}</b>'


def _attempt(attempt: AttemptView, accepted: str) -> Iterator[str]:
    yield (
        f'<details><summary style="cursor:pointer">attempt {attempt.number} '
        f'<span style="opacity:0.65">{markup(attempt.id)}</span> '
        f"{_colored(attempt.verdict, _OUTCOMES.get(attempt.outcome, 'busy'))}"
    )
    if attempt.repeats:
        yield f" exactly as {markup(attempt.repeats)}"
    if attempt.blockers:
        yield f' <span style="opacity:0.8">{markup(shortened(complaint(attempt.blockers[0]), _OBJECTIVE_CHARS))}</span>'
    yield f'</summary><blockquote style="{_BLOCK}"><table style="{_TABLE}"><tbody>'
    for name, why in attempt.passed:
        yield _check("✓", "good", name, why)
    for failure in attempt.failures:
        blocks = failure.severity == "blocker"
        first = failure.justification.strip().split("\n")[0]
        name = check_name(failure.validator_id, failure.check_id)
        yield _check("✗" if blocks else "!", "bad" if blocks else "busy", name, first)
    yield "</tbody></table>"
    for failure in attempt.failures:
        yield from _evidence(failure)
    if attempt.answer and attempt.answer != accepted:
        yield from _folded("its answer", attempt.answer[:_ANSWER_CHARS])
    if attempt.decided:
        yield f"<div>{_colored('decided by', 'busy')} {markup(attempt.decided)}</div>"
    if attempt.next:
        yield f"<div>tried again as {markup(attempt.next)}</div>"
    yield "</blockquote></details>"


def _check(sign: str, tone: Tone, name: str, said: str) -> str:
    cells = (_colored(sign, tone), markup(name), markup(said))
    row = "".join(f'<td style="{_CELL}">{cell}</td>' for cell in cells)
    return f"<tr>{row}</tr>"


def _evidence(failure: Failure) -> Iterator[str]:
    quoted = failure.evidence and all(evidence.text in failure.justification for evidence in failure.evidence)
    if "\n" in failure.justification.strip() and not quoted:
        yield from _folded("in full", failure.justification)
    for evidence in failure.evidence:
        if evidence.text.strip():
            yield from _folded(evidence_label(evidence), evidence.text)


def _folded(title: str, text: str) -> Iterator[str]:
    yield f'<details><summary style="cursor:pointer;opacity:0.8">{markup(title)}</summary>'
    # One line feed after <pre> is not shown, so that the text's own first one is.
    yield f'<pre style="{_PRE}">\n{markup(text)}</pre></details>'
