"""Briefs: what a parent hands down, and the anchor that the whole tree keeps in sight."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal, Self, TypeVar

from pydantic import ConfigDict, Field, ValidationError, field_validator, model_validator

from ._model import Data, FilledText, Given, SomeTexts, Texts, canonical_json, distinct, sha256
from .errors import InvalidInputError, invalid_fields

__all__ = (
    "ANCHOR_CHARS",
    "BRIEF_CHARS",
    "ROOTS_ANCHOR",
    "ContextRef",
    "RootTaskAnchor",
    "SubTask",
    "TaskBrief",
    "anchor_of",
    "brief_of",
    "child_brief",
    "render_brief",
    "same_task",
)

ANCHOR_CHARS = 4_000
BRIEF_CHARS = 16_000
_ORIGIN_CHARS = 200
_KEY_CHARS = 12

BriefScope = Literal["evidence", "hypothesis", "output", "task"]
_SCOPE_ORDER: tuple[BriefScope, ...] = ("evidence", "hypothesis", "output", "task")


class ContextRef(Given):
    """An immutable snapshot that may be read with `read_context_ref`, granted by id and version."""

    ref_id: FilledText
    version: FilledText


class _Bounded(Given):
    """A given value whose normalized JSON has a bound in characters."""

    def normalized(self) -> str:
        """The canonical JSON that sizes and hashes are taken of."""
        return canonical_json(self.model_dump(mode="json"))

    @cached_property
    def hash(self) -> str:
        """sha256 of the normalized content."""
        return sha256(self.normalized())

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Copy, without the hash of the old fields."""
        copied = super().model_copy(update=update, deep=deep)
        copied.__dict__.pop("hash", None)
        return copied


def _bound(value: _Bounded, limit: int) -> None:
    size = len(value.normalized())
    if size > limit:
        raise ValueError(f"has {size} characters when normalized, at most {limit}: shorten it, or pass references")


class RootTaskAnchor(_Bounded):
    """The root objective of the whole tree (protocol, RootTaskAnchor). Descendants read it and never change it.

    Attributes:
        objective: What the tree is for.
        completion_criteria: When it is done, at least one; also what the root gate checks.
        constraints: Hard constraints, handed down to every brief.

    Raises:
        pydantic.ValidationError: A field is empty, or the whole has over 4,000 characters when normalized.
    """

    objective: FilledText
    completion_criteria: SomeTexts
    constraints: Texts = Field(default_factory=list)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        _bound(self, ANCHOR_CHARS)
        return self


ROOTS_ANCHOR = RootTaskAnchor(objective="(kept by the root)", completion_criteria=["(kept by the root)"])
"""Stands in a stored descendant for the anchor that the root keeps."""


class TaskBrief(_Bounded):
    """What a parent hands down to a child (protocol, TaskBrief).

    Attributes:
        objective: What is to be done.
        reason: Why the task was split off.
        completion_criteria: When it is done, at least one.
        expected_outputs: What is to be delivered, at least one.
        parent_findings: What the parent already knows.
        context: Whatever bears on this task; JSON.
        constraints: Hard constraints; the parent's are added by the framework.
        context_refs: References granted to this task. It can pass on no others.
        validation_scopes: Dimensions to validate; `task` is always among them.

    Raises:
        pydantic.ValidationError: A field is empty or not JSON, or the whole has over 16,000 characters when normalized.
    """

    objective: FilledText
    reason: FilledText
    completion_criteria: SomeTexts
    expected_outputs: SomeTexts
    parent_findings: Texts = Field(default_factory=list)
    context: dict[str, Any] = Field(default_factory=dict)
    constraints: Texts = Field(default_factory=list)
    context_refs: list[ContextRef] = Field(default_factory=list)
    validation_scopes: list[BriefScope] = Field(default=["task"])

    def __str__(self) -> str:
        return render_brief(self)

    @field_validator("context")
    @classmethod
    def _json(cls, context: dict[str, Any]) -> dict[str, Any]:
        canonical_json(context)
        return context

    @field_validator("context_refs")
    @classmethod
    def _distinct_refs(cls, refs: list[ContextRef]) -> list[ContextRef]:
        return list({(ref.ref_id, ref.version): ref for ref in refs}.values())

    @field_validator("validation_scopes")
    @classmethod
    def _with_task(cls, scopes: list[BriefScope]) -> list[BriefScope]:
        return [scope for scope in _SCOPE_ORDER if scope in scopes or scope == "task"]

    @model_validator(mode="after")
    def _fits(self) -> Self:
        _bound(self, BRIEF_CHARS)
        return self

    def ungranted(self, granted: list[ContextRef]) -> list[ContextRef]:
        """List the references that this brief passes on without having been granted them."""
        return [ref for ref in self.context_refs if ref not in granted]

    def inherit(self, constraints: list[str]) -> TaskBrief:
        """Add a parent's constraints in front; a child can only add to them.

        Raises:
            InvalidInputError: With them the brief is over its bound.
        """
        merged = distinct([*constraints, *self.constraints])
        if merged == self.constraints:
            return self
        return _checked("brief", TaskBrief, {**self.model_dump(), "constraints": merged})


