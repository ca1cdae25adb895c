"""Validation: what independent validators cost for an accepted task, and what the ledger costs for a call.

The validator is a simulated model that passes every check; its tokens are what it was shown and what it answered, four
characters to one. So these are the engine's own figures: a real model's tool rounds and rejections come on top.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr

from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.nodes.ledger import Ledger
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.state.brief import RootTaskAnchor, TaskBrief
from langgraph_recursive.state.budget import Budget
from langgraph_recursive.state.usage import Usage
from table import Part, Target, medians
from trees import balanced, solver_of

__all__ = ("measure",)

_CHILDREN = 3
_CHARS_PER_TOKEN = 4
_SCOPES: tuple[tuple[str, ...], ...] = (("task",), ("output", "task"), ("hypothesis", "output", "task"))
"""Not `evidence`: how many sources a validator opens is the model's."""

_CHECKS = re.compile(r'<quoted kind="checks" scope="(\w+)">\n(.*?)\n</quoted>', re.DOTALL)
_CHECK_ID = re.compile(r"^(\S+) \((?:required|optional)\): ", re.MULTILINE)
_ANCHOR = RootTaskAnchor(objective="Write it", completion_criteria=["it is whole"], constraints=["in English"])
_PLENTY = Budget(max_llm_calls=10**9, max_tokens=10**12, max_cost=1e9, max_tasks=10**6)


class Judge(BaseChatModel):
    """Passes every check that it is asked for, and counts what that takes."""

    _used: list[int] = PrivateAttr(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "judge"

    @property
    def used(self) -> list[int]:
        """Tokens of each call."""
        return self._used

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        shown = "\n".join(str(message.text) for message in messages)
        answer = _passed(shown)
        asked, answered = len(shown) // _CHARS_PER_TOKEN, len(answer) // _CHARS_PER_TOKEN
        self._used.append(asked + answered)
        counted = UsageMetadata(input_tokens=asked, output_tokens=answered, total_tokens=asked + answered)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(answer, usage_metadata=counted))])


def _passed(shown: str) -> str:
    found = _CHECKS.search(shown)
    assert found is not None, "the judge was not asked for checks"
    scope, lines = found.groups()
    checks = [{"check_id": name, "status": "passed", "justification": "seen"} for name in _CHECK_ID.findall(lines)]
    return json.dumps({"scope": scope, "checks": checks})


def measure(*, quick: bool = False) -> Part:
    """Count validator calls and tokens per accepted task, and measure the ledger beside the engine."""
    rows = [_counted(scopes) for scopes in ((), *_SCOPES)]
    ledger, engine, limited = _ledger(quick)
    return Part(
        title=f"Validation: model validators of a root with {_CHILDREN} sub-tasks, all accepted",
        rows=rows,
        targets=[]
        if quick
        else [
            Target("ledger / engine, time per call", round(ledger / engine, 3), 0.05),
            Target("run with every limit / with none", round(limited, 2), 1.1),
        ],
        notes=[
            "tokens: 4 characters each. The root itself is validated at its gate. The ledger reserves and settles",
            f"a call in {1e6 * ledger:.0f} us of CPU; all else that the engine does for one takes {1e6 * engine:.0f}.",
        ],
    )


def _counted(scopes: Sequence[str]) -> dict[str, Any]:
    """Run a small tree whose sub-tasks are validated in these scopes, its root at the gate; without any, nothing is."""
    judge = Judge()

    def plan(depth: int) -> list[TaskBrief]:
        return [_brief(f"part {number}", scopes) for number in range(_CHILDREN)] if depth == 0 else []

    solver = create_recursive_solver(
        solver=lambda task: f"what {task.brief.objective} comes to",
        decomposer=lambda task, depth: plan(depth),
        aggregator=lambda task, results: "\n".join(results),
        policy=SolvePolicy(max_attempts=1),
        validator_model=judge if scopes else None,
    )
    result = solver.invoke({"task": _ANCHOR if scopes else _ANCHOR.objective})
    assert result["success"], result["halt"]
    accepted, calls, tokens = result["usage"].tasks, len(judge.used), sum(judge.used)
    return {
        "scopes of a sub-task": ", ".join(scopes) or "none, and no gate",
        "accepted tasks": accepted,
        "validator calls": calls,
        "calls / task": round(calls / accepted, 2),
        "tokens / task": round(tokens / accepted),
        "tokens / call": round(tokens / calls) if calls else 0,
    }


def _brief(objective: str, scopes: Sequence[str]) -> TaskBrief:
    fields = {"objective": objective, "reason": "a part", "completion_criteria": ["it is whole"]}
    return TaskBrief.model_validate({**fields, "expected_outputs": ["a text"], "validation_scopes": list(scopes)})


def _ledger(quick: bool) -> tuple[float, float, float]:
    """CPU seconds of the ledger and of the engine per call, and how much longer a run with limits takes."""
    tree = balanced(2, 1) if quick else balanced(4, 3)
    bookings = 100 if quick else 20_000

    def booked() -> float:
        ledger, call = Ledger(_PLENTY), Usage(llm_calls=1, output_tokens=500)
        started = time.process_time()
        for _ in range(bookings):
            ledger.reserve(1, call)
            ledger.settle(1, call, call)
        return (time.process_time() - started) / bookings

    def run(budget: Budget) -> float:
        solver = solver_of(tree, budget=budget)
        started = time.process_time()
        result = asyncio.run(solver.ainvoke({"task": tree.text}))
        assert result["success"]
        return (time.process_time() - started) / tree.calls

    run(Budget())
    variants = {"ledger": booked, "free": lambda: run(Budget()), "limited": lambda: run(_PLENTY)}
    found = medians(1 if quick else 7, variants)
    return found["ledger"], found["free"], found["limited"] / found["free"]
