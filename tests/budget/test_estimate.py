"""The estimate is an upper bound of what any run spends, and no idle one."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_recursive.graph import SolvePolicy, create_recursive_solver, estimate
from langgraph_recursive.nodes import accept, reject
from langgraph_recursive.state import SubTask, TaskBrief, TaskReview

policies = st.builds(
    SolvePolicy,
    max_depth=st.integers(0, 2),
    max_children=st.integers(1, 3),
    max_attempts=st.integers(1, 4),
    max_fixes_total=st.integers(0, 5),
    max_replans=st.integers(0, 1),
    max_revisions=st.integers(0, 2),
    on_child_failure=st.sampled_from([None, "best_effort"]),
    stall_window=st.just(0),
)


class Chance:
    """Parts that do whatever they may, as chance has it; rather too much than too little."""

    def __init__(self, seed: int, policy: SolvePolicy) -> None:
        self.random = random.Random(seed)
        self.policy = policy
        self.made = 0

    def new(self) -> str:
        self.made += 1
        return f"part {self.made}"

    def split(self, task: Any) -> list[SubTask]:
        width = self.policy.max_children if self.random.random() < 0.8 else 0
        return [
            SubTask(self.new(), depends_on=[0] if number and self.random.random() < 0.5 else [])
            for number in range(width)
        ]

    def check(self, result: str) -> Any:
        return accept() if self.random.random() < 0.4 else reject(self.new())

    def review(self, report: Any, result: Any, ctx: Any) -> TaskReview:
        decision = self.random.choice(sorted(ctx.allowed))
        brief = TaskBrief(objective=self.new(), reason="r", completion_criteria=["c"], expected_outputs=["o"])
        wanted = brief if decision == "DESCEND_AGAIN" else None
        return TaskReview(child_task_id=report.child_task_id, decision=decision, reason="r", approved_next_task=wanted)


@settings(max_examples=150, deadline=None)
@given(policies, st.integers(0, 10**6), st.booleans())
def test_no_run_spends_more(policy: SolvePolicy, seed: int, reviewed: bool) -> None:
    chance = Chance(seed, policy)
    solver = create_recursive_solver(
        solver=lambda task: chance.new(),
        decomposer=chance.split,
        atomizer=lambda task, depth: False,
        aggregator=lambda task, results: chance.new(),
        verifiers=[lambda task, result, attempt: chance.check(result)],
        reviewer=chance.review if reviewed else None,
        policy=policy,
    )
    spent, worst = solver.invoke("job")["usage"], estimate(policy, verifiers=1, reviewed=reviewed)
    assert spent.tasks <= worst.tasks
    assert spent.llm_calls <= worst.calls


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_it_is_reached(depth: int) -> None:
    """By a run in which every task splits and nothing is rejected, but for the second time a plan is asked for."""
    policy = SolvePolicy(max_depth=depth, max_children=2, max_fixes_total=0, max_replans=0)
    solver = create_recursive_solver(
        solver=lambda task: "done",
        decomposer=lambda task: [f"{task} a", f"{task} b"],
        atomizer=lambda task, depth: False,
        aggregator=lambda results: "done",
        verifiers=[lambda result: True],
        policy=policy,
    )
    spent, worst = solver.invoke("job")["usage"], estimate(policy)
    splitting = sum(2**level for level in range(depth))
    assert spent.tasks == worst.tasks
    assert spent.llm_calls == worst.calls - splitting


def test_the_rules_of_a_policy_make_it_smaller() -> None:
    assert estimate(SolvePolicy(max_fixes_total=2)).tasks < estimate(SolvePolicy(max_fixes_total=10)).tasks
    assert estimate(SolvePolicy(on_child_failure="fail_fast")).tasks < estimate(SolvePolicy()).tasks / 10
    assert estimate(SolvePolicy()).tasks < estimate(SolvePolicy(), reviewed=True).tasks < 4_000_000
