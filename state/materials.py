"""Materials: what a model validator reads of an attempt, within a bound.

What is required comes first and whole, or the verdict is `unknown`: nothing passes on a truncated reading. What the
attempt did follows, newest first, as far as there is room (protocol, validator input). All of it is fenced as data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from ._model import Data, canonical_json, sha256
from .fence import fenced
from .report import TaskReport
from .task import Task
from .task_state import TaskState
from .validation import ValidationPlan, model_validator_id
from .validation_policy import ValidationPolicy
from .verdict import Scope

__all__ = ("MATERIAL_CHARS", "Dossier", "Entry", "trajectory_head", "trajectory_of", "without_reasoning")

MATERIAL_CHARS = 50_000
"""Characters of everything a validator is shown before it uses a tool, its instructions included."""

_REASONING = frozenset({"reasoning", "reasoning_content", "thinking", "redacted_thinking"})
_CODE_CHARS = 200


class Entry(Data):
    """One piece of material.

    Attributes:
        kind: What it is.
        source: Where it comes from.
        text: Its text.
    """

    kind: str
    source: str
    text: str

    def __str__(self) -> str:
        return fenced(self.text, kind=self.kind, source=self.source)


class Dossier(Data):
    """All material of one attempt.

    Attributes:
        policy: The application's minimum.
        task: The attempt, with brief and anchor.
        report: What it reports.
        artifacts: Resolved artifacts; `source` is the id that a check may cite.
        trajectory: What it did, oldest first.
    """

    policy: ValidationPolicy
    task: Task
    report: TaskReport
    artifacts: list[Entry] = Field(default_factory=list)
    trajectory: list[Entry] = Field(default_factory=list)

    def written(self, plan: ValidationPlan, scope: Scope, *, room: int = MATERIAL_CHARS) -> str | None:
        """Write what the validator of a scope reads; None when what is required does not fit.

        Args:
            plan: The plan.
            scope: The scope.
            room: Characters at most.
        """
        text = "\n\n".join(self._required(plan, scope))
        if len(text) > room:
            return None
        shown = _newest_that_fit(self.trajectory, room - len(text))
        return "\n\n".join([text, *shown])

    def _required(self, plan: ValidationPlan, scope: Scope) -> list[str]:
        policy = self.policy.model_dump(mode="json", exclude={"checks"})
        report = self.report.model_dump(mode="json", exclude={"sequence"})
        report["evidence"] = [entry for entry in report["evidence"] if not _is_tool_result(entry)]
        parts = [
            _section("Checks", _checks(plan, scope)),
            _section("Policy", _data(policy, "policy")),
            _section("Goal of the whole work", _data(self.task.anchor.model_dump(mode="json"), "anchor")),
            _section("What was asked for", _data(self.task.brief.model_dump(mode="json"), "brief")),
            _section("What is reported", _data(without_reasoning(report), "report")),
        ]
        if self.task.instructions:
            revised = fenced(self.task.instructions, kind="instructions", version=str(self.task.revision))
            parts.insert(4, _section("What the parent revised", revised))
        parts += [_section(f"Artifact {entry.source}", str(entry)) for entry in self.artifacts]
        if codes := _earlier(self.task, plan, scope):
            parts.append(_section("Earlier failures (check: code: reason)", fenced(codes, kind="earlier")))
        return parts


def _section(title: str, text: str) -> str:
    return f"# {title}\n\n{text}"


def _data(value: Any, kind: str) -> str:
    return fenced(canonical_json(value), kind=kind)


def _checks(plan: ValidationPlan, scope: Scope) -> str:
    lines = [
        f"{check.check_id} ({'required' if check.required else 'optional'}): {check.criterion}"
        for check in plan.of(scope, "model")
    ]
    return fenced("\n".join(lines), kind="checks", scope=scope)


def _earlier(task: Task, plan: ValidationPlan, scope: Scope) -> str:
    """The failure codes that this validator gave before, with what they stood for (rules.md 20)."""
    ours = {check.check_id for check in plan.of(scope, "model")}
    codes = {
        (failure.check_id, failure.failure_code): failure.justification.strip()[:_CODE_CHARS]
        for failure in task.prior_failures
        if failure.failure_code and failure.check_id in ours and failure.validator_id == model_validator_id(scope)
    }
    return "\n".join(f"{check_id}: {code}: {reason}" for (check_id, code), reason in codes.items())


_TRAJECTORY = "# What was done, newest first"
_SPARE = 64  # for the blank lines, and for the line that says how much was dropped


def _newest_that_fit(entries: Sequence[Entry], room: int) -> list[str]:
    left = room - len(_TRAJECTORY) - _SPARE
    if not entries or left < 0:
        return []
    shown: list[str] = []
    for entry in reversed(entries):
        text = str(entry)
        left -= len(text) + 2
        if left < 0:
            break
        shown.append(text)
    dropped = len(entries) - len(shown)
    return [_TRAJECTORY, *shown, *([f"[{dropped} older entries dropped]"] if dropped else [])]


def trajectory_of(state: TaskState) -> list[Entry]:
    """What this attempt did, oldest first: its accepted children, its tools' real results, its own log.

    Other attempts, children that were not accepted and reasoning are side branches: they stay out.
    """
    task = state.attempt
    children = [Entry(kind="child", source=answer.task_id, text=str(answer)) for answer in state.accepted]
    tools = [
        Entry(kind="tool_result", source=str(entry.get("tool", "")), text=canonical_json(without_reasoning(entry)))
        for entry in (state.report.evidence if state.report is not None else ())
        if _is_tool_result(entry)
    ]
    log = [
        Entry(kind="log", source=entry.type, text=f"{entry.type} {entry.detail}".strip())
        for entry in state.log
        if entry.task_id == task.id
    ]
    return [*children, *tools, *log]


def trajectory_head(entries: Sequence[Entry]) -> str:
    """Hash what an attempt did."""
    return sha256(canonical_json([entry.model_dump(mode="json") for entry in entries]))


def _is_tool_result(entry: Any) -> bool:
    return isinstance(entry, dict) and "tool" in entry and "result" in entry


def without_reasoning(value: Any) -> Any:
    """Leave out what a model thought: it proves nothing, and it may talk a validator round."""
    if isinstance(value, dict):
        return {key: without_reasoning(item) for key, item in value.items() if key not in _REASONING}
    if isinstance(value, list):
        return [without_reasoning(item) for item in value if not _is_reasoning(item)]
    return value


def _is_reasoning(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") in _REASONING
