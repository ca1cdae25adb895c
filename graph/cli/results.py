"""What a run came to: the answer on stdout, the rest on stderr, or one JSON object."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langgraph.types import Interrupt
from pydantic import BaseModel
from pydantic_core import to_jsonable_python
from rich.text import Text

from langgraph_recursive.state.task import Halt, Partial
from langgraph_recursive.state.usage import Usage

from ..view.safe import clean, one_line, visible
from .consoles import say, stderr
from .execution import Outcome
from .problems import FAILED, STOPPED

__all__ = ("print_json", "report", "resume_command", "told_questions")

_SHOWN = (
    "output",
    "success",
    "verified",
    "waived_by",
    "halt",
    "partial",
    "attempts",
    "usage",
    "traces",
    "report",
    "verdict",
)


def resume_command(thread: str, db: str | None) -> str:
    """The command that carries a thread on."""
    place = f" --db {shlex.quote(db)}" if db else ""
    return f"langgraph-recursive resume {shlex.quote(thread)}{place}"


def report(
    outcome: Outcome,
    thread: str,
    resume: str,
    *,
    as_json: bool,
    quiet: bool,
    worded: Callable[[Mapping[str, Any]], str] | None = None,
) -> int:
    """Tell what a run came to.

    Args:
        outcome: How it ended.
        thread: Its thread.
        resume: The command that carries it on.
        as_json: Whether stdout gets one JSON object.
        quiet: Whether only the answer and complaints are wanted.
        worded: Words the result where the output alone is not what to show.

    Returns:
        The exit code.
    """
    if as_json:
        print_json(_as_json(outcome, thread))
    if outcome.stopped:
        say(f"stopped; carry on with: {resume}")
        return STOPPED
    if outcome.interrupts:
        for line in told_questions(outcome.interrupts, resume):
            say(line)
        return FAILED
    if not outcome.values.get("success"):
        _tell_halt(outcome.values, resume)
        return FAILED
    if not as_json:
        _print_answer(worded(outcome.values) if worded else str(outcome.values.get("output") or ""))
    _tell_accepted(outcome.values, thread, quiet=quiet)
    return 0


def _print_answer(text: str) -> None:
    # Escape codes in an answer must not reach a terminal; a file or a pipe gets the answer as it is.
    print(visible(text) if sys.stdout.isatty() else clean(text), flush=True)


def _tell_accepted(values: Mapping[str, Any], thread: str, *, quiet: bool) -> None:
    verified = bool(values.get("verified"))
    if quiet and verified:
        return
    waived_by = values.get("waived_by")
    unchecked = f"✓ waived by {one_line(waived_by)}" if waived_by else "✓ not checked"
    line = Text.assemble(("✓ checked", "green") if verified else (unchecked, "yellow"))
    if not quiet:
        line.append(f"  {_spent(values)}  thread {one_line(thread)}", "dim")
    stderr().print(line, soft_wrap=True)


def _tell_halt(values: Mapping[str, Any], resume: str) -> None:
    show, go_on = (one_line(resume.replace(" resume ", f" {verb} ", 1)) for verb in ("show", "continue"))
    console = stderr()
    halt = None if values.get("halt") is None else Halt.model_validate(values["halt"])
    if halt is None:
        console.print(Text("✗ ended without an answer", "red"))
        return
    cause = halt
    while cause.child is not None:
        cause = cause.child
    where = "" if cause is halt else f" because {cause.task_id} ended with {cause.type}:"
    line = Text.assemble(("✗ ", "red"), (halt.type, "bold red"), f" {where} {one_line(cause.detail)}")
    console.print(line, soft_wrap=True)
    parts = [Partial.model_validate(part) for part in values.get("partial") or []]
    if parts:
        console.print(Text("finished parts:", "bold"))
    for part in parts:
        checked = "checked" if part.verified else "not verified"
        console.print(
            Text.assemble(f"  {part.task_id} ", (f"({checked}) ", "dim"), one_line(part.task)), soft_wrap=True
        )
        console.print(Text("    " + visible(part.text).replace("\n", "\n    ")), soft_wrap=True)
    console.print(Text(f"  {_spent(values)}", "dim"), soft_wrap=True)
    console.print(Text(f"  see: {show}", "dim"), soft_wrap=True)
    console.print(Text(f"  go on with: {go_on} --hint TEXT", "dim"), soft_wrap=True)


def _spent(values: Mapping[str, Any]) -> str:
    usage = Usage.model_validate(values.get("usage") or Usage())
    attempts = len(values.get("attempts") or ())
    parts = [_many(attempts, "attempt"), _many(usage.tasks, "task"), _many(usage.calls, "call")]
    if usage.fixes:
        parts.append(_many(usage.fixes, "fix", "fixes"))
    if usage.total_tokens:
        parts.append(_many(usage.total_tokens, "token"))
    return ", ".join(parts)


def _many(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def told_questions(interrupts: Sequence[Interrupt], resume: str) -> list[str]:
    """The questions a run asks, and how to answer them."""
    questions = [
        f"  {number}. {one_line(entry.value if isinstance(entry.value, str) else _dumped(entry.value))}"
        for number, entry in enumerate(interrupts, 1)
    ]
    answers = " ".join("--answer TEXT" for _ in interrupts)
    return ["? the run asks:", *questions, f"answer with: {resume} {answers}"]


def _as_json(outcome: Outcome, thread: str) -> dict[str, Any]:
    values = outcome.values
    state = (
        "stopped"
        if outcome.stopped
        else "asks"
        if outcome.interrupts
        else "accepted"
        if values.get("success")
        else "halted"
    )
    found: dict[str, Any] = {"thread": thread, "state": state}
    found |= {name: values.get(name) for name in _SHOWN}
    found["interrupts"] = [{"id": entry.id, "value": entry.value} for entry in outcome.interrupts]
    return found


def print_json(value: Any) -> None:
    """Write one JSON object on stdout."""
    print(_dumped(value, indent=2), flush=True)


def _dumped(value: Any, indent: int | None = None) -> str:
    plain = to_jsonable_python(value, fallback=_fallback, inf_nan_mode="constants")
    return clean(json.dumps(plain, ensure_ascii=True, indent=indent, default=str))


def _fallback(value: Any) -> Any:
    return value.model_dump() if isinstance(value, BaseModel) else repr(value)
