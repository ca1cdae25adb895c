"""Recovery strategies: how many calls until an answer is accepted, or the strategy gives up.

Every strategy meets the same scripted solver and verifier. The solver sees nothing but the text it is given, and what
it answers follows from that text alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.verdict import Verdict, accept, reject
from table import Part

__all__ = ("measure",)

_ATTEMPTS = 6
_TASK = "Write the yearly report."
_NEED = re.compile(r"needs (\w+)")

Strategy = Callable[["Case"], str]


@dataclass
class Case:
    """One scripted solver with its verifier. Counts its calls.

    Args:
        answer: What the solver makes of the text it is given.
        judge: What the verifier says to an answer, and to how many it has judged before.
    """

    answer: Callable[[str], str]
    judge: Callable[[str, int], Verdict]
    texts: list[str] = field(default_factory=list)
    verifications: int = 0

    def solve(self, text: str) -> str:
        self.texts.append(text)
        return self.answer(text)

    def verify(self, answer: str) -> Verdict:
        self.verifications += 1
        return self.judge(answer, self.verifications - 1)


# The solvers. All read what the text says is needed.


def _with_everything_named(text: str) -> str:
    return "report with " + ", ".join(sorted(set(_NEED.findall(text))))


def _with_the_newest_only(text: str) -> str:
    return "report with " + "".join(_NEED.findall(text)[-1:])


# The verifiers.


def _wanting(*needs: str) -> Callable[[str, int], Verdict]:
    """Names the first need that is not met, as a test run that stops at its first failure."""

    def judge(answer: str, before: int) -> Verdict:
        missing = [need for need in needs if need not in answer]
        return reject(f"after 0.{before}7s: the report needs {missing[0]}") if missing else accept()

    return judge


_WORDS = ("the total is off", "rows do not add up", "the sum is not right", "check the bottom line")


def _in_other_words(answer: str, before: int) -> Verdict:
    return reject(_WORDS[before % len(_WORDS)], failure_code="wrong_total")


def _broken(answer: str, before: int) -> Verdict:
    raise OSError("the checker's database is gone")


def _unmoved(text: str) -> str:
    return "report"


CASES: dict[str, Callable[[], Case]] = {
    "right at once": lambda: Case(_unmoved, _wanting()),
    "fixable only with the evidence": lambda: Case(_with_everything_named, _wanting("March")),
    "whack-a-mole: one failure at a time": lambda: Case(_with_everything_named, _wanting("March", "totals", "names")),
    "never converges": lambda: Case(_unmoved, _wanting("March")),
    "same verdict in other words": lambda: Case(_unmoved, _in_other_words),
    "A-B-A: each fix undoes the last": lambda: Case(_with_the_newest_only, _wanting("March", "totals")),
    "validator error": lambda: Case(_unmoved, _broken),
}


# The strategies.


def _engine(stall_window: int) -> Strategy:
    def strategy(case: Case) -> str:
        def solver(task: Task) -> str:
            return case.solve(task.spec)

        def check(task: Task, result: str, attempt: int) -> Verdict:
            return case.verify(str(result))

        policy = SolvePolicy(max_attempts=_ATTEMPTS, stall_window=stall_window)
        result = create_recursive_solver(solver=solver, verifiers=[check], policy=policy).invoke({"task": _TASK})
        return "accepted" if result["success"] else str(result["halt"].type)

    return strategy


def _loop(next_text: Callable[[str, str], str]) -> Strategy:
    """The usual loop: on a rejection, and on a validator that fails, write the next text and try again."""

    def strategy(case: Case) -> str:
        text = _TASK
        for _ in range(_ATTEMPTS):
            answer = case.solve(text)
            try:
                verdict = case.verify(answer)
            except OSError as error:
                verdict = reject(str(error))
            if verdict.accepted:
                return "accepted"
            text = next_text(text, verdict.feedback)
        return "exhausted"

    return strategy


STRATEGIES: dict[str, Strategy] = {
    "this engine": _engine(1),
    "this engine, stall_window=2": _engine(2),
    "retry the same text": _loop(lambda text, feedback: _TASK),
    "wrap the previous spec": _loop(lambda text, feedback: f"This task failed:\n{text}\n\nWhy: {feedback}. Fix it."),
    "keep only the last failure": _loop(lambda text, feedback: f"{_TASK}\n\nThe last attempt failed: {feedback}"),
}


def measure(*, quick: bool = False) -> Part:
    """Count solver and verifier calls of every strategy on every case. Nothing here is timed."""
    rows = [
        {"case": case, **{name: _told(make(), run) for name, run in STRATEGIES.items()}} for case, make in CASES.items()
    ]
    return Part(
        title=f"Recovery: solver + verifier calls until accepted or halted ({_ATTEMPTS} attempts at most)",
        rows=rows,
        notes=["! accepted, x given up. A loop that gives up has spent every attempt; the engine says why it halts."],
    )


def _told(case: Case, run: Strategy) -> str:
    outcome = run(case)
    mark = "!" if outcome == "accepted" else "x"
    why = "" if outcome in ("accepted", "exhausted", "recovery_exhausted") else f" {outcome}"
    return f"{mark} {len(case.texts)}+{case.verifications}{why}"
