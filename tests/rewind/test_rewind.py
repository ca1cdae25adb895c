"""A task goes back to a point it was at; what it, those above it and those that need it make is made again, no more."""

from __future__ import annotations

import asyncio
import copy
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from langgraph_recursive.graph import RewindPoint, arewind, open_sqlite, rewind
from langgraph_recursive.state.errors import (
    ComponentError,
    InvalidInputError,
    MissingThreadError,
    RecursiveSolverError,
    UnknownTaskError,
    UnknownThreadError,
    UnreachedPointError,
    WrongSaverError,
)
from langgraph_recursive.state.goal import GoalStatus, goal_status
from langgraph_recursive.state.ids import is_under, root_ref
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.task_state import TaskState
from langgraph_recursive.state.verdict import Verdict, accept, reject
from review_kit import decide
from rewind_kit import ANSWER, CONFIG, TREE, Work, task_ids
from saver_kinds import ALL_KINDS, SQLITE, SaverKind

POINTS: tuple[RewindPoint, ...] = get_args(RewindPoint)
SPLIT: set[RewindPoint] = {"admit", "decompose", "subtasks", "review", "aggregate", "verify"}
LEAF: set[RewindPoint] = {"admit", "decompose", "solve", "verify"}
FIX: set[RewindPoint] = {"admit", "solve", "verify"}

REACHED = {
    **{task: SPLIT if task in ("t", "t.1", "t.1.1", "t.3") else LEAF for task in TREE},
    "t.1.1.2_fix_1": FIX,
}
"""Every attempt of the first run, and the points it came to."""

BEGINS_CHILDREN: set[RewindPoint] = {"admit", "decompose", "subtasks"}
NEEDED_BY = {"t.1": ["t.2"], "t.1.1": ["t.1.2", "t.2"]}


def above(task_id: str) -> list[str]:
    """The tasks above one, and itself."""
    parts = root_ref(task_id).split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts) + 1)]


def concerned(task_id: str) -> set[str]:
    """Who must run again: the task, those above it, and those that need their results."""
    return {task for name in above(task_id) for task in (name, *NEEDED_BY.get(name, ()))}


class Ran:
    """A finished run of the tree that may be rewound: each test gets a copy."""

    def __init__(self) -> None:
        work = Work()
        self.saver = InMemorySaver()
        self.result = work.solver(self.saver).invoke("job", CONFIG)
        self.calls = Counter(work.calls)

    def copy(self) -> InMemorySaver:
        saver = InMemorySaver()
        for name in ("storage", "writes", "blobs"):
            getattr(saver, name).update(copy.deepcopy(getattr(self.saver, name)))
        return saver


@pytest.fixture(scope="module")
def ran() -> Ran:
    ran = Ran()
    assert ran.result["output"] == ANSWER
    return ran


def check_again(work: Work, before: Ran, again: str, result: dict[str, Any]) -> None:
    """Right answer; spend adds up; no attempt's call is made twice, so no id names two things."""
    assert result["output"] == ANSWER
    assert result["success"]
    assert result["halt"] is None
    assert result["usage"].calls == before.calls.total() + work.calls.total()
    assert max(work.calls.values()) == 1
    assert not work.calls.keys() & before.calls.keys()
    attempts = [attempt.id for attempt in result["attempts"]]
    assert len(set(attempts)) == len(attempts)
    assert task_ids(before.result) | {again} <= task_ids(result)


