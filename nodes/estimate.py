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
        calls: Component calls that may be model calls. Not counted are repeats, because output could not be parsed or a
            provider failed, and rounds of tool calls.
    """

    tasks: int
    calls: int


def estimate(policy: SolvePolicy, *, verifiers: int = 1, reviewed: bool = False) -> Estimate:
    """Work out the worst case: every task splits as widely, and is rejected as often, as the policy allows.

    Args:
        policy: The limits; its budget caps the result. What persons grant after a halt is not foreseen.
        verifiers: Verifiers per answer.
        reviewed: Whether a reviewer judges the children: it may have each fix run a whole batch again.
    """
    tree = _Tree(policy, reviewed)
    tasks, splitting = tree.tasks(policy.max_depth), tree.tasks(policy.max_depth - 1)
    answering = 1 + verifiers + (1 if reviewed else 0)
    planning = 2 * (1 + tree.replans)  # a refused plan is asked for again
    calls = tasks * answering + splitting * (1 + planning) + tree.further * (planning + answering)
    return Estimate(_capped(tasks, policy.budget.max_tasks), _capped(calls, policy.budget.max_llm_calls))


def _capped(worst: int, limit: int | None) -> int:
    return worst if limit is None else min(worst, limit)


class _Tree:
    """The widest tree that a policy allows.

    Attributes:
        replans: Replans per attempt.
        width: Children per plan, those of its replans included.
        further: Attempts beyond the first of all tasks.
    """

    def __init__(self, policy: SolvePolicy, reviewed: bool) -> None:
        self.reviewed = reviewed
        self.replans = policy.max_replans if reviewed or policy.on_child_failure in (None, "replan") else 0
        self.width = policy.max_children * (1 + self.replans)
        self.attempts, self.fixes = policy.max_attempts, policy.max_fixes_total
        self.further = self.fixes * (self.width if reviewed else 1)  # what needs a revised child runs again too

    def tasks(self, depth: int) -> int:
        """How many tasks there are down to a depth.

        Every fix counts in the whole tree. Rules plan anew with every second fix of a task: of the root as often as its
        attempts allow, of others one level below at the most. A reviewer's revision may plan anew all children of one
        task, which is no more than the root would.
        """
        if self.reviewed:
            return self._full(depth) + self.fixes * self.width * self._full(depth - 1)
        plans = self.fixes // 2
        roots = min(plans, self.attempts // 2)  # the root gate may grant one attempt more
        others = plans - roots if self.attempts > 2 else 0
        return self._full(depth) + self.width * (roots * self._full(depth - 1) + others * self._full(depth - 2))

    def _full(self, depth: int) -> int:
        return sum(self.width**level for level in range(depth + 1))
