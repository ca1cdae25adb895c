"""What one run shares across its whole tree: slots, the ledger, stopped tasks, traces.

One `Run` is made by the outermost `stream` or `astream` and travels in the config. Nothing of it is authoritative: on
resume it is rebuilt from the checkpoints.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from langchain_core.messages import BaseMessage

from langgraph_recursive.state.brief import ROOTS_ANCHOR, RootTaskAnchor
from langgraph_recursive.state.event import Event, EventType, Limits
from langgraph_recursive.state.ids import is_under
from langgraph_recursive.state.owner import Owner
from langgraph_recursive.state.task import HaltType, Task
from langgraph_recursive.state.trace import SolveTrace
from langgraph_recursive.state.usage import Usage
from langgraph_recursive.state.validation_policy import ValidationMinimum

from .allowance import Allowances
from .call_tasks import StoredTasks
from .effects import Effect
from .ledger import Ledger
from .listener import Listener
from .policy import SolvePolicy

__all__ = ("Run", "Slots", "TaskStopped")

_POLL_SECONDS = 0.2


class TaskStopped(Exception):  # noqa: N818 - control flow, not an error of the library
    """The task must end now: it was cancelled, or its time is up. Becomes its halt."""

    def __init__(self, halt: HaltType, detail: str) -> None:
        super().__init__(detail)
        self.halt = halt
        self.detail = detail


class Slots:
    """Places for component calls, shared by the whole tree.

    Args:
        width: Calls at once.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self._free = width
        self._changed = threading.Condition()
        self._semaphore = asyncio.Semaphore(width)

    @property
    def full(self) -> bool:
        """Whether a call that asks now has to wait."""
        return not self._free or self._semaphore.locked()

    def take(self, check: Callable[[], None]) -> None:
        """Wait for a place. `check` raises when waiting has no more sense."""
        with self._changed:
            while True:
                check()
                if self._free:
                    self._free -= 1
                    return
                self._changed.wait(_POLL_SECONDS)

    def give(self) -> None:
        """Free a place taken with `take`."""
        with self._changed:
            self._free += 1
            self._changed.notify()

    async def atake(self, check: Callable[[], None]) -> None:
        """Wait for a place on the event loop."""
        check()
        await self._semaphore.acquire()
        try:
            check()
        except BaseException:
            self._semaphore.release()
            raise

    def agive(self) -> None:
        """Free a place taken with `atake`."""
        self._semaphore.release()


class TakeSlot(Effect[Callable[[], None]]):
    """Wait for a place among the run's calls; gives back what frees it."""

    def __init__(self, slots: Slots, check: Callable[[], None]) -> None:
        self.slots = slots
        self.check = check

    def perform(self) -> Callable[[], None]:
        self.slots.take(self.check)
        return self.slots.give

    async def aperform(self) -> Callable[[], None]:
        await self.slots.atake(self.check)
        return self.slots.agive