class TestEveryTaskToEveryPoint:
    @pytest.mark.parametrize("task_id", REACHED)
    def test_of_a_finished_run(self, task_id: str, ran: Ran) -> None:
        for to in POINTS:
            work, saver = Work(), ran.copy()
            solver = work.solver(saver)
            if to not in REACHED[task_id]:
                with pytest.raises(UnreachedPointError) as caught:
                    rewind(solver, CONFIG, task_id, to)
                assert caught.value.field == "to"
                assert caught.value.value == to
                continue
            again = rewind(solver, CONFIG, task_id, to)
            assert not work.calls
            check_again(work, ran, again, solver.invoke(None, CONFIG))
            self.check_calls(work, task_id, again, to)

    @staticmethod
    def check_calls(work: Work, task_id: str, again: str, to: RewindPoint) -> None:
        below = {chain for chain in work.chains if chain.startswith(f"{again}.")}
        assert work.chains - below == concerned(task_id)  # the cousins' calls are zero
        assert bool(below) == (to in BEGINS_CHILDREN and REACHED[task_id] is SPLIT)
        own = {role for name, role in work.calls if name == again}
        makes = "aggregate" if REACHED[task_id] is SPLIT else "solve"
        expected = {"verify"} if to == "verify" else {"verify", makes}
        if to in ("admit", "decompose"):
            expected |= {"atomize"} if REACHED[task_id] is not FIX else set()
            expected |= {"decompose"} if REACHED[task_id] is SPLIT else set()
        assert own == expected
        for name in set(above(task_id)) - {root_ref(task_id)}:
            assert {role for call, role in work.calls if root_ref(call) == name} == {"aggregate", "verify"}

    @pytest.mark.parametrize("task_id", ["t.1", "t.1.1.1", "t.1.1.2_fix_1", "t.3.1"])
    def test_where_only_the_newest_checkpoints_are_kept(self, task_id: str, ran: Ran, tmp_path: Path) -> None:
        """Our SQLite saver's default: what a task was before is worked out from what it came to."""
        with open_sqlite(tmp_path / "all.db") as saver:
            Work().solver(saver).invoke("job", CONFIG)
        for to in POINTS:
            work, copied = Work(), shutil.copy(tmp_path / "all.db", tmp_path / f"{to}.db")
            with open_sqlite(copied) as saver:
                solver = work.solver(saver)
                if to not in REACHED[task_id]:
                    with pytest.raises(UnreachedPointError):
                        rewind(solver, CONFIG, task_id, to)
                    continue
                again = rewind(solver, CONFIG, task_id, to)
                check_again(work, ran, again, solver.invoke(None, CONFIG))
            self.check_calls(work, task_id, again, to)

    def test_what_was_not_kept_is_out_of_reach(self, work: Work, tmp_path: Path) -> None:
        plans: Iterator[list[str]] = iter([["one", "two"], ["three"]])
        work.rejects = lambda task: task.brief.objective == "two"
        options: dict[str, Any] = {
            "atomizer": lambda task: task.brief.objective not in ("short", "plan"),
            "decomposer": lambda task: next(plans) if task.depth else ["plan", "side"],
        }
        with open_sqlite(tmp_path / "db") as saver:
            solver = work.solver(saver, **options, policy={"on_child_failure": "replan", "max_attempts": 1})
            assert solver.invoke("short", CONFIG)["output"] == "((one+three)+side)"
            with pytest.raises(UnreachedPointError, match="nested_history"):
                rewind(solver, CONFIG, "t.1.2")
            assert rewind(solver, CONFIG, "t.1.3") == "t.1.3_fix_1"
            assert solver.invoke(None, CONFIG)["output"] == "((one+three)+side)"

    @pytest.mark.parametrize("kind", ALL_KINDS)
    @pytest.mark.parametrize(("task_id", "to"), [("t.1.1.2", "admit"), ("t.3", "review"), ("t", "verify")])
    async def test_on_every_saver(self, kind: SaverKind, task_id: str, to: RewindPoint, tmp_path: Path) -> None:
        before, location = Ran(), kind.new_location(tmp_path)
        first, work = Work(), Work()
        async with kind.open_async(location) as saver:
            await first.solver(saver).ainvoke("job", CONFIG)
        async with kind.open_async(location) as saver:
            solver = work.solver(saver)
            again = await arewind(solver, CONFIG, task_id, to)
            check_again(work, before, again, await solver.ainvoke(None, CONFIG))
        assert {chain for chain in work.chains if not is_under(chain, again)} <= concerned(task_id)

    @pytest.mark.parametrize("kind", ALL_KINDS)
    def test_on_every_sync_saver(self, kind: SaverKind, ran: Ran, tmp_path: Path) -> None:
        location = kind.new_location(tmp_path)
        first, work = Work(), Work()
        with kind.open_sync(location) as saver:
            first.solver(saver).invoke("job", CONFIG)
        with kind.open_sync(location) as saver:
            solver = work.solver(saver)
            again = rewind(solver, CONFIG, "t.1.1", "aggregate")
            check_again(work, ran, again, solver.invoke(None, CONFIG))
        assert work.chains == concerned("t.1.1")


