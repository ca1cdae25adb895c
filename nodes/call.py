"""One durable call of a component: its slot, its tries, its time-out, its record."""

from __future__ import annotations

import json
import random
import time
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp, GraphInterrupt
from langgraph.types import RetryPolicy

from langgraph_recursive.state._model import plain
from langgraph_recursive.state.context_reads import ContextRead
from langgraph_recursive.state.errors import (
    CallTimeoutError,
    ComponentError,
    InvalidPolicyError,
    MixedResultError,
    UnparsableOutputError,
)
from langgraph_recursive.state.event import EventType
from langgraph_recursive.state.evidence import bounded
from langgraph_recursive.state.usage import Usage

from .allowance import call_reads
from .current import entered
from .effects import Invoke
from .meter import Meter, metering
from .run import TakeSlot, TaskStopped

if TYPE_CHECKING:
    from .context import Context

__all__ = ("Call", "CallFailed", "Target", "TryAgain", "delay", "question", "read_in", "receipt_of")

Target = Callable[..., Any] | Runnable[Any, Any]

_RAW_CHARS = 2_000
_ID_CHARS = 12
_MESSAGE_CHARS = 1_000
_QUESTION_CHARS = 400


class CallFailed(Exception):  # noqa: N818 - a value for the node, never seen by a caller
    """A component call that did not give a usable answer, after its retries.

    Attributes:
        kind: `failed`: it raised. `timed_out`: it took too long. `unparsable`: its output has the wrong form.
        error_type: Class name of the exception.
        message: Its text, bounded.
        raw: The output that could not be parsed, bounded.
    """

    def __init__(
        self, kind: Literal["failed", "timed_out", "unparsable"], error_type: str, message: str, raw: str = ""
    ) -> None:
        super().__init__(kind, error_type, message, raw)
        self.kind = kind
        self.error_type = error_type
        self.message = message
        self.raw = raw

    def __str__(self) -> str:
        return f"{self.error_type}: {self.message}" if self.message else self.error_type


class TryAgain(Exception):  # noqa: N818 - tells LangGraph's retry loop to wait and call the body again
    """A call failed in a way that its retry policy covers, and may be tried again."""


