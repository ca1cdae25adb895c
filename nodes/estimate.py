"""The worst case of a run, before it starts."""

from __future__ import annotations

from dataclasses import dataclass

from .policy import SolvePolicy

__all__ = ("Estimate", "estimate")


@dataclass(frozen=True)
class Estimate:
    """What a run may need at most.

    Attributes:
        tasks: Tasks, the root included.
        calls: Component calls that may be model calls.
    """

    tasks: int
    calls: int


def estimate(policy: SolvePolicy, *, verifiers: int = 1) -> Estimate:
    """Work out the worst case: every task splits as widely and is rejected as often as the policy allows.

    Args:
        policy: The limits; its budget caps the result.
        verifiers: Verifiers per answer.
    """
    attempts = min(policy.max_attempts, 1 + policy.max_fixes_total)
    plans = 1 + (attempts - 1) // 2  # every other attempt of a composite task re-aggregates
    width = policy.max_children * (1 + policy.max_replans) * plans
    tasks = sum(width**depth for depth in range(policy.max_depth + 1))
    if policy.budget.max_tasks is not None:
        tasks = min(tasks, policy.budget.max_tasks)
    planning = plans * (1 + policy.max_replans) * 2 + 1  # a refused plan is asked for again; the atomizer once
    per_task = planning + 1 + verifiers
    calls = tasks * per_task + min(policy.max_fixes_total, tasks * (attempts - 1)) * (1 + verifiers)
    if policy.budget.max_llm_calls is not None:
        calls = min(calls, policy.budget.max_llm_calls)
    return Estimate(tasks, calls)