class TestNumbers:
    def test_twice_in_a_row(self, ran: Ran) -> None:
        work = Work()
        solver = work.solver(ran.copy())
        names, usage = [], [ran.result["usage"].calls]
        for _ in range(3):
            names.append(rewind(solver, CONFIG, "t.1.1.2"))
            result = solver.invoke(None, CONFIG)
            assert result["output"] == ANSWER
            usage.append(result["usage"].calls)
        assert names == ["t.1.1.2_fix_2", "t.1.1.2_fix_3", "t.1.1.2_fix_4"]
        assert max(work.calls.values()) == 1
        assert usage[-1] == ran.calls.total() + work.calls.total()
        assert [attempt.id for attempt in result["attempts"]] == ["t", "t_fix_1", "t_fix_2", "t_fix_3"]
        assert [attempt.rewound for attempt in result["attempts"]] == [True, True, True, False]

    def test_what_was_rewound_can_be_rewound(self, ran: Ran) -> None:
        work = Work()
        solver = work.solver(ran.copy())
        task_id = "t.3.1"
        for number in (1, 2, 3):
            task_id = rewind(solver, CONFIG, task_id, "solve")
            assert task_id == f"t.3.1_fix_{number}"
            assert solver.invoke(None, CONFIG)["output"] == ANSWER
        assert work.chains == {"t", "t.3", "t.3.1"}

    def test_two_tasks_before_the_run_goes_on(self, ran: Ran) -> None:
        work = Work()
        solver = work.solver(ran.copy())
        rewind(solver, CONFIG, "t.1.2", "solve")
        rewind(solver, CONFIG, "t.3.1", "solve")
        check_again(work, ran, "t.3.1_fix_1", solver.invoke(None, CONFIG))
        assert work.chains == {"t", "t.1", "t.1.2", "t.2", "t.3", "t.3.1"}
        assert work.calls["t.1.2_fix_1", "solve"] == 1

    def test_one_task_twice_before_the_run_goes_on(self, ran: Ran) -> None:
        work = Work()
        solver = work.solver(ran.copy())
        assert rewind(solver, CONFIG, "t.1.1.1") == "t.1.1.1_fix_1"
        assert rewind(solver, CONFIG, "t.1.1.1") == "t.1.1.1_fix_2"
        check_again(work, ran, "t.1.1.1_fix_2", solver.invoke(None, CONFIG))

    def test_what_waits_to_be_verified_runs_again_when_its_dependency_is_taken_back(self, work: Work, ran: Ran) -> None:
        solver = work.solver(ran.copy())
        rewind(solver, CONFIG, "t.2", "verify")
        rewind(solver, CONFIG, "t.1.2", "solve")
        check_again(work, ran, "t.1.2_fix_1", solver.invoke(None, CONFIG))
        assert work.calls["t.2_fix_2", "solve"] == 1

    def test_a_start_leaves_nothing_waiting(self, work: Work, ran: Ran) -> None:
        solver = work.solver(ran.copy())
        rewind(solver, CONFIG, "t.1.2", "verify")
        assert solver.invoke(None, CONFIG)["output"] == ANSWER
        assert rewind(solver, CONFIG, "t_fix_1") == "t_fix_2"
        rewind(solver, CONFIG, "t.1.1.2", "solve")
        assert solver.invoke(None, CONFIG)["output"] == ANSWER
        assert max(work.calls.values()) == 1

    def test_rewound_attempts_do_not_count_in_max_attempts(self) -> None:
        """With two attempts, each of which is rejected differently, the last one is rewound: there is one more."""
        work, saver = Work(), InMemorySaver()
        wrong = {"t.3.1": True}

        def check(task: Task) -> Verdict:
            work.count("verify", task)
            return reject(f"defect {task.attempt}") if root_ref(task.id) in wrong else accept()

        solver = work.solver(saver, verifiers=[check], policy={"max_attempts": 2})
        assert solver.invoke("job", CONFIG)["halt"].child.child.type == "recovery_exhausted"
        assert rewind(solver, CONFIG, "t.3.1") == "t.3.1_fix_2"
        assert solver.invoke(None, CONFIG)["halt"].child.child.task_id == "t.3.1_fix_3"  # as often as the first time
        assert rewind(solver, CONFIG, "t.3.1_fix_3") == "t.3.1_fix_4"
        assert solver.invoke(None, CONFIG)["halt"].child.child.task_id == "t.3.1_fix_4"
        wrong.clear()
        rewind(solver, CONFIG, "t.3.1_fix_4")
        assert solver.invoke(None, CONFIG)["output"] == ANSWER

    def test_the_failures_known_at_that_point_are(self, ran: Ran) -> None:
        seen: dict[str, Task] = {}
        work = Work()
        work.breaks = lambda task, role: seen.update({task.id: task})
        solver = work.solver(ran.copy())
        rewind(solver, CONFIG, "t.1.1.2")
        solver.invoke(None, CONFIG)
        assert seen["t.1.1.2_fix_2"].prior_failures == []
        assert "not yet" not in seen["t.1.1.2_fix_2"].spec
        rewind(solver, CONFIG, "t.1.1.2_fix_1")
        solver.invoke(None, CONFIG)
        assert [failure.attempt for failure in seen["t.1.1.2_fix_3"].prior_failures] == [1]
        assert "not yet" in seen["t.1.1.2_fix_3"].spec
        assert seen["t.1.1.2_fix_3"].spec.count(seen["t.1.1.2_fix_2"].spec) == 1

    def test_a_new_task_on_the_thread_starts_clean(self, ran: Ran) -> None:
        work = Work()
        solver = work.solver(ran.copy())
        rewind(solver, CONFIG, "t.3.1")
        solver.invoke(None, CONFIG)
        done = work.calls.total()
        result = solver.invoke("job", CONFIG)
        assert result["output"] == ANSWER
        assert [attempt.id for attempt in result["attempts"]] == ["t"]
        assert result["total_usage"].calls == ran.calls.total() + work.calls.total()
        assert result["usage"].calls == work.calls.total() - done
        with pytest.raises(UnknownTaskError):
            rewind(solver, CONFIG, "t.3.1_fix_1")  # of the run before


