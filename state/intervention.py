"""Interventions: what a person decides after a halt, and what a decision makes of the task's state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from ._model import FilledText, Given, Text, canonical_json
from .brief import BRIEF_CHARS
from .errors import InvalidInputError, invalid_fields

__all__ = ("DECISIONS", "Intervention", "read_intervention")

DECISIONS = {
    "retry": "the task goes on in the same chain, with what is given of spec, hint, limits and model",
    "accept": "its answer, or the one given, is accepted with a waiver: a success that is not verified",
    "stop": "the halt stands",
}
"""What each decision does, in the words a person reads."""

_FOREIGN = {
    "retry": ("answer",),
    "accept": ("spec", "hint", "limits", "model"),
    "stop": ("spec", "hint", "limits", "model", "answer"),
}


class Intervention(Given):
    """What a person decides after a halt.

    Attributes:
        decision: `retry`: the task goes on in the same chain. `accept`: an answer is accepted with a waiver, though
            it did not pass; it is never called verified. `stop`: the halt stands.
        spec: With `retry`, what is to be done now. The original task stays and this is added to it as revised
            instructions, 16,000 characters at most; a task whose spec was refused before anything ran takes it as its
            own, within `max_spec_chars`.
        hint: With `retry`, help for every further attempt of the task; all its hints together have 16,000 characters at
            most.
        limits: With `retry`, fields of SolvePolicy that are raised for the rest of the run, in the whole tree:
            `{"max_attempts": 5, "budget": {"max_llm_calls": 400}}`. None lifts a limit.
        model: With `retry`, the name of the model that works on the task and its sub-tasks from now on: one of the
            solver's `models`, or a name for `init_chat_model`.
        answer: With `accept`, the answer in the person's own words; without it, what the last attempt answered, or
            else the best rejected answer.
        reason: Why, for the record.
        by: Who decides; never empty.

    Raises:
        pydantic.ValidationError: A field is unknown or none of its kind, does not go with the decision, or is no text
            or JSON that can be stored.
    """

    decision: Literal["retry", "accept", "stop"] = "retry"
    spec: Text = ""
    hint: Annotated[Text, Field(max_length=BRIEF_CHARS)] = ""
    limits: dict[str, Any] = Field(default_factory=dict)
    model: Text = ""
    answer: str = ""
    reason: Text = ""
    by: FilledText = "a person"

    @field_validator("limits", mode="after")
    @classmethod
    def _as_data(cls, limits: dict[str, Any]) -> dict[str, Any]:
        """Keep a Budget as what was set in it: what was left out of it stays as it is."""
        data = {
            name: value.model_dump(exclude_unset=True) if isinstance(value, BaseModel) else value
            for name, value in limits.items()
        }
        try:
            canonical_json(data)
        except ValueError as error:
            raise ValueError(f"{error}: give numbers; None lifts a limit") from error
        return data

    @field_validator("answer")
    @classmethod
    def _storable(cls, answer: str) -> str:
        try:
            answer.encode()
        except UnicodeEncodeError as error:
            raise ValueError("holds half of a surrogate pair, which no store takes") from error
        return answer

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        foreign = _FOREIGN[self.decision]
        if extra := [name for name in foreign if getattr(self, name)]:
            raise ValueError(f"{', '.join(extra)} cannot go with decision {self.decision!r}")
        return self


def read_intervention(given: Any) -> Intervention:
    """Read a decision: an Intervention, its fields, or only `retry`, `accept` or `stop`.

    Raises:
        InvalidInputError: It is none, or breaks a rule.
    """
    if isinstance(given, Intervention):
        return given
    fields = {"decision": given} if isinstance(given, str) else given
    if not isinstance(fields, Mapping):
        raise InvalidInputError(
            f"an intervention is {', '.join(DECISIONS)}, or an object with decision and what goes with it, "
            f"not {type(given).__name__}",
            field="intervention",
            value=given,
        )
    try:
        return Intervention.model_validate(dict(fields))
    except ValidationError as error:
        raise InvalidInputError(invalid_fields("intervention", error), field="intervention", value=given) from error