class Call:
    """One durable call and its tries. Only its body runs inside a LangGraph task, where it has one of its own."""

    def __init__(
        self,
        context: Context,
        name: str,
        function: Target,
        args: tuple[Any, ...],
        convert: Callable[[Any], Any],
    ) -> None:
        self.context = context
        self.name = name
        self.function = function
        self.args = args
        self.convert = convert
        self.id = uuid.uuid4().hex[:_ID_CHARS]
        self.tries = 0
        self.error: str | None = None
        self.asks = False
        self.spent = Usage()
        self.reads: list[ContextRead] = []

    async def body(self) -> dict[str, Any]:
        """Make one try and return its record: a value or an error, and what all tries spent and read."""
        run, task = self.context.run, self.context.task
        self.tries += 1
        owner = task.id if task is not None else ""
        try:
            with entered(self.context), run.cancellable(owner):
                record = await self._tried()
        except TaskStopped as stop:
            if stop.halt == "budget_exhausted" and task is not None:
                run.spent_out(task, stop.detail)
            record = {"stopped": [stop.halt, stop.detail]}
        plan = self.context.plan
        token = {} if plan is None else {"token": plan.token}
        return {**record, "id": self.id, "usage": plain(self.spent), **read_in(self.reads), **token}

    async def _tried(self) -> dict[str, Any]:
        asked = time.monotonic()
        self.error = None
        if self.context.run.slots.full:
            self._tell("call_queued")
        give = await TakeSlot(self.context.run.slots, self.context.may_call)
        started = time.monotonic()
        if self.context.until is not None:
            self.context.until += started - asked  # the time-out is on the call, not on waiting for its turn
        meter = self._meter()
        token = metering.set(meter)
        reading = call_reads.set(self.reads)
        try:
            meter.open()
            self._tell("call_started", tries=self.tries, waited_ms=round((started - asked) * 1000))
            value = self.convert(await Invoke(self.function, *self.args, timeout=self.context.remaining))
        except GraphInterrupt as interrupt:
            self.asks = True
            self._tell_asked(interrupt)
            raise
        except (GraphBubbleUp, TaskStopped, ComponentError, InvalidPolicyError, MixedResultError):
            raise
        except Exception as error:  # a work failure: it becomes a report, a verdict or a halt
            self.error = type(error).__name__
            if isinstance(error, CallTimeoutError):
                self.context.check()  # it may have been cut off because the task's time is up, not the call's
            if self._again(error):
                raise TryAgain from error
            return {"error": _described(error)}
        finally:
            give()
            metering.reset(token)
            call_reads.reset(reading)
            self._count(meter.close(), time.monotonic() - started)
        self.context.check()
        return {"value": value}

    def _meter(self) -> Meter:
        context = self.context
        run = context.task.run if context.task is not None else 1
        calls_model = not isinstance(self.function, BaseTool) and not getattr(self.function, "calls_no_model", False)
        owner = context.task.root_ref if context.task is not None and context.draws else None
        return Meter(
            context.run.ledger,
            run,
            context.policy.pricing,
            calls_model=calls_model,
            drawn_by=owner,
            said=context.run.said,
        )

    def _count(self, usage: Usage, seconds: float) -> None:
        self.spent += usage
        task = self.context.task
        if task is not None and usage.calls:  # none where the budget refused it
            told: dict[str, Any] = {"tries": self.tries, "error": self.error, "asks": self.asks}
            told["budget"] = self.context.run.limits(task.run)
            self._tell("call_finished", usage=usage, seconds=seconds, **told)

    def _tell(self, kind: EventType, **told: Any) -> None:
        if self.context.task is not None:
            self.context.emit(kind, call=self.name, id=self.id, **told)

    def _tell_asked(self, interrupt: GraphInterrupt) -> None:
        """Tell what a person is asked; a nested graph raises an empty interrupt."""
        if self.context.task is None:
            return
        for asked in interrupt.args[0] or [None]:
            value = "" if asked is None else question(asked.value)
            self.context.emit("interrupted", id=asked and asked.id, value=value)

    def _again(self, error: Exception) -> bool:
        policy = self.context.policy.retry
        if policy is None or self.tries >= policy.max_attempts:
            return False
        wait = min(policy.max_interval, policy.initial_interval * policy.backoff_factor ** (self.tries - 1))
        remaining = self.context.remaining
        if remaining is not None and remaining <= wait:
            return False  # its time would be up before the next try
        wanted = policy.retry_on
        if isinstance(wanted, type):
            return isinstance(error, wanted)
        return wanted(error) if callable(wanted) else isinstance(error, tuple(wanted))


def question(value: Any) -> str:
    """What an interrupt asks, as text of bounded length."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return bounded(text, limit=_QUESTION_CHARS).text


def _described(error: Exception) -> list[str]:
    message = bounded(str(error), limit=_MESSAGE_CHARS).text
    if isinstance(error, UnparsableOutputError):
        return [
            "unparsable",
            type(error).__name__,
            message,
            bounded(str(error.value or ""), limit=_RAW_CHARS).text,
        ]
    kind = "timed_out" if isinstance(error, CallTimeoutError) else "failed"
    return [kind, type(error).__name__, message]


def delay(retry: RetryPolicy) -> float:
    """Seconds before the second try, as LangGraph waits."""
    seconds = min(retry.max_interval, retry.initial_interval)
    return seconds + random.uniform(0, 1) if retry.jitter else seconds


def receipt_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """What a call's record says that it spent and read, with the call's id, so that it is counted once."""
    return {name: record[name] for name in ("id", "usage", "reads") if name in record}


def read_in(reads: list[ContextRead]) -> dict[str, Any]:
    """What a call's record says about its reads: nothing where there are none."""
    return {"reads": plain(reads)} if reads else {}