class Run:
    """One run of a solver.

    Args:
        graph: The solver's compiled graph, which runs every task.
        policy: The limits, with what a person raised.
        width: Component calls at once.
        stored_tasks: How an earlier process kept the results of calls; None without a saver, where nothing is kept.
        history: Usage by run number, from the checkpoints.
        traces: Traces by run number, likewise.
        reads: Characters read of context references by run number and task, likewise.
        thread_id: The thread it runs on, if it has one.
    """

    def __init__(
        self,
        graph: Any,
        *,
        policy: SolvePolicy,
        width: int,
        stored_tasks: StoredTasks | None,
        history: dict[int, Usage] | None = None,
        traces: dict[int, list[SolveTrace]] | None = None,
        reads: dict[tuple[int, str], int] | None = None,
        thread_id: str | None = None,
    ) -> None:
        self.graph = graph
        self.policy = policy
        self.stored_tasks = stored_tasks
        self.slots = Slots(width)
        self.ledger = Ledger(policy.budget, history)
        self.allowances = Allowances(reads)
        self._traces: dict[int, list[SolveTrace]] = defaultdict(list, traces or {})
        self._stopped: set[str] = set()
        self.end: float | None = None
        self._deadlines: dict[str, float] = {}
        self._calls: dict[asyncio.Task[Any], str] = {}
        self._at_work: dict[str, str] = {}
        self.thread_id = thread_id
        self.id = str(uuid.uuid4())
        self._anchor: RootTaskAnchor = ROOTS_ANCHOR
        self._owner: Owner | None = None
        self.minimum: ValidationMinimum | None = None
        self._caller: tuple[str, str] | None = None
        self._listener: Listener | None = None
        self._said: dict[int, str] = {}
        self._spent_out: set[tuple[int, str]] = set()

    @property
    def durable(self) -> bool:
        """Whether there is a saver, so that what calls gave is kept."""
        return self.stored_tasks is not None

    def anchored(self, task: Task) -> Task:
        """Keep the root's anchor, owner and minimum of validation, and give a descendant the first two.

        Raises:
            ChangedAnchorError: It is not the anchor that the tree was started with.
            ChangedUserError: It was started by another user.
        """
        if task.parent_id is None:
            task = task.owned_by(self._owner_of(task))
            self._anchor, self._owner, self.minimum = task.anchor, task.owner, task.minimum
        owner = self._owner or self._owner_of(task)
        return task.under(self._anchor).model_copy(update={"owner": owner})

    def called_by(self, thread_id: str, user_id: str) -> None:
        """Take in on whose behalf this runs, once: before the root's first node."""
        self._caller = self._caller or (thread_id, user_id)

    def _owner_of(self, task: Task) -> Owner:
        thread_id, user_id = self._caller or ("", "")
        return Owner.of_thread(thread_id or self.id, task_id=task.root_ref, user_id=user_id)

    def listen(self, listener: Listener) -> None:
        """Send events to the listener of the outermost node that is running."""
        self._listener = listener

    async def told(self) -> None:
        """Wait until callbacks on the event loop have had every event so far."""
        if self._listener is not None:
            await self._listener.told()

    def said(self, message: BaseMessage) -> None:
        """Note a model's message, so that the answer can be told to be that message."""
        if message.id is not None:
            self._said[hash(message.text)] = message.id

    def message_id(self, text: str) -> str | None:
        """The id of the message in which a model said this in this process."""
        return self._said.get(hash(text))

    def emit(
        self,
        kind: EventType,
        task: Task,
        data: dict[str, Any],
        *,
        usage: Usage | None = None,
        seconds: float | None = None,
    ) -> None:
        """Tell those who stream, and callbacks, what happened."""
        if self._listener is None:
            return
        self._listener.tell(
            Event(
                type=kind,
                run_id=self.id,
                task_id=task.id,
                parent_id=task.parent_id,
                attempt=task.attempt,
                depth=task.depth,
                time=time.time(),
                duration_ms=None if seconds is None else round(seconds * 1000),
                usage=None if usage is None else usage.model_dump(),
                data=data,
            )
        )

    def limits(self, run: int) -> Limits:
        """What one run has spent so far of each limit of its budget."""
        found = self.ledger.limits(run)
        seconds = self.ledger.budget.max_seconds
        if seconds is not None and self.end is not None:
            found["max_seconds"] = [round(seconds - (self.end - time.monotonic()), 3), seconds]
        return found

    def spent_out(self, task: Task, reason: str) -> None:
        """Tell that a limit of the budget stands against going on, once for each limit.

        Args:
            task: The attempt that found out.
            reason: In words, the limit's name first.
        """
        limit = reason.partition(" ")[0]
        if (task.run, limit) not in self._spent_out:
            self._spent_out.add((task.run, limit))
            self.emit("budget_spent", task, {"limit": limit, "detail": reason, "budget": self.limits(task.run)})

    def record(self, task: Task, entry: SolveTrace) -> None:
        """Keep a trace for the result. The task's text is added here; a checkpoint holds it only once."""
        self._traces[task.run].append(entry.model_copy(update={"task": task.intent}))

    def traces(self, run: int) -> list[SolveTrace]:
        """All traces of one run, in the order in which things happened."""
        return sorted(self._traces[run], key=lambda entry: entry.time)

    def working(self, task: Task) -> None:
        """Note that a task is at work."""
        self._at_work[task.root_ref] = task.id

    def done(self, task: Task) -> None:
        """Note that a task has ended: when its parent revises it, it is not stopped any more."""
        self._at_work.pop(task.root_ref, None)
        self._stopped.discard(task.root_ref)

    @property
    def at_work(self) -> list[str]:
        """Ids of the attempts at work."""
        return sorted(self._at_work.copy().values())

    def stop(self, chain: str) -> None:
        """Stop a task and all below it: no further call starts; under the event loop those in flight are cancelled.

        May be called from any thread.

        Args:
            chain: The id of the task's first attempt.
        """
        self._stopped.add(chain)
        for call, owner in self._calls.copy().items():
            if is_under(owner, chain):
                call.get_loop().call_soon_threadsafe(self._cancel, call)

    def _cancel(self, call: asyncio.Task[Any]) -> None:
        if call in self._calls:  # it may have ended meanwhile, and the asyncio task gone on
            call.cancel()

    def stopped(self, task_id: str) -> bool:
        """Whether a task, or one above it, was stopped."""
        return any(is_under(task_id, stopped) for stopped in self._stopped.copy())

    def end_after(self, seconds: float | None) -> None:
        """Set when the run's own time is up, once."""
        if seconds is not None and self.end is None:
            self.end = time.monotonic() + seconds

    def raise_limits(self, limits: Mapping[str, Any]) -> None:
        """Raise limits for the rest of the run, in the whole tree, with what is under way.

        Raises:
            InvalidPolicyError: One is no limit, or out of bounds.
        """
        before, self.policy = self.policy, self.policy.raised(limits)
        self.ledger.budget = self.policy.budget
        self.end = _later(self.end, before.budget.max_seconds, self.policy.budget.max_seconds)
        ends = {
            task: _later(end, before.max_task_seconds, self.policy.max_task_seconds)
            for task, end in self._deadlines.copy().items()
        }
        self._deadlines = {task: end for task, end in ends.items() if end is not None}

    def out_of_time(self) -> bool:
        """Whether the run's own time (Budget.max_seconds) is up."""
        return self.end is not None and time.monotonic() >= self.end

    def limit(self, task: Task, seconds: float | None) -> float | None:
        """Set a task's deadline, never later than its parent's, and return it as a `time.monotonic()` value.

        Args:
            task: The attempt at work; all attempts of a chain share the limit.
            seconds: What is left of the task's own limit; None for no limit.
        """
        limits = [] if seconds is None else [time.monotonic() + seconds]
        if task.parent_id in self._deadlines:
            limits.append(self._deadlines[task.parent_id])
        if not limits:
            return None
        self._deadlines[task.id] = min(limits)
        return self._deadlines[task.id]

    @contextlib.contextmanager
    def cancellable(self, task_id: str) -> Iterator[None]:
        """Let `stop` reach the asyncio task of a call, and tell our cancelling from the caller's."""
        try:
            call = asyncio.current_task()
        except RuntimeError:
            call = None
        if call is None:
            yield
            return
        self._calls[call] = task_id
        try:
            yield
        except asyncio.CancelledError:
            if not self.stopped(task_id):
                raise
            call.uncancel()
            raise TaskStopped("cancelled", "stopped while a call was in flight") from None
        finally:
            self._calls.pop(call, None)


def _later(end: float | None, before: float | None, now: float | None) -> float | None:
    """When a time is up whose limit was raised; None if it has none."""
    return None if end is None or before is None or now is None else end + now - before