class SubTask(Data):
    """One entry of a plan.

    Attributes:
        task: The brief of the child, or its objective as a text.
        depends_on: Positions in the plan, counted from 0, of the sub-tasks whose results this one needs.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: str | TaskBrief
    depends_on: list[int] = Field(default_factory=list)

    def __init__(self, task: str | TaskBrief, depends_on: list[int] | tuple[int, ...] = (), **data: Any) -> None:
        super().__init__(**{"task": task, "depends_on": list(depends_on), **data})


def render_brief(brief: TaskBrief) -> str:
    """Write a brief as the spec that a solver reads. A brief that only wraps a text is that text."""
    if brief.completion_criteria == _PLAIN_CRITERIA and not brief.context:
        plain = [brief.objective]
    else:
        plain = [brief.objective, _section("Done when", brief.completion_criteria)]
        if brief.expected_outputs != _PLAIN_OUTPUTS:
            plain.append(_section("Deliver", brief.expected_outputs))
    plain.append(_section("Known", brief.parent_findings))
    plain.append(_section("Constraints", brief.constraints))
    if brief.context:
        plain.append(_section("Context", [canonical_json(brief.context)]))
    return "\n\n".join(part for part in plain if part)


def _section(title: str, lines: list[str]) -> str:
    return "\n".join([f"{title}:", *(f"- {line}" for line in lines)]) if lines else ""


_Kind = TypeVar("_Kind", bound=Given)
_PLAIN_CRITERIA = ["the objective is met"]
_PLAIN_OUTPUTS = ["the answer"]


def child_brief(text: str, *, parent_objective: str) -> TaskBrief:
    """Make a brief of a sub-task that was given as a text (rules.md 25).

    Raises:
        InvalidInputError: The text is empty or too long for a brief.
    """
    return _checked(
        "sub-task",
        TaskBrief,
        {
            "objective": text,
            "reason": f"part of: {parent_objective[:_ORIGIN_CHARS]}",
            "completion_criteria": _PLAIN_CRITERIA,
            "expected_outputs": _PLAIN_OUTPUTS,
        },
    )


def brief_of(task: str | TaskBrief | RootTaskAnchor) -> TaskBrief:
    """Make the root's brief from what the user gave.

    A plain string stays the spec in full; a long one is only excerpted here (rules.md 25).

    Raises:
        InvalidInputError: The task is empty or over a bound.
    """
    if isinstance(task, TaskBrief):
        return task
    if isinstance(task, RootTaskAnchor):
        fields = {**task.model_dump(), "reason": "the root task", "expected_outputs": _PLAIN_OUTPUTS}
        return _checked("task", TaskBrief, fields)
    return _checked(
        "task",
        TaskBrief,
        {
            "objective": _excerpt(task, ANCHOR_CHARS - _ANCHOR_ROOM),
            "reason": "the root task",
            "completion_criteria": _PLAIN_CRITERIA,
            "expected_outputs": _PLAIN_OUTPUTS,
        },
    )


_ANCHOR_ROOM = 400


def anchor_of(task: str | TaskBrief | RootTaskAnchor) -> RootTaskAnchor:
    """Make the anchor of the tree from what the user gave (rules.md 25).

    Raises:
        InvalidInputError: Criteria and constraints alone are over the anchor's bound.
    """
    if isinstance(task, RootTaskAnchor):
        return task
    brief = brief_of(task)
    rest = {"completion_criteria": brief.completion_criteria, "constraints": brief.constraints}
    room = max(_ORIGIN_CHARS, ANCHOR_CHARS - _ANCHOR_ROOM - len(canonical_json(rest)))
    return _checked("task", RootTaskAnchor, {"objective": _excerpt(brief.objective, room), **rest})


def _excerpt(text: str, limit: int) -> str:
    """Shorten a text so that its JSON has at most `limit` characters, and say so with its hash."""
    if len(canonical_json(text)) <= limit:
        return text
    mark = f"\n[... excerpt of {len(text)} characters, sha256 {sha256(text)}]"
    kept = text[: max(0, limit - len(mark) - 2)]
    while kept and len(canonical_json(kept + mark)) > limit:
        kept = kept[: len(kept) * 3 // 4]
    return kept + mark


def same_task(text: str) -> str:
    """Give texts of the same task the same short key, for finding repeats: case, space and final marks do not count."""
    return sha256(" ".join(text.casefold().split()).rstrip(".!?;:, "))[:_KEY_CHARS]


def _checked(subject: str, kind: type[_Kind], fields: dict[str, Any]) -> _Kind:
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        raise InvalidInputError(invalid_fields(subject, error), field=subject) from error
