"""The protocol's data: every field and default as documented, one normal form, and one anchor for the whole tree."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.types import Command
from pydantic import BaseModel, ValidationError

from langgraph_recursive.state.brief import (
    ANCHOR_CHARS,
    BRIEF_CHARS,
    ContextRef,
    RootTaskAnchor,
    TaskBrief,
    anchor_of,
    brief_of,
)
from langgraph_recursive.state.errors import ChangedAnchorError
from langgraph_recursive.state.report import ArtifactRef, NextStepSuggestion, TaskReport, Validation
from langgraph_recursive.state.review import TaskReview
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.task_state import TaskState
from langgraph_recursive.state.validation import ValidationPlan
from langgraph_recursive.state.validation_policy import ValidationCheckSpec, ValidationPolicy
from langgraph_recursive.state.verdict import RetryFrom, ScopeValidationResult, ValidationCheck, ValidationResult
from review_kit import CONFIG, Tree, brief

REQUIRED = object()

FIELDS: dict[type[BaseModel], dict[str, Any]] = {
    RootTaskAnchor: {"objective": REQUIRED, "completion_criteria": REQUIRED, "constraints": []},
    TaskBrief: {
        "objective": REQUIRED,
        "reason": REQUIRED,
        "completion_criteria": REQUIRED,
        "expected_outputs": REQUIRED,
        "parent_findings": [],
        "context": {},
        "constraints": [],
        "context_refs": [],
        "validation_scopes": ["task"],
    },
    ContextRef: {"ref_id": REQUIRED, "version": REQUIRED},
    TaskReport: {
        "summary": REQUIRED,
        "outcome": REQUIRED,
        "child_task_id": "",
        "validation": Validation(hard_passed=False, open_issues=[]),
        "next_step_suggestion": NextStepSuggestion(direction="NONE"),
        "outputs": [],
        "evidence": [],
        "artifact_refs": [],
        "source_urls": [],
        "remaining_issues": [],
        "missing": [],
        "sequence": 0,
    },
    Validation: {"hard_passed": False, "open_issues": []},
    NextStepSuggestion: {"direction": "NONE", "suggested_next_task": None, "reason": ""},
    ArtifactRef: dict.fromkeys(("artifact_id", "version", "content_hash", "kind", "mime_type"), REQUIRED),
    TaskReview: {
        "decision": REQUIRED,
        "reason": REQUIRED,
        "child_task_id": "",
        "parent_task_id": "",
        "approved_next_task": None,
        "retry_from": None,
        "sequence": 0,
    },
    ValidationCheckSpec: {
        "check_id": REQUIRED,
        "scope": REQUIRED,
        "criterion": REQUIRED,
        "method": "model",
        "required": True,
    },
    ValidationPolicy: {"scopes": [], "checks": [], "max_tool_rounds": 4},
    ValidationPlan: dict.fromkeys(["task_id", "attempt", "scopes", "checks", "plan_hash"], REQUIRED),
    ValidationCheck: {
        "check_id": REQUIRED,
        "status": REQUIRED,
        "required": True,
        "justification": "",
        "failure_code": None,
        "evidence": [],
        "evidence_refs": [],
        "validator_id": "",
    },
    ScopeValidationResult: {"scope": REQUIRED, "outcome": REQUIRED, "checks": [], "error": None},
    ValidationResult: {
        "evaluated_task_id": REQUIRED,
        "outcome": REQUIRED,
        "scope_results": [],
        "issues": [],
        "retry_from": None,
        "plan_hash": "",
        "feedback": "",
        "checked": True,
        "gate": None,
        "waived_by": None,  # ours (rules.md 7)
    },
    RetryFrom: {"task_id": REQUIRED, "at": REQUIRED, "scope": "task", "check_ids": []},
}

STATE = {
    "task_brief": "current.brief",
    "task_brief_version": "current.revision",
    "task_brief_history": "brief_history",
    "task_report": "report",
    "task_report_submitted_at_sequence": "report.sequence",
    "task_report_validation": "verdict",
    "report_history": "report_history",
    "pending_reviews": "children",
    "reviews": "reviews",
    "next_actions": "next_actions",
    "pending_replans": "pending_replans",
    "root_validation_attempts": "gate_attempts",
    "root_validation_history": "attempts",
    "root_validation_passed": "verdict.gate",
    "context_access": "context_reads",
}
"""What the document keeps of a task, and where it lies here.

