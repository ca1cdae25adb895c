"""Verifiers: whether an answer is accepted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable
from pydantic import BaseModel, Field

from langgraph_recursive.state.errors import InvalidInputError
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.verdict import CheckStatus, ValidationCheck, Verdict, accept, reject

from ..components import Part, inline
from ..parsing import judgement
from .ask import Prompt, Structured, as_task, ask, checked_model, fenced

__all__ = ("LLMVerifier", "always_accept", "llm_verifier")

_PLAIN_CRITERIA = ["the objective is met"]  # the brief of a plain text names no criteria of its own
_ANSWER = "answer"
_REASON_CHARS = 200
_CODE_CHARS = 40
_CODED = re.compile(r"\[([^\[\]\n]{1,80})\]\s*(.*)", re.DOTALL)


@inline
def always_accept(task: Task | str, result: str, attempt: int = 1) -> Verdict:
    """Accept every answer without a check: the result is then not called verified."""
    return accept("not checked").model_copy(update={"checked": False})


class Check(BaseModel):
    """One criterion, checked."""

    check_id: str = Field(description="The criterion's id, as given.")
    status: CheckStatus
    justification: str = Field(default="", description="What was seen, and for a failure what has to change.")
    failure_code: str | None = Field(default=None, description="A short name for the defect; null if passed.")


class Checks(BaseModel):
    """Exactly one check for each criterion."""

    checks: list[Check]


def llm_verifier(
    model: BaseChatModel,
    *,
    criteria: Sequence[str] = (),
    name: str = "llm_verifier",
    unclear: Literal["error", "reject"] = "error",
) -> LLMVerifier:
    """Make a verifier that asks a model.

    A model with structured output gives one check per criterion: `c1`, `c2` and so on, or the single check `answer`
    where the task names no criteria. Another one answers with a text that is accepted only if it starts with the word
    ACCEPT, and rejected if it starts with REJECT.

    A failed check has a short failure code. The judge is shown the codes of earlier attempts and told to use one
    again for the same defect, so that recovery sees a repeat in other words too.

    Args:
        model: The chat model. Its temperature is set to 0 where that is known to be allowed.
        criteria: What to check; by default the completion criteria of the task's brief.
        name: The validator's id in verdicts.
        unclear: What a reply means that is no verdict: neither ACCEPT nor REJECT, not in its form, or with checks
            missing, twice or unknown. `error` halts the task; `reject` counts it as a rejection.

    Raises:
        ComponentError: `model` is no chat model.
        InvalidInputError: `unclear` is neither of the two, or a criterion is empty.
    """
    return LLMVerifier(model, criteria=criteria, name=name, unclear=unclear)


class LLMVerifier(Part):
    """Asks a model for a verdict; made by `llm_verifier`."""

    def __init__(self, model: BaseChatModel, *, criteria: Sequence[str], name: str, unclear: str) -> None:
        if unclear not in ("error", "reject"):
            raise InvalidInputError(
                f"unclear = {unclear!r}: must be 'error' or 'reject'", field="unclear", value=unclear
            )
        if isinstance(criteria, str) or not all(isinstance(text, str) and text.strip() for text in criteria):
            raise InvalidInputError(
                f"criteria = {criteria!r}: must be a list of texts that are not empty", field="criteria", value=criteria
            )
        self.name = name
        self.criteria = tuple(criteria)
        self.unclear = unclear
        self.model = at_zero(checked_model(model, "llm_verifier"))
        self.structured = Structured.of(self.model, Checks)
        self.prompt = Prompt("verifier_text" if self.structured is None else "verifier_checks")

    async def run(self, task: Task | str, result: str, attempt: int = 1) -> Verdict:
        """Ask for the verdict."""
        task = as_task(task)
        criteria = self._criteria(task)
        # The original task, not the spec of a fix: old failures must not make the judge expect them.
        messages = self.prompt.messages(
            task,
            criteria="\n".join(f"- {check_id}: {text}" for check_id, text in criteria.items()),
            asked=fenced(task.intent, kind="task"),
            earlier=_earlier(task, criteria),
            answer=fenced(str(result), kind="answer"),
        )
        if self.structured is None:
            return self._judged(await ask("verifier", self.model, messages), list(criteria))
        found, text = await self.structured.ask("verifier", messages)
        if found is None:
            return self._unclear("the verdict does not have its form", text)
        fault = _fault([check.check_id for check in found.checks], criteria)
        return self._unclear(fault, text) if fault else _verdict(found.checks)

    def _criteria(self, task: Task) -> dict[str, str]:
        given = list(self.criteria) or task.brief.completion_criteria
        if given == _PLAIN_CRITERIA:
            return {_ANSWER: "The answer does what the task asks for, completely and correctly."}
        return {f"c{number}": text for number, text in enumerate(given, 1)}

    def _judged(self, text: str, check_ids: list[str]) -> Verdict:
        decision, feedback = judgement(text)
        if decision is None:
            return self._unclear("the verdict starts with neither ACCEPT nor REJECT", text)
        if decision:
            return accept(feedback)
        coded = _CODED.match(feedback)
        code, reason = coded.groups() if coded else (None, feedback)
        return reject(reason.strip() or "rejected without a reason", failure_code=failure_code_of(code))

    def _unclear(self, fault: str, text: str) -> Verdict:
        shown = f"{fault}: {text.strip()[:_REASON_CHARS]!r}" if text.strip() else fault
        return Verdict(error=shown) if self.unclear == "error" else reject(shown, failure_code="no-verdict")


def _fault(found: Sequence[str], criteria: dict[str, str]) -> str:
    """What is wrong with the ids of a verdict's checks; nothing is repaired."""
    faults = [
        ("missing", sorted(set(criteria) - set(found))),
        ("unknown", sorted(set(found) - set(criteria))),
        ("given twice", sorted(check_id for check_id, times in Counter(found).items() if times > 1)),
    ]
    return "; ".join(f"checks {what}: {', '.join(ids)}" for what, ids in faults if ids)


