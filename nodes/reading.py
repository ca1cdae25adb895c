"""Reading context references: granted, accounted, and shown to validators as far as it was really read."""

from __future__ import annotations

import functools
import uuid
from dataclasses import dataclass

from langgraph_recursive.state._model import sha256
from langgraph_recursive.state.brief import ContextRef
from langgraph_recursive.state.context_reads import ContextRead, ref_name
from langgraph_recursive.state.errors import ContextReadError
from langgraph_recursive.state.materials import Entry
from langgraph_recursive.state.owner import Owner
from langgraph_recursive.state.task import Task
from langgraph_recursive.state.task_state import TaskState

from .allowance import call_reads
from .context import CallFailed, Context, current_context
from .context_store import ContextStore
from .meter import calls_no_model

__all__ = ("Page", "aread_context", "aread_page", "entries_read", "read_context", "read_page", "readable_refs")


def read_context(task: Task, ref: ContextRef, *, offset: int = 0, limit: int | None = None) -> str:
    """Read a granted snapshot, or a part of it, from inside a component that is called by a solver.

    Every character read counts against `SolvePolicy.max_context_chars`.

    Args:
        task: The task at work, as the component got it.
        ref: A reference from `task.brief.context_refs`.
        offset: Where to begin, in characters.
        limit: How many characters; None reads to the end.

    Raises:
        ContextReadError: The reference was not granted, there is no such snapshot, or the allowance is too small.
    """
    _check_task(task)
    return read_page(ref, offset=offset, limit=limit).text


async def aread_context(task: Task, ref: ContextRef, *, offset: int = 0, limit: int | None = None) -> str:
    """Read a granted snapshot on this event loop; see `read_context`."""
    _check_task(task)
    return (await aread_page(ref, offset=offset, limit=limit)).text


@dataclass(frozen=True)
class Page:
    """A part of a snapshot.

    Attributes:
        text: Its characters.
        offset: Where it begins.
        size: Characters of the whole snapshot.
        left: What the task may still read.
    """

    text: str
    offset: int
    size: int
    left: int


def read_page(ref: ContextRef, *, offset: int = 0, limit: int | None = None) -> Page:
    """Read a page for the task at work; see `read_context`."""
    reading = _Reading.granted(ref, offset, limit)
    return reading.page(reading.store.get(ref, reading.owner))


async def aread_page(ref: ContextRef, *, offset: int = 0, limit: int | None = None) -> Page:
    """Read a page on this event loop; see `read_context`."""
    reading = _Reading.granted(ref, offset, limit)
    return reading.page(await reading.store.aget(ref, reading.owner))


def _check_task(task: Task) -> None:
    context = current_context()
    if context is not None and (context.task is None or context.task.id != task.id):
        raise ContextReadError(f"task {task.id} is not at work here", field="task")


@dataclass(frozen=True)
class _Reading:
    """One read: what comes before and after the store is asked, the same in both worlds."""

    context: Context
    store: ContextStore
    owner: Owner
    ref: ContextRef
    offset: int
    limit: int | None

    @classmethod
    def granted(cls, ref: ContextRef, offset: int, limit: int | None) -> _Reading:
        """Make sure that the task at work may read this.

        The grants are those of the brief that the framework keeps, not of what a component holds in its hands.
        """
        context = current_context()
        if context is None or context.task is None or call_reads.get() is None:
            raise ContextReadError("context references are read inside a component that a solver calls", field="ref")
        if context.plan is not None:
            raise ContextReadError("validators read no context references, only what the task has read", field="ref")
        store, owner = context.contexts, context.task.owner
        if store is None or owner is None:
            raise ContextReadError("the solver has no context_store", field="context_store")
        if ref not in context.task.brief.context_refs:
            granted = ", ".join(map(ref_name, context.task.brief.context_refs)) or "none"
            raise _refused(ref, f"was not granted to task {context.task.id}; granted are: {granted}")
        if offset < 0 or (limit is not None and limit < 1):
            raise _refused(ref, f"offset = {offset}, limit = {limit}: offset counts from 0, limit is at least 1")
        return cls(context, store, owner, ref, offset, limit)

    def page(self, whole: str | None) -> Page:
        """Cut out the page, and book and record it."""
        if whole is None:
            raise _refused(self.ref, "is unknown: there is no such snapshot for this root and user")
        if self.offset >= len(whole):
            raise _refused(self.ref, f"has {len(whole)} characters: offset {self.offset} is behind its end")
        end = len(whole) if self.limit is None else self.offset + self.limit
        text = whole[self.offset : end]
        task, limit, run = self.context.attempt, self.context.policy.max_context_chars, self.context.run
        left = run.allowances.take(task, len(text), limit=limit)
        if left is None:
            still = run.allowances.left(task, limit=limit)
            reason = f"{len(text)} characters are over the task's allowance: {still} of {limit} are left"
            raise _refused(self.ref, reason)
        reads = call_reads.get()
        assert reads is not None, "granted made sure"
        reads.append(
            ContextRead(
                id=uuid.uuid4().hex,
                ref_id=self.ref.ref_id,
                version=self.ref.version,
                offset=self.offset,
                chars=len(text),
                sha256=sha256(text),
                attempt=task.attempt,
            )
        )
        return Page(text, self.offset, len(whole), left)


def _refused(ref: ContextRef, reason: str) -> ContextReadError:
    return ContextReadError(f"context reference {ref_name(ref)} {reason}", field="ref", value=ref_name(ref))


def readable_refs(task: Task) -> list[ContextRef]:
    """The references that a task may read here and now; none without a store to read them from."""
    context = current_context()
    return list(task.brief.context_refs) if context is not None and context.contexts is not None else []


async def entries_read(state: TaskState, context: Context) -> list[Entry]:
    """What this attempt really read, for its validators; references that it did not read are not opened for them."""
    store, owner = context.contexts, context.attempt.owner
    reads = [read for read in state.context_reads if read.attempt == context.attempt.attempt]
    if store is None or owner is None:
        return []
    wholes: dict[ContextRef, str | None] = {}
    for ref in dict.fromkeys(read.ref for read in reads):
        try:
            wholes[ref] = await context.call_anew("context", calls_no_model(functools.partial(store.get, ref, owner)))
        except CallFailed:
            wholes[ref] = None
    return [_entry(read, wholes[read.ref]) for read in dict.fromkeys(reads)]


def _entry(read: ContextRead, whole: str | None) -> Entry:
    text = (whole or "")[read.offset : read.offset + read.chars]
    if sha256(text) != read.sha256:
        text = "(what was read cannot be shown any more)"
    return Entry(
        kind="context_read", source=f"{ref_name(read.ref)}:{read.offset}-{read.offset + read.chars}", text=text
    )