class Broke:
    """A component that breaks the machinery at one call, as a crash would."""

    def __init__(self, task_id: str, role: str = "solve") -> None:
        self.at: tuple[str, str] | None = (task_id, role)

    def __call__(self, task: Task, role: str) -> None:
        if (task.id, role) == self.at:
            self.at = None
            raise ComponentError("the machinery broke")


def driven(solver: Any, given: Any, in_async: bool) -> Any:
    return asyncio.run(solver.ainvoke(given, CONFIG)) if in_async else solver.invoke(given, CONFIG)


@pytest.mark.parametrize("in_async", [False, True], ids=["invoke", "ainvoke"])
class TestUnfinished:
    @pytest.mark.parametrize("task_id", ["t", "t.1", "t.1.1.1", "t.1.2", "t.3", "t.3.1"])
    @pytest.mark.parametrize("broken", ["t.1.2", "t.3.2"])
    def test_a_killed_run(self, work: Work, task_id: str, broken: str, in_async: bool) -> None:
        solver = work.solver(InMemorySaver())
        work.breaks = Broke(broken)
        with pytest.raises(ComponentError):
            driven(solver, "job", in_async)
        before = Counter(work.calls)
        work.calls.clear()
        rewind(solver, CONFIG, task_id)
        result = driven(solver, None, in_async)
        assert result["output"] == ANSWER
        assert result["usage"].calls == before.total() + work.calls.total()
        assert not before.keys() & work.calls.keys()  # nothing that was finished is done again, also by cousins
        assert max(work.calls.values()) == 1

    def test_a_crash_while_the_run_goes_on(self, work: Work, ran: Ran, in_async: bool) -> None:
        saver = ran.copy()
        solver = work.solver(saver)
        again = rewind(solver, CONFIG, "t.1")
        for at in [(f"{again}.1.1", "verify"), (again, "aggregate"), ("t_fix_1", "verify")]:
            work.breaks = Broke(*at)
            with pytest.raises(ComponentError):
                driven(solver, None, in_async)
        check_again(work, ran, again, driven(solver, None, in_async))

    def test_a_crash_then_another_rewind(self, work: Work, ran: Ran, in_async: bool) -> None:
        solver = work.solver(ran.copy())
        rewind(solver, CONFIG, "t.1", "subtasks")
        work.breaks = Broke("t.1_fix_1.2")
        with pytest.raises(ComponentError):
            driven(solver, None, in_async)
        assert rewind(solver, CONFIG, "t.1_fix_1.1.2") == "t.1_fix_1.1.2_fix_1"
        check_again(work, ran, "t.1_fix_1.1.2_fix_1", driven(solver, None, in_async))

    def test_an_interrupted_run(self, work: Work, in_async: bool) -> None:
        def solve(task: Task) -> str:
            answer = interrupt("go on?") if task.id == "t.3.2" else ""
            return work.solve(task) + str(answer)

        solver = work.solver(InMemorySaver(), solver=solve)
        assert driven(solver, "job", in_async)["__interrupt__"]
        before = Counter(work.calls)
        work.calls.clear()
        assert rewind(solver, CONFIG, "t.3.1") == "t.3.1_fix_1"
        assert driven(solver, None, in_async)["__interrupt__"]
        result = driven(solver, Command(resume=""), in_async)
        assert result["output"] == ANSWER
        assert not before.keys() & work.calls.keys()
        assert work.chains == {"t.3.1", "t.3.2", "t.3", "t"}

    def test_a_halted_run(self, work: Work, in_async: bool) -> None:
        """Who was stopped because the rewound task failed goes on."""
        work.rejects = lambda task: task.brief.objective == "left two"
        solver = work.solver(InMemorySaver())
        assert driven(solver, "job", in_async)["halt"].type == "child_failed"
        work.rejects = lambda task: False
        before = Counter(work.calls)
        work.calls.clear()
        rewind(solver, CONFIG, "t.1.2")
        result = driven(solver, None, in_async)
        assert result["output"] == ANSWER
        assert result["halt"] is None
        assert result["partial"] == []
        assert not before.keys() & work.calls.keys()
        assert result["usage"].calls == before.total() + work.calls.total()

    def test_who_was_stopped_for_it_goes_on(self, work: Work, in_async: bool) -> None:
        """`left one` and its children had been finished when `other` failed; `left two` was cut off."""
        cut_off = threading.Event()

        async def solve(task: Task) -> str:
            if task.brief.objective == "other two":
                assert await asyncio.to_thread(cut_off.wait, 10)
                raise ValueError("broken")
            if task.id == "t.1.2":
                cut_off.set()
                await asyncio.sleep(1)
            return work.solve(task)

        solver = work.solver(InMemorySaver(), solver=solve)
        result = driven(solver, "job", in_async)
        assert result["halt"].child.task_id == "t.3"
        assert ("t.1", "aggregate") not in work.calls
        before = Counter(work.calls)
        work.calls.clear()
        rewind(work.solver(solver.checkpointer), CONFIG, "t.3.2")
        result = driven(work.solver(solver.checkpointer), None, in_async)
        assert result["output"] == ANSWER
        assert not {call for call in work.calls if is_under(call[0], "t.1.1")}
        assert ("t.1", "aggregate") in work.calls
        assert len(before.keys() & work.calls.keys()) <= 1  # in sync the call that was in flight had ended


