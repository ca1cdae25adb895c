"""The ledger never lets a run spend more than its budget, whatever runs at once."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from langgraph_recursive.nodes.ledger import Ledger
from langgraph_recursive.state import Usage
from langgraph_recursive.state.budget import Budget

CALL = Usage(llm_calls=1)
STEPS = st.lists(st.tuples(st.sampled_from(["reserve", "settle", "hold", "draw", "release"]), st.integers(0, 3)))


@given(limit=st.integers(1, 8), steps=STEPS)
def test_calls_never_exceed_the_limit_under_any_interleaving(limit: int, steps: list[tuple[str, int]]) -> None:
    ledger = Ledger(Budget(max_llm_calls=limit))
    flying = 0
    for step, number in steps:
        task = f"t.{number}"
        if step == "hold":
            ledger.hold(1, task, Usage(llm_calls=number))
        elif step == "release":
            ledger.release(1, task)
        elif step == "settle" and flying:
            ledger.settle(1, CALL, CALL)
            flying -= 1
        elif step in ("reserve", "draw"):
            flying += ledger.reserve(1, CALL, drawn_by=task if step == "draw" else None) is None
        assert ledger.spent(1).llm_calls + flying <= limit


def test_parallel_threads_spend_exactly_the_limit() -> None:
    ledger = Ledger(Budget(max_llm_calls=64))
    barrier = threading.Barrier(16)
    granted: list[int] = []

    def work() -> None:
        barrier.wait()
        for _ in range(8):
            if ledger.reserve(1, CALL) is None:
                ledger.settle(1, CALL, CALL)
                granted.append(1)

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == ledger.spent(1).llm_calls == 64


def test_what_is_held_for_one_task_nobody_else_can_spend() -> None:
    ledger = Ledger(Budget(max_llm_calls=3))
    assert ledger.hold(1, "t", Usage(llm_calls=2)) is None
    assert ledger.reserve(1, CALL) is None
    assert "kept back" in str(ledger.reserve(1, CALL))
    assert ledger.reserve(1, CALL, drawn_by="t") is None
    ledger.release(1, "t")
    assert ledger.reserve(1, CALL) is None
    assert ledger.reserve(1, CALL) is not None


def test_each_run_has_an_account_of_its_own_and_history_counts() -> None:
    ledger = Ledger(Budget(max_llm_calls=2), {1: Usage(llm_calls=2)})
    assert ledger.reserve(1, CALL) is not None
    assert ledger.reserve(2, CALL) is None


def test_tokens_are_reserved_by_what_a_call_may_write() -> None:
    ledger = Ledger(Budget(max_tokens=100))
    wanted = Usage(output_tokens=60)
    assert ledger.reserve(1, wanted) is None
    assert "max_tokens" in str(ledger.reserve(1, wanted))
    ledger.settle(1, wanted, Usage(input_tokens=10, output_tokens=20))
    assert ledger.reserve(1, wanted) is None
