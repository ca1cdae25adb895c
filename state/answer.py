"""Answers as parts get them: a text that carries its report."""

from __future__ import annotations

from .report import TaskReport

__all__ = ("Answer",)


class Answer(str):
    """The text of a report, so that a verifier or an aggregator can treat it as a plain string.

    Attributes:
        report: The report it is the text of.
        task_id: The attempt that made it.
        task: That task's objective.
    """

    report: TaskReport
    task_id: str
    task: str

    __slots__ = ("report", "task", "task_id")

    def __new__(cls, report: TaskReport, *, task: str = "") -> Answer:
        """Make the answer of a report."""
        answer = super().__new__(cls, report.text)
        answer.report = report
        answer.task_id = report.child_task_id
        answer.task = task
        return answer

    def __reduce__(self) -> tuple[object, ...]:
        return _answer, (self.report, self.task)


def _answer(report: TaskReport, task: str) -> Answer:
    return Answer(report, task=task)