class TestReviews:
    """Reports, reviews and approved actions after the point are gone."""

    def solver(self, work: Work, saver: Any, decisions: dict[str, str], asked: list[str]) -> Any:
        def review(report: Any, result: Any, ctx: Any) -> Any:
            asked.append(report.child_task_id)
            names = {decision.value for decision in ctx.allowed}
            usual = "ASCEND" if "ASCEND" in names else "REJECT_REFINE"
            return decide(decisions.pop(report.child_task_id, usual if result.outcome == "passed" else "FAIL"))

        return work.solver(saver, reviewer=review)

    @staticmethod
    def state(solver: Any) -> TaskState:
        return TaskState.model_validate(solver.get_state(CONFIG).values["state"])

    def test_a_rewound_pending_report_is_pending_again(self, work: Work) -> None:
        asked: list[str] = []
        solver = self.solver(work, InMemorySaver(), {}, asked)
        solver.invoke("job", CONFIG)
        asked.clear()
        work.calls.clear()
        rewind(solver, CONFIG, "t", "review")
        state = self.state(solver)
        assert state.reviews == []
        assert set(state.children) == {"t.1", "t.2", "t.3"}
        assert goal_status(state) is GoalStatus.PENDING_REVIEW
        assert solver.invoke(None, CONFIG)["output"] == ANSWER
        assert sorted(asked) == ["t.1", "t.2", "t.3"]
        assert work.chains == {"t"}

    def test_cousins_reports_are_pending_again(self, work: Work) -> None:
        asked: list[str] = []
        solver = self.solver(work, InMemorySaver(), {}, asked)
        solver.invoke("job", CONFIG)
        asked.clear()
        rewind(solver, CONFIG, "t.3.1", "solve")
        state = self.state(solver)
        assert state.reviews == []
        assert set(state.children) == {"t.1", "t.2"}
        assert goal_status(state) is GoalStatus.WAITING_CHILDREN
        assert state.report is None
        assert solver.invoke(None, CONFIG)["output"] == ANSWER
        assert sorted(asked) == ["t.1", "t.2", "t.3.1_fix_1", "t.3.2", "t.3_fix_1"]

    def test_a_revision_after_the_point_is_gone_but_its_number_is_not(self, work: Work) -> None:
        asked: list[str] = []
        decisions = {"t.3": "REVISE_CHILD"}
        work.rejects = lambda task: task.id == "t.3"
        solver = self.solver(work, InMemorySaver(), decisions, asked)
        first = solver.invoke("job", CONFIG)
        assert first["output"] == ANSWER, first["halt"]
        assert "t.3_fix_1" in task_ids(first)
        before = Counter(work.calls)
        rewind(solver, CONFIG, "t", "review")
        state = self.state(solver)
        assert state.revisions == {}
        assert state.report_history == []
        assert not state.children["t.3"].passed or state.children["t.3"].report.child_task_id == "t.3_fix_1"
        decisions.update({state.children["t.3"].report.child_task_id: "REVISE_CHILD"})
        work.calls.clear()
        assert solver.invoke(None, CONFIG)["output"] == ANSWER
        assert not before.keys() & work.calls.keys()

    def test_replans_are_rebuilt(self, work: Work) -> None:
        """The child that a replan replaced can be rewound: the replan, and what it made, is gone."""
        plans: Iterator[list[str]] = iter([["one", "two"], ["three"], ["never"]])
        work.rejects = lambda task: task.brief.objective == "two"
        solver = work.solver(
            InMemorySaver(),
            atomizer=lambda task: task.depth > 0,
            decomposer=lambda task: next(plans),
            policy={"on_child_failure": "replan", "max_attempts": 1},
        )
        assert solver.invoke("short", CONFIG)["output"] == "(one+three)"
        work.rejects = lambda task: False
        work.calls.clear()
        rewind(solver, CONFIG, "t.2", "verify")
        state = self.state(solver)
        assert [child.id for child in state.plan] == ["t.1", "t.2"]
        assert state.replans == 0
        assert state.next_child == 3
        assert solver.invoke(None, CONFIG)["output"] == "(one+two)"
        assert work.chains == {"t", "t.2"}


