"""A small tree under a reviewer: parts for tests of reviews."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from langgraph_recursive.graph.builder import create_recursive_solver
from langgraph_recursive.nodes.policy import SolvePolicy
from langgraph_recursive.state.brief import TaskBrief
from langgraph_recursive.state.decisions import ReviewContext
from langgraph_recursive.state.report import NextStepSuggestion, TaskReport, Validation, answer_report
from langgraph_recursive.state.review import ReviewDecision, TaskReview
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.task_state import TaskState
from langgraph_recursive.state.verdict import ValidationResult, Verdict, accept, reject

__all__ = ("CONFIG", "Tree", "brief", "decide", "partial", "suggesting")

CONFIG: Any = {"configurable": {"thread_id": "reviews"}}

Decide = Callable[[TaskReport, ValidationResult, ReviewContext], TaskReview]


def brief(objective: str, **fields: Any) -> TaskBrief:
    """A brief with everything it needs."""
    needed = {"reason": "it is needed", "completion_criteria": ["it is done"], "expected_outputs": ["it"]}
    return TaskBrief.model_validate({"objective": objective, **needed, **fields})


def decide(decision: str, reason: str = "because", task: TaskBrief | None = None) -> TaskReview:
    """A review."""
    return TaskReview(decision=ReviewDecision(decision), reason=reason, approved_next_task=task)


def partial(text: str) -> TaskReport:
    """An answer that says itself that it is not finished."""
    return TaskReport(summary=text, outcome="partial", validation=Validation(), outputs=[{"text": text}])


def suggesting(text: str, direction: Any, task: TaskBrief | None) -> TaskReport:
    """An answer with a suggestion."""
    suggestion = NextStepSuggestion(direction=direction, suggested_next_task=task, reason="it helps")
    return answer_report(text).model_copy(update={"next_step_suggestion": suggestion})


class Tree:
    """A solver over a fixed tree, whose reviewer answers from a table, and what became of it.

    Args:
        plans: What each objective is split into.
        reviews: By the attempt that reports, the decision: a review, its name, or a list for one ask after the other.
            What is not in it is accepted.
        bad: Attempts whose answer is rejected, each with a defect of its own.
        answers: What the solver gives for an attempt, in place of its own id; an exception is raised.
        options: Fields of the policy, or arguments of `create_recursive_solver`.
    """

    def __init__(
        self,
        plans: Mapping[str, Any],
        reviews: Mapping[str, Any] | None = None,
        *,
        bad: Sequence[str] = (),
        answers: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self.plans = {name: iter([plan]) if not _several(plan) else iter(plan) for name, plan in plans.items()}
        self.reviews = {name: iter(_listed(review)) for name, review in (reviews or {}).items()}
        self.bad = set(bad)
        self.answers = dict(answers or {})
        self.tasks: list[Task] = []
        self.seen: list[tuple[TaskReport, ValidationResult, ReviewContext]] = []
        policy = {"max_attempts": 1, **{name: options.pop(name) for name in list(options) if name in POLICY}}
        parts: dict[str, Any] = {
            "solver": self.solve,
            "decomposer": self.decompose,
            "aggregator": lambda task, results: "+".join(results),
            "atomizer": lambda task: task.brief.objective not in self.plans,
            "verifiers": [self.check],
            "reviewer": self.review,
            "checkpointer": InMemorySaver(),
        }
        self.graph: Any = create_recursive_solver(**{**parts, **options}, policy=SolvePolicy(**policy))

    def decompose(self, task: Task) -> list[Any]:
        return list(next(self.plans.get(task.brief.objective, iter(())), []))

    def solve(self, task: Task) -> Any:
        self.tasks.append(task)
        answer = self.answers.get(task.id, task.id)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def check(self, task: Task) -> Verdict:
        return reject(f"defect {task.attempt} of {task.brief.objective}") if task.id in self.bad else accept()

    def review(self, report: TaskReport, result: ValidationResult, ctx: ReviewContext) -> TaskReview:
        self.seen.append((report, result, ctx))
        answer = next(self.reviews.get(report.child_task_id, iter(())), None)
        if answer is None:
            answer = "REJECT_REFINE" if result.outcome == "passed" else "FAIL"
        return decide(answer) if isinstance(answer, str) else answer

    @property
    def ran(self) -> list[str]:
        """Attempts that were solved."""
        return sorted(task.id for task in self.tasks)

    @property
    def reviewed(self) -> list[str]:
        """Attempts that were put to the reviewer, in order."""
        return [report.child_task_id for report, _, _ in self.seen]

    @property
    def asked(self) -> Counter[str]:
        """How often each was."""
        return Counter(self.reviewed)

    def task(self, task_id: str) -> Task:
        """What an attempt's solver was given."""
        return next(task for task in self.tasks if task.id == task_id)

    def ctx(self, task_id: str) -> ReviewContext:
        """What the reviewer saw of an attempt."""
        return next(ctx for report, _, ctx in self.seen if report.child_task_id == task_id)

    @property
    def state(self) -> TaskState:
        """The root's state."""
        return TaskState.model_validate(self.graph.get_state(CONFIG).values["state"])

    @property
    def decisions(self) -> list[tuple[str, str]]:
        """The root's reviews."""
        return [(review.child_task_id, review.decision.value) for review in self.state.reviews]


POLICY = frozenset(SolvePolicy.model_fields)


def _several(plan: Sequence[Any]) -> bool:
    return bool(plan) and isinstance(plan[0], list)


def _listed(review: Any) -> list[Any]:
    return review if isinstance(review, list) else [review]