def _verdict(found: Sequence[Check]) -> Verdict:
    checks = [
        ValidationCheck(
            check_id=check.check_id,
            status=check.status,
            justification=check.justification.strip() or f"{check.status} without a reason",
            failure_code=None if check.status == "passed" else failure_code_of(check.failure_code),
        )
        for check in found
    ]
    failed = [check for check in checks if check.status != "passed"]
    return Verdict(checks=checks, feedback="; ".join(check.justification for check in failed or checks))


def failure_code_of(given: str | None) -> str | None:
    """A failure code in its one form, so that spelling does not hide a repeat."""
    return re.sub(r"[\W_]+", "-", (given or "").casefold()).strip("-")[:_CODE_CHARS].strip("-") or None


def _earlier(task: Task, criteria: dict[str, str]) -> str:
    """The failure codes of earlier attempts, with what they stood for."""
    codes: dict[tuple[str, str], str] = {}
    for failure in task.prior_failures:
        if failure.failure_code and failure.check_id in {*criteria, _ANSWER}:
            codes[failure.check_id, failure.failure_code] = failure.justification.strip()[:_REASON_CHARS]
    if not codes:
        return ""
    lines = [f"{check_id}: {code}: {reason}" for (check_id, code), reason in codes.items()]
    return f"# Earlier failures (check: code: reason)\n\n{fenced(chr(10).join(lines), kind='earlier')}"


def at_zero(model: Runnable[Any, Any]) -> Runnable[Any, Any]:
    """Set a model's temperature to 0, for the same verdict on the same answer.

    Some models refuse the setting. So it is made only where the model has one already, or is known to take it.
    """
    if not isinstance(model, BaseChatModel) or "temperature" not in type(model).model_fields:
        return model
    known = isinstance(getattr(model, "temperature", None), int | float)
    reasons = any(getattr(model, name, None) for name in ("thinking", "reasoning", "reasoning_effort"))
    if reasons or not (known or (model.profile or {}).get("temperature") is True):
        return model
    return model.model_copy(update={"temperature": 0.0})