A pending review is a child's result without a review. Corrections of output that cannot be parsed
(`protocol_correction_attempts`) are calls of one node and kept by their records.
"""


@pytest.mark.parametrize("name", STATE)
def test_the_state_holds_all_that_the_document_lists(name: str) -> None:
    kind: Any = TaskState
    for field in STATE[name].split("."):
        annotation = kind.model_fields[field].annotation
        kind = next((part for part in (*get_args(annotation), annotation) if isinstance(part, type)), None)


@pytest.mark.parametrize("kind", FIELDS, ids=lambda kind: kind.__name__)
def test_every_field_and_default_is_as_documented(kind: type[BaseModel]) -> None:
    found = {
        name: REQUIRED if field.is_required() else field.get_default(call_default_factory=True, validated_data={})
        for name, field in kind.model_fields.items()
    }
    assert found == FIELDS[kind]


def test_the_bounds_are_those_of_the_document() -> None:
    assert (ANCHOR_CHARS, BRIEF_CHARS) == (4_000, 16_000)


texts = st.text(max_size=20)
filled = texts.filter(lambda text: bool(text.strip()))
some = st.lists(filled, min_size=1, max_size=4)
json = st.recursive(st.none() | st.booleans() | st.integers() | texts, lambda inner: st.lists(inner, max_size=3))
briefs = st.fixed_dictionaries(
    {
        "objective": filled,
        "reason": filled,
        "completion_criteria": some,
        "expected_outputs": some,
        "parent_findings": st.lists(texts, max_size=4),
        "constraints": st.lists(texts, max_size=4),
        "context": st.dictionaries(texts, json, max_size=3),
        "validation_scopes": st.lists(st.sampled_from(["task", "output", "hypothesis", "evidence"]), max_size=5),
    }
)


@given(briefs)
def test_normalizing_twice_is_normalizing_once(fields: dict[str, Any]) -> None:
    once = TaskBrief.model_validate(fields)
    twice = TaskBrief.model_validate(once.model_dump())
    assert (twice, twice.normalized(), twice.hash) == (once, once.normalized(), once.hash)
    assert TaskBrief.model_validate_json(once.normalized()) == once
    assert once.validation_scopes[-1] == "task"


@given(st.lists(st.lists(texts, max_size=3), min_size=1, max_size=5))
def test_constraints_only_grow_down_the_tree(levels: list[list[str]]) -> None:
    inherited: list[str] = []
    for own in levels:
        child = brief("x", constraints=own).inherit(inherited)
        assert child.constraints[: len(inherited)] == inherited
        assert set(child.constraints) >= set(brief("x", constraints=own).constraints)
        assert child.inherit(child.constraints) == child
        inherited = child.constraints


@pytest.mark.parametrize("context", [{"a": {1, 2}}, {"a": float("nan")}, {"a": object()}])
def test_a_context_is_json(context: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="context"):
        brief("x", context=context)


class TestAnchor:
    def test_it_is_fixed_at_the_root_and_every_descendant_reads_that_copy(self) -> None:
        root = brief("job", constraints=["in French"])
        anchor = anchor_of(root)
        tree = Tree({"job": ["mid"], "mid": ["a"]})
        tree.graph.invoke(root, CONFIG)
        assert all(task.anchor == anchor for task in tree.tasks)
        assert all(task.anchor_hash == anchor.hash for task in tree.tasks)
        assert all("in French" in task.brief.constraints for task in tree.tasks)
        assert tree.state.attempt.anchor_hash == anchor.hash

    def test_a_changed_one_is_refused(self) -> None:
        root = Task(id="t", spec="s", brief=brief_of("one")).under(anchor_of("one"))
        child = Task(id="t.1", spec="s", brief=brief_of("x"), parent_id="t", anchor_hash=root.anchor_hash)
        assert child.under(root.anchor).anchor == root.anchor
        for task in (root, child):
            with pytest.raises(ChangedAnchorError) as caught:
                task.under(anchor_of("two"))
            assert caught.value.code == "changed_anchor"

    def test_a_changed_one_is_refused_on_a_resume(self) -> None:
        calls = iter([KeyboardInterrupt()])

        def solve(task: Task) -> str:
            if crash := next(calls, None):
                raise crash
            return "a"

        tree = Tree({"job": ["a"]}, solver=solve)
        with pytest.raises(KeyboardInterrupt):
            tree.graph.invoke("job", CONFIG, durability="sync")
        state = tree.state
        forged = state.attempt.model_copy(update={"anchor": anchor_of("another job")})
        changed = state.model_copy(update={"current": forged})
        tree.graph.update_state(CONFIG, Command(update={"state": changed}, goto="subtasks"), as_node="decompose")
        with pytest.raises(ChangedAnchorError, match="started under another anchor"):
            tree.graph.invoke(None, CONFIG)