class TestTold:
    def test_trace_event_and_messages(self, ran: Ran) -> None:
        work = Work()
        solver = work.solver(ran.copy())
        rewind(solver, CONFIG, "t.1.1.2", "solve")
        stored = solver.get_state(CONFIG).values
        assert stored.get("output") is None
        assert stored["messages"] == []
        events = []
        for event in solver.stream(None, CONFIG, stream_mode="custom"):
            events.append(event)
        told = {event["task_id"]: event["data"] for event in events if event["type"] == "rewound"}
        assert told == {
            "t_fix_1": {"at": "subtasks", "undone": ["t"]},
            "t.1_fix_1": {"at": "subtasks", "undone": ["t.1"]},
            "t.1.1_fix_1": {"at": "subtasks", "undone": ["t.1.1"]},
            "t.1.1.2_fix_2": {"at": "solve", "undone": ["t.1.1.2", "t.1.1.2_fix_1"]},
        }
        values = solver.get_state(CONFIG).values
        assert [message.content for message in values["messages"]] == [ANSWER]
        state = TaskState.model_validate(values["state"])
        [trace] = [entry for entry in state.log if entry.type == "REWOUND"]
        assert (trace.task_id, trace.depth) == ("t.1.1.2_fix_2", 3)
        assert trace.detail == "t.1.1.2 to solve: goes on as t.1.1.2_fix_2"
        assert state.resume_at is None
        assert state.going_on == {}

    def test_the_trace_is_in_the_result(self, ran: Ran) -> None:
        work = Work()
        solver = work.solver(ran.copy())
        rewind(solver, CONFIG, "t", "verify")
        result = solver.invoke(None, CONFIG)
        assert [trace.task_id for trace in result["traces"] if trace.type == "REWOUND"] == ["t_fix_1"]
        assert len(result["traces"]) == len(ran.result["traces"]) + 2


