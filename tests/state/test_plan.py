"""Plans: guards, numbering and order."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from langgraph_recursive.state.brief import SubTask, anchor_of, brief_of, same_task
from langgraph_recursive.state.plan import execution_order, faults_of, planned
from langgraph_recursive.state.task import Task

PARENT = Task(
    id="t", spec="parent", brief=brief_of("parent"), anchor=anchor_of("parent"), lineage=[same_task("parent")]
)


@st.composite
def plans(draw: Any, acyclic: bool = False) -> list[SubTask]:
    size = draw(st.integers(1, 6))
    order = draw(st.permutations(range(size)))
    plan = []
    for index in range(size):
        allowed = order[: order.index(index)] if acyclic else range(-1, size + 1)
        wanted = draw(st.lists(st.sampled_from(list(allowed)), max_size=3)) if len(list(allowed)) else []
        plan.append(SubTask(f"part {index}", wanted))
    return plan


@given(plans(acyclic=True), st.integers(1, 30))
def test_a_sound_plan_is_numbered_in_plan_order_and_runs_in_dependency_order(plan: list[SubTask], first: int) -> None:
    assert faults_of(plan, PARENT, places=6) == []
    children = planned(plan, PARENT, first=first)
    assert [child.id for child in children] == [f"t.{first + index}" for index in range(len(plan))]
    order = [child.id for child in execution_order(children)]
    assert sorted(order) == sorted(child.id for child in children)
    for child in children:
        assert all(order.index(wanted) < order.index(child.id) for wanted in child.depends_on)


@given(plans())
def test_a_plan_without_faults_can_always_run(plan: list[SubTask]) -> None:
    if not faults_of(plan, PARENT, places=6):
        assert len(execution_order(planned(plan, PARENT, first=1))) == len(plan)
    else:
        wild = [w for sub in plan for w in sub.depends_on if not 0 <= w < len(plan)]
        assert wild or len(execution_order(planned(plan, PARENT, first=1))) < len(plan)


@given(plans(acyclic=True))
def test_the_order_is_the_same_every_time(plan: list[SubTask]) -> None:
    children = planned(plan, PARENT, first=1)
    assert execution_order(children) == execution_order(list(children))


def test_independent_children_run_in_plan_order() -> None:
    children = planned([SubTask("a"), SubTask("b"), SubTask("c")], PARENT, first=1)
    assert execution_order(children) == children


def test_each_fault_is_named() -> None:
    for plan, says in [
        ([SubTask("Parent!")], "repeats the task itself or one above it"),
        ([SubTask("a"), SubTask("A .")], "repeats another sub-task"),
        ([SubTask("a", [3])], "depends on 3, known are 0 to 0"),
        ([SubTask("a", [1]), SubTask("b", [0])], "form a circle"),
        ([SubTask(str(number)) for number in range(9)], "has 9 sub-tasks, at most 6"),
        ([SubTask("x" * 17_000)], "does not make a brief"),
    ]:
        assert any(says in fault for fault in faults_of(plan, PARENT, places=6)), says
    assert any("repeats another" in fault for fault in faults_of([SubTask("old")], PARENT, taken=["Old."], places=6))
