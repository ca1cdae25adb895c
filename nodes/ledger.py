"""The ledger: what each run has spent, and whether it may spend more."""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import dataclass, field

from langgraph_recursive.state.budget import Budget
from langgraph_recursive.state.usage import Usage

__all__ = ("Ledger",)


@dataclass
class _Account:
    """One run's account."""

    spent: Usage = field(default_factory=Usage)
    in_flight: Usage = field(default_factory=Usage)
    held: dict[str, int] = field(default_factory=dict)

    @property
    def committed(self) -> Usage:
        """What is spent or may still be spent by the calls in flight."""
        return self.spent + self.in_flight


class Ledger:
    """One account per run on this thread. Thread safe: every question and its booking are one step.

    Parallel tasks cannot overspend together, since a call is reserved before it starts and settled when it has ended.
    Nothing spent is ever given back.

    Args:
        budget: The limits of a run.
        history: What earlier processes spent, by run number, as read from the checkpoints.
    """

    def __init__(self, budget: Budget, history: dict[int, Usage] | None = None) -> None:
        self.budget = budget
        self._lock = threading.Lock()
        self._accounts: dict[int, _Account] = defaultdict(_Account)
        for run, usage in (history or {}).items():
            self._accounts[run].spent = usage

    def spent(self, run: int) -> Usage:
        """What one run has spent so far."""
        with self._lock:
            return self._accounts[run].spent

    def limits(self, run: int) -> dict[str, list[float]]:
        """What one run has spent of each limit that is set, and the limit; by the limit's name."""
        spent, budget = self.spent(run), self.budget
        known: dict[str, tuple[float, float | None]] = {
            "max_llm_calls": (spent.llm_calls, budget.max_llm_calls),
            "max_tokens": (spent.total_tokens, budget.max_tokens),
            "max_cost": (spent.cost, budget.max_cost),
            "max_tasks": (spent.tasks, budget.max_tasks),
        }
        return {name: [used, limit] for name, (used, limit) in known.items() if limit is not None}

    def add(self, run: int, usage: Usage) -> None:
        """Count what was spent without having been reserved."""
        with self._lock:
            self._accounts[run].spent += usage

    def reserve(self, run: int, wanted: Usage, *, drawn_by: str | None = None) -> str | None:
        """Reserve something, or say which limit stands against it.

        Args:
            run: Number of the run.
            wanted: What may be spent at most.
            drawn_by: The task whose own reserve (`hold`) is drawn on first.
        """
        with self._lock:
            account = self._accounts[run]
            held = account.held.get(drawn_by or "", 0)
            if reason := self._reason(account, wanted, ours=held):
                return reason
            if drawn_by and held:
                account.held[drawn_by] = max(0, held - wanted.llm_calls)
            account.in_flight += wanted
            return None

    def settle(self, run: int, reserved: Usage, actual: Usage) -> None:
        """Put what was really spent in the place of what was reserved."""
        with self._lock:
            account = self._accounts[run]
            account.in_flight = account.in_flight.less(reserved)
            account.spent += actual

    def hold(self, run: int, task_id: str, wanted: Usage) -> str | None:
        """Keep calls back for one task's answer and verdict, or say which limit stands against it.

        Nobody else can spend them, until the task draws on them or they are released.

        Args:
            run: Number of the run.
            task_id: The task.
            wanted: Its calls; whether the task itself still fits is asked too.
        """
        with self._lock:
            account = self._accounts[run]
            if task_id in account.held:
                return None
            reason = self._reason(account, wanted, ours=0)
            if reason is None:
                account.held[task_id] = wanted.llm_calls
            return reason

    def release(self, run: int, task_id: str) -> None:
        """Free what is left of a task's reserve."""
        with self._lock:
            self._accounts[run].held.pop(task_id, None)

    def take_fix(self, run: int, limit: int) -> bool:
        """Count a fix if the limit allows one more."""
        with self._lock:
            account = self._accounts[run]
            if account.spent.fixes >= limit:
                return False
            account.spent += Usage(fixes=1)
            return True

    def _reason(self, account: _Account, wanted: Usage, *, ours: int) -> str | None:
        budget, known = self.budget, account.committed
        if budget.max_llm_calls is not None:
            held = sum(account.held.values()) - ours
            if known.llm_calls + held + wanted.llm_calls > budget.max_llm_calls:
                kept = f", {held} kept back for answers and verdicts under way" if held else ""
                return f"max_llm_calls = {budget.max_llm_calls}: {known.llm_calls} spent or in flight{kept}"
        if budget.max_tasks is not None and known.tasks + wanted.tasks > budget.max_tasks:
            return f"max_tasks = {budget.max_tasks}: {known.tasks} started"
        if not (wanted.llm_calls or wanted.output_tokens):
            return None
        tokens = known.total_tokens
        if budget.max_tokens is not None and tokens + max(1, wanted.output_tokens) > budget.max_tokens:
            return f"max_tokens = {budget.max_tokens}: {tokens} spent or in flight"
        if budget.max_cost is not None and account.spent.cost >= budget.max_cost:
            return f"max_cost = {budget.max_cost:g}: {account.spent.cost:g} spent"
        return None
