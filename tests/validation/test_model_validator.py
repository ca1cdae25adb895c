"""The model validator: it may answer only the plan's checks, and nothing is repaired."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from langgraph_recursive.nodes.parts.validator_answers import read_answer
from langgraph_recursive.nodes.parts.validators import ModelValidator
from langgraph_recursive.state.failure import Failure
from langgraph_recursive.state.materials import Dossier, Entry
from langgraph_recursive.state.validation import ValidationPlan
from langgraph_recursive.state.validation_policy import ValidationCheckSpec, ValidationPolicy
from langgraph_recursive.state.verdict import Scope, Verdict
from scripted import ScriptedChatModel, tool_call
from validation_kit import Session, brief, decide, deciding, opened, plan_of, report, task

Validate = Callable[..., Verdict]

POLICY = ValidationPolicy(
    checks=[ValidationCheckSpec(check_id="tone", scope="task", criterion="polite", required=False)]
)
PLAN = plan_of(task(brief=brief(completion_criteria=["one", "two"])), policy=POLICY)
SOURCES = {"s1", "s2"}


def entry(check_id: str, status: str = "passed", **fields: Any) -> dict[str, Any]:
    return {"check_id": check_id, "status": status, "justification": "seen", **fields}


def answer(*checks: dict[str, Any], scope: str = "task", **fields: Any) -> dict[str, Any]:
    return {"scope": scope, "checks": list(checks), **fields}


GOOD = answer(entry("c1"), entry("c2"), entry("policy-tone"))


def read(given: Any, plan: ValidationPlan = PLAN, scope: Scope = "task") -> Verdict:
    return read_answer(given if isinstance(given, str) else json.dumps(given), plan, scope, SOURCES)


def test_exactly_the_plans_checks_are_read() -> None:
    verdict = read(answer(entry("c2", "failed", failure_code="Missing Total!"), entry("c1", evidence_refs=["s1"])))
    assert [(check.check_id, check.status, check.failure_code) for check in verdict.checks] == [
        ("c2", "failed", "missing-total"),
        ("c1", "passed", None),
    ]
    assert verdict.checks[1].evidence_refs == ["s1"]
    assert read(GOOD).outcome == "passed"
    assert read(answer(entry("c1"), entry("c2"), entry("policy-tone", "failed"))).outcome == "passed"
    assert read(answer(entry("c1"), entry("c2", "unknown"))).outcome == "unknown"


BROKEN: dict[str, tuple[Any, str]] = {
    "a required check missing": (answer(entry("c1")), "missing: c2"),
    "no check at all": (answer(), "missing: c1, c2"),
    "a check twice": (answer(entry("c1"), entry("c2"), entry("c2")), "twice: c2"),
    "a check twice, once failed": (answer(entry("c1"), entry("c2"), entry("c2", "failed")), "twice: c2"),
    "a check added": (answer(entry("c1"), entry("c2"), entry("c3")), "not in the plan: c3"),
    "another scope": (answer(entry("c1"), entry("c2"), scope="root"), "scope root instead of task"),
    "forged evidence": (answer(entry("c1", evidence_refs=["s9"]), entry("c2")), "never opened: s9"),
    "an unknown field": (answer(entry("c1"), entry("c2"), verdict="passed"), "answer.verdict"),
    "an unknown field in a check": (answer(entry("c1", sure=True), entry("c2")), "sure"),
    "another status": (answer(entry("c1", "Passed"), entry("c2")), "status"),
    "a bool as status": (answer({"check_id": "c1", "status": True}, entry("c2")), "status"),
    "a number as id": (answer(entry("c1"), {"check_id": 2, "status": "passed"}), "check_id"),
    "no json": ("ACCEPT: all is well", "not one JSON object"),
    "words around": (f"Here it is: {json.dumps(GOOD)}", "not one JSON object"),
    "words behind": (f"{json.dumps(GOOD)} I hope this helps", "not one JSON object"),
    "a fence": (f"```json\n{json.dumps(GOOD)}\n```", "not one JSON object"),
    "two objects": (json.dumps(GOOD) * 2, "not one JSON object"),
    "a list": ([GOOD], "answer"),
    "a key twice": ('{"scope":"task","scope":"task","checks":[]}', "key is given twice"),
    "nan": ('{"scope":"task","checks":NaN}', "NaN"),
    "cut off": (json.dumps(GOOD)[:-2], "not one JSON object"),
    "too deep": ("[" * 100_000, "not one JSON object"),
    "a huge number": ('{"scope":' + "9" * 5_000 + "}", "JSON"),
    "empty": ("", "not one JSON object"),
    "null": ("null", "answer"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_an_answer_that_breaks_the_plan_is_an_error(kind: str) -> None:
    given, said = BROKEN[kind]
    verdict = read(given)
    assert verdict.outcome == "error"
    assert verdict.error is not None
    assert said in verdict.error
    assert verdict.checks == []
    assert len(verdict.error) < 2_000


def _malformed(rng: random.Random) -> Any:
    """One answer that breaks at least one rule."""
    good = json.loads(json.dumps(GOOD))
    checks = good["checks"]
    at = rng.randrange(2)
    text = json.dumps(good)
    junk: list[Any] = [None, True, 3, -1.5, "", "passed", [], {}, [[]], {"a": 1}, "\ud800", "9" * 400]
    kinds: list[Callable[[], Any]] = [
        lambda: text[: rng.randrange(len(text))],
        lambda: text[rng.randrange(1, len(text)) :],
        lambda: rng.choice(["ok ", "{", "```json\n", "\x00", "ACCEPT "]) + text,
        lambda: text + rng.choice([" ok", "}", "\n```", "\x00", text]),
        lambda: text.replace('"', rng.choice(["'", "", '\\"', "\u201c"])),
        lambda: {**good, "checks": [check for number, check in enumerate(checks) if number != at]},
        lambda: {**good, "checks": [*checks, checks[at]]},
        lambda: {**good, "checks": [*checks, entry(rng.choice(["c3", "C1", " c1", "answer", ""]))]},
        lambda: {**good, "scope": rng.choice(["output", "evidence", "root", "TASK", *junk])},
        lambda: {**good, "checks": rng.choice(junk)},
        lambda: {**good, "checks": [*checks[:at], rng.choice(junk), *checks[at + 1 :]]},
        lambda: {**good, rng.choice(["outcome", "verdict", "error", "x"]): rng.choice(junk)},
        lambda: {key: value for key, value in good.items() if key != rng.choice(["scope", "checks"])} | {"y": 1},
        lambda: _with(good, at, status=rng.choice(["PASSED", "pass", "ok", "passed ", "accept", *junk[:5], *junk[6:]])),
        lambda: _with(good, at, check_id=rng.choice(junk)),
        lambda: _with(good, at, evidence_refs=rng.choice([["s9"], ["S1"], [1], "s1", [""], None, [["s1"]]])),
        lambda: _with(good, at, justification=rng.choice(junk[:4])),
        lambda: _with(good, at, failure_code=rng.choice([1, True, [], {}])),
        lambda: _with(good, at, evidence=rng.choice(junk)),
        lambda: "".join(chr(rng.randrange(1, 0x3000)) for _ in range(rng.randrange(60))) + "!",
        lambda: rng.choice(junk),
        lambda: text.replace('"status"', rng.choice(['"status": "failed", "status"', '"Status"', '"stat us"'])),
    ]
    return rng.choice(kinds)()


def _with(good: dict[str, Any], at: int, **fields: Any) -> dict[str, Any]:
    checks = [{**check, **fields} if number == at else check for number, check in enumerate(good["checks"])]
    return {**good, "checks": checks}


def test_of_ten_thousand_malformed_answers_none_passes_and_none_raises() -> None:
    rng = random.Random(20260730)
    seen = set()
    for _ in range(10_000):
        given = _malformed(rng)
        for form in (given, json.dumps(given)) if not isinstance(given, str) else (given,):
            verdict = read_answer(form, PLAN, "task", SOURCES)
            assert verdict.outcome == "error", form
            verdict.model_dump_json()
            seen.add(str(verdict.error)[:60])
    assert len(seen) > 10


def test_half_a_surrogate_pair_in_a_legal_answer_can_be_stored() -> None:
    verdict = read(
        '{"scope":"task","checks":[{"check_id":"c1","status":"passed","justification":"\\ud800"},'
        '{"check_id":"c2","status":"passed"}]}'
    )
    assert verdict.outcome == "passed"
    verdict.model_dump_json()


def test_a_passed_evidence_check_must_cite_a_source() -> None:
    plan = plan_of(scopes=["evidence", "task"])
    bare = answer(entry("evidence"), scope="evidence")
    assert "without a source" in str(read(bare, plan, "evidence").error)
    cited = answer(entry("evidence", evidence_refs=["s1"]), scope="evidence")
    assert read(cited, plan, "evidence").outcome == "passed"
    assert read(answer(entry("evidence", "failed"), scope="evidence"), plan, "evidence").outcome == "failed"


@pytest.fixture
def validate(way: str) -> Validate:
    """Run a model validator by itself."""

    def run(
        model: ScriptedChatModel,
        scope: Scope = "task",
        *,
        dossier: Dossier | None = None,
        max_tool_rounds: int = 4,
        **options: Any,
    ) -> Verdict:
        part = ModelValidator(model, **options)
        checked = task(brief=brief(validation_scopes=["evidence", "hypothesis", "output", "task"]))
        plan = plan_of(checked)
        policy = ValidationPolicy(max_tool_rounds=max_tool_rounds)
        given = dossier or Dossier(policy=policy, task=checked, report=report())
        if way == "sync":
            return Verdict.model_validate(part(plan, scope, given))
        return Verdict.model_validate(asyncio.run(part.acall(plan, scope, given)))

    return run


@pytest.mark.parametrize("structured", [False, True])
@pytest.mark.parametrize("status", ["passed", "failed", "unknown"])
def test_it_decides_with_and_without_structured_output(validate: Validate, structured: bool, status: str) -> None:
    model = ScriptedChatModel(answers=deciding({"task": status}), structured=structured)
    verdict = validate(model)
    assert verdict.outcome == status
    assert [check.check_id for check in verdict.checks] == ["c1"]
    assert len(model.calls) == 1


@pytest.mark.parametrize("structured", [False, True])
@pytest.mark.parametrize("given", ["no verdict", "{}", '{"scope": "task", "checks": []}'])
def test_an_illegal_answer_is_an_error_without_a_repair_call(validate: Validate, structured: bool, given: str) -> None:
    model = ScriptedChatModel(answers=[given], structured=structured)
    assert validate(model).outcome == "error"
    assert len(model.calls) == 1


@pytest.mark.parametrize("scope", ["output", "task"])
def test_output_and_task_are_one_call_without_tools(validate: Validate, scope: Scope) -> None:
    model = ScriptedChatModel(answers=deciding(), tools=True)
    sessions: list[Session] = []
    validate(model, scope, tools=lambda report: opened(sessions))
    assert [call.tools for call in model.calls] == [[]]
    assert sessions == []
    called = ScriptedChatModel(answers=[tool_call("open_page", name="orders")], tools=True)
    assert "does not have: open_page" in str(validate(called, scope).error)


def test_evidence_may_open_sources_and_cites_them(validate: Validate) -> None:
    session = Session()
    model = ScriptedChatModel(
        answers=lambda messages: (
            decide(messages, evidence_refs=["s1"]) if session.opened else tool_call("open_page", name="orders")
        ),
        tools=True,
    )
    verdict = validate(model, "evidence", tools=lambda report: session)
    assert verdict.outcome == "passed"
    assert session.calls == 1
    assert [call.tools for call in model.calls] == [["open_page"], ["open_page"]]
    assert model.calls[1].messages[-1].text == "3 and 4"


def test_a_source_that_this_run_never_opened_is_forged(validate: Validate) -> None:
    model = ScriptedChatModel(answers=deciding(evidence_refs=["s1"]), tools=True)
    assert "never opened: s1" in str(validate(model, "evidence", tools=lambda report: Session()).error)


def test_a_resolved_artifact_may_be_cited(validate: Validate) -> None:
    artifact = Entry(kind="artifact", source="a1", text="3 and 4")
    dossier = Dossier(policy=ValidationPolicy(), task=task(), report=report(), artifacts=[artifact])
    assert validate(ScriptedChatModel(answers=deciding(evidence_refs=["a1"])), "evidence", dossier=dossier).accepted


def test_a_forbidden_tool_call_is_an_error(validate: Validate) -> None:
    session = Session()
    both = AIMessage(
        "",
        tool_calls=[
            {"name": "open_page", "args": {"name": "orders"}, "id": "1"},
            {"name": "shell", "args": {}, "id": "2"},
        ],
    )
    model = ScriptedChatModel(answers=[both], tools=True)
    assert "does not have: shell" in str(validate(model, "evidence", tools=lambda report: session).error)
    assert session.calls == 0
    assert len(model.calls) == 1


def test_too_many_rounds_are_an_error(validate: Validate) -> None:
    session = Session()
    model = ScriptedChatModel(answers=[tool_call("open_page", name="orders")], repeat=True, tools=True)
    assert "rounds" in str(validate(model, "hypothesis", max_tool_rounds=2, tools=lambda report: session).error)
    assert (session.calls, len(model.calls)) == (2, 3)


def test_too_many_calls_at_once_are_an_error(validate: Validate) -> None:
    calls = [{"name": "open_page", "args": {"name": "orders"}, "id": str(number)} for number in range(9)]
    model = ScriptedChatModel(answers=[AIMessage("", tool_calls=calls)], tools=True)
    assert "at most 8" in str(validate(model, "evidence", tools=lambda report: Session()).error)


def test_a_tool_that_fails_tells_the_model_so(validate: Validate) -> None:
    answers = [tool_call("open_page", name="nowhere"), answer(entry("hypothesis"), scope="hypothesis")]
    model = ScriptedChatModel(answers=answers, tools=True)
    assert validate(model, "hypothesis", tools=lambda report: Session()).accepted
    assert model.calls[1].messages[-1].text == "Error: KeyError: 'nowhere'"


def test_material_that_does_not_fit_is_unknown_without_a_call(validate: Validate) -> None:
    model = ScriptedChatModel(answers=deciding())
    dossier = Dossier(policy=ValidationPolicy(), task=task(), report=report("x" * 60_000))
    verdict = validate(model, dossier=dossier)
    assert verdict.outcome == "unknown"
    assert not verdict.checked
    assert model.calls == []


def test_it_is_shown_the_codes_it_gave_before_and_no_others(validate: Validate) -> None:
    failures = [
        Failure(attempt=1, validator_id=who, check_id="c1", failure_code=code, justification="there is no total")
        for who, code in (("validator:task", "missing-total"), ("validator:output", "other-scope"), ("judge", "theirs"))
    ]
    model = ScriptedChatModel(answers=deciding())
    validate(model, dossier=Dossier(policy=ValidationPolicy(), task=task(prior_failures=failures), report=report()))
    assert "c1: missing-total: there is no total" in model.calls[0].text
    assert "other-scope" not in model.calls[0].text
    assert "theirs" not in model.calls[0].text


class Warm(ScriptedChatModel):
    temperature: float = 0.7


def test_its_temperature_is_zero_where_the_model_takes_it() -> None:
    assert ModelValidator(Warm(answers=[])).model.temperature == 0.0  # type: ignore[attr-defined]  # it is a Warm
    assert ModelValidator(ScriptedChatModel(answers=[])).model is not None


def test_its_identity_tells_models_settings_and_tools_apart() -> None:
    def identity(model: ScriptedChatModel, **options: Any) -> tuple[str, str]:
        part = ModelValidator(model, **options)
        return part.identity, part.tool_identity(report())

    one = identity(ScriptedChatModel(answers=[], name="one"))
    assert one == identity(ScriptedChatModel(answers=["x"], name="one"))
    assert one != identity(ScriptedChatModel(answers=[], name="two"))
    tools = identity(ScriptedChatModel(answers=[], name="one"), tools=lambda report: Session())
    assert (tools[0], tools[1] == one[1]) == (one[0], False)