class TestRefused:
    @pytest.mark.parametrize(
        ("config", "task_id", "to", "error", "field"),
        [
            (CONFIG, "t.9", "admit", UnknownTaskError, "task_id"),
            (CONFIG, "t.2", "aggregate", UnreachedPointError, "to"),
            (CONFIG, "t.2", "recovery", InvalidInputError, "to"),
            ({"configurable": {"thread_id": "never"}}, "t", "admit", UnknownThreadError, "thread_id"),
            ({}, "t", "admit", MissingThreadError, "thread_id"),
        ],
    )
    @pytest.mark.parametrize("in_async", [False, True], ids=["rewind", "arewind"])
    def test_names_field_and_value(
        self,
        ran: Ran,
        config: Any,
        task_id: str,
        to: Any,
        error: type[RecursiveSolverError],
        field: str,
        in_async: bool,
    ) -> None:
        saver = ran.copy()
        solver = Work().solver(saver)
        count = len(list(saver.list(CONFIG)))
        call: Callable[..., Any] = (lambda *args: asyncio.run(arewind(*args))) if in_async else rewind
        with pytest.raises(error) as caught:
            call(solver, config, task_id, to)
        assert caught.value.field == field
        assert len(list(saver.list(CONFIG))) == count
        if error is UnknownTaskError:
            assert "t.1.1.2_fix_1" in str(caught.value)

    def test_without_a_saver(self) -> None:
        with pytest.raises(MissingThreadError):
            rewind(Work().solver(None), CONFIG, "t")

    def test_an_embedded_solver(self) -> None:
        work = Work()
        inner = work.solver(None)
        builder = StateGraph(MessagesState)
        builder.add_node("inner", inner)
        builder.add_edge(START, "inner")
        saver = InMemorySaver()
        outer = builder.compile(checkpointer=saver)
        outer.invoke({"messages": [HumanMessage("job")]}, CONFIG)
        with pytest.raises(InvalidInputError) as caught:
            rewind(outer, CONFIG, "t")
        assert caught.value.field == "graph"
        with pytest.raises(InvalidInputError) as by_thread:
            rewind(work.solver(saver), CONFIG, "t")
        assert by_thread.value.field == "thread_id"

    def test_a_sync_saver_in_async_and_the_reverse(self, tmp_path: Path) -> None:
        with SQLITE.open_sync(SQLITE.new_location(tmp_path)) as saver:
            solver = Work().solver(saver)
            solver.invoke("job", CONFIG)
            with pytest.raises(WrongSaverError):
                asyncio.run(arewind(solver, CONFIG, "t"))

        async def in_async() -> None:
            async with SQLITE.open_async(SQLITE.new_location(tmp_path)) as saver:
                solver = Work().solver(saver)
                await solver.ainvoke("job", CONFIG)
                with pytest.raises(WrongSaverError):
                    rewind(solver, CONFIG, "t")

        asyncio.run(in_async())
