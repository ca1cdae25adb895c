"""TaskTree: the tasks of one run, to look at in a notebook, a terminal or a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from langgraph_recursive.state.errors import UnknownTaskError, UnknownThreadError
from langgraph_recursive.state.ids import root_ref

from .checkpoints import grown_from, source_of
from .growing import GrowingTree
from .html import html_of
from .mermaid import mermaid_of
from .promised import last_run_events
from .result import views_of_result
from .rows import Layout
from .safe import one_line
from .svg import Svg, svg_of
from .text import text_of
from .views import TaskView, summary_of

__all__ = ("TaskTree",)


class TaskTree:
    """The tasks of one run with their attempts, verdicts and evidence.

    A notebook shows it as HTML; `str` draws it as text, `mermaid()` and `svg()` as pictures. From checkpoints it has
    all the evidence; from a result that of the root; from events the beginning of each piece.

    Args:
        roots: The topmost tasks: one, as a rule.
        note: Something to say about the source, such as that it was cut.
        budget: What the run has spent of its limits, by the field of Budget: spent and allowed.
    """

    def __init__(
        self, roots: Iterable[TaskView], note: str = "", budget: Mapping[str, Sequence[float]] | None = None
    ) -> None:
        self.roots = list(roots)
        self.note = note
        self.budget = dict(budget or {})

    @classmethod
    def from_events(cls, events: Iterable[Mapping[str, Any]], *, run_id: str | None = None) -> TaskTree:
        """Read the events of a run, as they were streamed or from `read_events`.

        Args:
            events: In the order in which they were sent. Types that are not known are passed over.
            run_id: The run, where there are events of several; else it is the last one, with its resumes.

        Raises:
            InvalidInputError: An event lacks what its type promises.
        """
        tree = GrowingTree()
        for event in last_run_events(events, run_id):
            tree.feed(event)
        return cls(tree.roots(), getattr(events, "note", ""), tree.budget)

    @classmethod
    def from_result(cls, result: Any) -> TaskTree:
        """Read what `invoke` or `RecursiveTaskSolver.solve` gave. It does not tell what each task took.

        Raises:
            InvalidInputError: It is no result.
        """
        return cls(views_of_result(result))

    @classmethod
    def from_thread(cls, graph: Any, config: RunnableConfig) -> TaskTree:
        """Read the last run of a thread from its checkpoints, while it runs or later.

        Args:
            graph: A solver, or a graph that it is embedded in, with a checkpointer.
            config: Names the thread.

        Raises:
            InvalidInputError: The graph has no checkpointer.
            MissingThreadError: The config names no thread.
            UnknownThreadError: The thread has no task.
        """
        saver, thread = source_of(graph, config)
        return cls._of_checkpoints(saver.list(thread), thread)

    @classmethod
    async def afrom_thread(cls, graph: Any, config: RunnableConfig) -> TaskTree:
        """Read the last run of a thread, as `from_thread` does, with an async saver."""
        saver, thread = source_of(graph, config)
        return cls._of_checkpoints([entry async for entry in saver.alist(thread)], thread)

    @classmethod
    def _of_checkpoints(cls, checkpoints: Iterable[CheckpointTuple], thread: RunnableConfig) -> TaskTree:
        tree = grown_from(checkpoints)
        if tree is None:
            name = thread["configurable"]["thread_id"]
            raise UnknownThreadError(f"thread {name!r} has no task", field="thread_id", value=str(name))
        return cls(tree.roots())

    def __iter__(self) -> Iterator[TaskView]:
        return (task for root in self.roots for task in root.walk())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, task_id: str) -> TaskView:
        """The task that an id belongs to: its own, or that of one of its attempts.

        Raises:
            UnknownTaskError: There is none.
        """
        for task in self:
            if task.id == root_ref(task_id):
                return task
        known = ", ".join(one_line(task.id) for task in self)
        raise UnknownTaskError(
            f"there is no task {task_id!r} in this tree, only {known}", field="task_id", value=task_id
        )

    def summary(self) -> str:
        """The whole run in a few numbers."""
        return " · ".join([*summary_of(self.roots, self.budget), *filter(None, [self.note])])

    def __str__(self) -> str:
        return text_of(self.roots, self.summary())

    def __repr__(self) -> str:
        return f"<TaskTree: {self.summary()}>"

    def html(self) -> str:
        """Write it as HTML: no script, no network, evidence folds out."""
        return html_of(self.roots, self.summary())

    def mermaid(self) -> str:
        """Write it as a Mermaid flowchart."""
        return mermaid_of(self.roots)

    def svg(self) -> Svg:
        """Draw it as SVG."""
        return svg_of(self.roots, self.summary())

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from .terminal import written  # only rich asks

        yield written([*Layout(width=options.max_width).lines(self.roots), [(self.summary(), "soft")]])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": str(self)}
