"""In words, from the recorded evidence: why a task was retried or halted, and how two attempts differ."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

from langgraph_recursive.state.errors import UnknownTaskError
from langgraph_recursive.state.failure import Failure
from langgraph_recursive.state.repeat import failure_key, repeats
from langgraph_recursive.state.task import Halt

from .safe import one_line, shortened, visible
from .tree import TaskTree
from .views import AttemptView, TaskView, complaint
from .words import bounded, counted

__all__ = ("diff", "explain")

_EVIDENCE_LINES = 24
_ANSWER_CHARS = 400
_COLUMN = 54

_HALTS = {
    "recovery_stalled": "It stopped because repair did not converge: the checks failed again in the very same way, "
    "so a further attempt would have cost its calls for nothing.",
    "recovery_exhausted": "It stopped because it had no attempt left.",
    "validator_error": "It stopped because its answer could not be checked; that says nothing about the answer.",
    "precheck_failed": "It was not started: a check of the task itself did not pass, which another try cannot change.",
    "task_failed": "It stopped because a component raised an error or reported failure.",
    "child_failed": "It stopped because a sub-task that it needs has no accepted answer.",
    "budget_exhausted": "It stopped because the budget was spent; what was finished is kept.",
    "timed_out": "It stopped because its time was up.",
    "no_progress": "It stopped because its plan led nowhere new.",
    "protocol_error": "It stopped because an output could not be parsed, although it was asked for again.",
    "cancelled": "It was stopped from outside.",
}


def explain(result_or_tree: Any, task_id: str = "t") -> str:
    """Say why a task was retried or halted.

    Args:
        result_or_tree: A TaskTree, or a result. Of tasks below the root a result has only what the verdicts said; a
            tree `from_thread` has the evidence.
        task_id: The task, or one of its attempts.

    Raises:
        UnknownTaskError: There is no such task.
        InvalidInputError: It is neither a tree nor a result.
    """
    tree = _tree(result_or_tree)
    task = tree[task_id]
    return "\n".join(_told(tree, task))


def _tree(given: Any) -> TaskTree:
    return given if isinstance(given, TaskTree) else TaskTree.from_result(given)


def _told(tree: TaskTree, task: TaskView) -> Iterator[str]:
    yield f"Task {one_line(task.id)} ({shortened(task.objective, 100)}) {_end(task)}."
    told: set[str] = set()
    for attempt in task.attempts:
        if attempt.failures or attempt.next is not None or attempt.decided:
            yield ""
            yield from _attempt(task, attempt, told)
    if task.halt is not None:
        yield ""
        yield from _halt(tree, task.halt)


def _end(task: TaskView) -> str:
    tried = f" at attempt {task.attempts[-1].number}" if len(task.attempts) > 1 else ""
    match task.status:
        case "checked":
            return f"has an accepted answer{tried or ' at the first attempt'}"
        case "unchecked":
            return f"has an answer{tried}, which nothing real has checked"
        case "halted" | "stopped":
            return f"has no accepted answer after {counted(len(task.attempts), 'attempt')}"
        case "waiting":
            return "was not started"
    return f"has not ended ({task.status}){tried}"


def _attempt(task: TaskView, attempt: AttemptView, told: set[str]) -> Iterator[str]:
    what = {"solve": "its answer", "aggregate": "its combined answer"}.get(attempt.made_by, "its answer")
    name = f"Attempt {attempt.number} ({one_line(attempt.id)})"
    number = len(attempt.blockers)
    if attempt.outcome == "none":
        yield f"{name} came to no verdict."
    elif attempt.blockers:
        kind = "could not be checked" if attempt.outcome == "error" else "was rejected"
        yield f"{name}: {what} {kind}. {counted(number, 'check')} did not pass:"
    else:
        yield f"{name}: {what} {'was accepted' if attempt.outcome == 'passed' else f'is {attempt.verdict}'}."
    for failure in attempt.failures:
        yield from _failure(failure, told)
    if attempt.rewound:
        yield "It was taken back; it does not count."
    earlier = [known for known in task.attempts if known.number < attempt.number and not known.rewound]
    alike = repeats([known.failures for known in [*earlier, attempt]], 1)
    if attempt.whole and alike is not None:  # what was cut short proves no repeat
        yield f"These are the same failures as those of attempt {earlier[alike].number}."
    elif attempt.repeats is not None:
        yield f"These are the same failures as those of {one_line(attempt.repeats)}."
    if attempt.decided:
        yield f"A person decided what becomes of it ({one_line(attempt.decided)})."
    if attempt.next is not None:
        yield f"So it was tried again, as {one_line(attempt.next)}, from the original task with this as evidence."


def _failure(failure: Failure, told: set[str]) -> Iterator[str]:
    sign = "-" if failure.severity == "blocker" else "- (a warning, which rejects nothing)"
    yield f"  {sign} {complaint(failure)}"
    texts = [(evidence.label or "evidence", evidence.text) for evidence in failure.evidence]
    texts = texts or [("in full", failure.justification)] if "\n" in failure.justification.strip() else texts
    for label, text in texts:
        shown = visible(text).strip("\n")
        if shown.strip() and shown not in told:
            told.add(shown)
            yield f"    {one_line(label)}:"
            yield from (f"      {line}".rstrip() for line in bounded(shown.split("\n"), _EVIDENCE_LINES))


def _halt(tree: TaskTree, halt: Halt) -> Iterator[str]:
    yield _HALTS.get(halt.type, "It stopped.")
    yield f"  {halt.type}: {one_line(halt.detail)}"
    if halt.error_type:
        yield f"  The error was a {one_line(halt.error_type)}."
    if halt.child is not None:
        yield ""
        yield f"Behind it is {one_line(halt.child.task_id)}:"
        yield from _halt(tree, halt.child)


def diff(result_or_tree: Any, a: str, b: str) -> str:
    """Show two attempts side by side: verdict, answer and failures, and which failures went, came and stayed.

    Args:
        result_or_tree: A TaskTree, or a result.
        a: Id of one attempt, such as `t.2`.
        b: Id of the other, such as `t.2_fix_1`.

    Raises:
        UnknownTaskError: There is no such attempt.
        InvalidInputError: It is neither a tree nor a result.
    """
    tree = _tree(result_or_tree)
    one, two = _attempt_of(tree, a), _attempt_of(tree, b)
    lines = _side_by_side(one.id, two.id)
    lines.append("─" * _COLUMN + "─┼─" + "─" * _COLUMN)
    for title, left, right in (
        ("verdict", one.verdict, two.verdict),
        ("made by", one.made_by, two.made_by),
        ("answer", one.answer[:_ANSWER_CHARS], two.answer[:_ANSWER_CHARS]),
        ("not passed", _list(one), _list(two)),
        ("passed", "\n".join(name for name, _ in one.passed), "\n".join(name for name, _ in two.passed)),
    ):
        if left or right:
            lines += _side_by_side(f"{title}:", f"{title}:") + _side_by_side(left, right, indent="  ")
    return "\n".join([*lines, "", *_changes(one, two)])


def _attempt_of(tree: TaskTree, attempt_id: str) -> AttemptView:
    task = tree[attempt_id]
    for attempt in task.attempts:
        if attempt.id == attempt_id:
            return attempt
    known = ", ".join(one_line(attempt.id) for attempt in task.attempts) or "none"
    raise UnknownTaskError(
        f"there is no attempt {attempt_id!r}; those of this task are: {known}", field="task_id", value=attempt_id
    )


def _list(attempt: AttemptView) -> str:
    return "\n".join(complaint(failure) for failure in attempt.failures)


def _side_by_side(left: str, right: str, *, indent: str = "") -> list[str]:
    columns = [_wrapped(text, indent) for text in (left, right)]
    height = max(map(len, columns))
    one, two = (column + [""] * (height - len(column)) for column in columns)
    return [f"{first:<{_COLUMN}} │ {second}".rstrip() for first, second in zip(one, two, strict=True)]


def _wrapped(text: str, indent: str) -> list[str]:
    wrapper = textwrap.TextWrapper(
        width=_COLUMN, initial_indent=indent, subsequent_indent=indent, replace_whitespace=False, drop_whitespace=False
    )
    return [part for line in visible(text).expandtabs().split("\n") for part in wrapper.wrap(line) or [""]]


def _changes(one: AttemptView, two: AttemptView) -> Iterator[str]:
    before = {failure_key(failure): failure for failure in one.failures}
    after = {failure_key(failure): failure for failure in two.failures}
    for word, found in (
        ("gone", [before[key] for key in before if key not in after]),
        ("new", [after[key] for key in after if key not in before]),
        ("still there", [after[key] for key in after if key in before]),
    ):
        if found:
            yield f"{word}: {', '.join(complaint(failure) for failure in found)}"
    if not before and not after:
        yield "neither failed a check"
