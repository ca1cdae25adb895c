"""How many orders the demo reads exactly right, without and with verification and recovery.

Run alone: `.venv/bin/python tests/bench/orders.py [--part dev] [--json]`. The labelled messages are not the demo's and
were written before anything was tuned. Prompts and checks were tuned on the part `dev` only; `held_out` is reported.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel

from langgraph_recursive.graph.demo.order import FIELDS, Order, demo_task, message_of, parse_order
from langgraph_recursive.graph.demo.orders import demo_policy, orders_solver
from langgraph_recursive.graph.demo.reader import OrderReader, order_schema, refuted_values
from langgraph_recursive.graph.demo.table import table_rows
from langgraph_recursive.nodes.parts.embedded import EmbeddedChatModel
from langgraph_recursive.state.task import Task

LABELLED = Path(__file__).with_name("orders_labelled.json")
Reader = Callable[[Task], str]
SAMPLING = 0.4  # the temperature at which single answers were best on `dev`, among 0.4 and 0.8


@dataclass(frozen=True)
class Labelled:
    """A message and its order; a customer may be written in several ways."""

    message: str
    quantity: int
    item: str
    customers: tuple[str, ...]

    @property
    def order(self) -> Order:
        return Order(self.quantity, self.item, self.customers[0])

    def is_exact(self, order: Order | None) -> bool:
        """Whether every field is right: case and spacing are free, nothing else."""
        if order is None:
            return False
        customers = {_folded(name) for name in self.customers}
        return (
            order.quantity == self.quantity
            and _folded(order.item) == _folded(self.item)
            and _folded(order.customer) in customers
        )


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def labelled(part: str) -> list[Labelled]:
    """The labelled messages of a part: `dev` or `held_out`."""
    return [
        Labelled(entry["message"], entry["quantity"], entry["item"], tuple(entry["customer"]))
        for entry in json.loads(LABELLED.read_text(encoding="utf-8"))
        if entry["part"] == part
    ]


@dataclass
class Recorder:
    """A reader that remembers every answer of another one, for each message."""

    reader: Reader
    name: str = "recorder"
    answers: dict[str, list[str]] = field(default_factory=dict)

    def __call__(self, task: Task) -> str:
        answer = self.reader(task)
        self.answers.setdefault(message_of(task), []).append(answer)
        return answer


def _run(reader: Reader, records: Sequence[Labelled], **limits: Any) -> tuple[Recorder, dict[str, Any]]:
    """Run the demo's machine around a reader, and count.

    Args:
        reader: The solver.
        records: The labelled messages.
        limits: Changes to the demo's policy.
    """
    messages = [record.message for record in records]
    recorder = Recorder(reader)
    solver = orders_solver(recorder, policy=demo_policy(messages).model_copy(update=limits))
    started = time.monotonic()
    result = solver.invoke({"task": demo_task(messages)})
    seconds = time.monotonic() - started
    table = {row.number: row.order for row in table_rows(result)}
    verified = {row.number: row.order for row in table_rows(result) if row.verified}
    counts = {
        "exact": sum(record.is_exact(table.get(number)) for number, record in enumerate(records, start=1)),
        "of": len(records),
        "verified": len(verified),
        "verified_exact": sum(records[number - 1].is_exact(order) for number, order in verified.items()),
        "calls": sum(map(len, recorder.answers.values())),
        "seconds": round(seconds, 1),
    }
    return recorder, counts


def _first_answers(recorder: Recorder, records: Sequence[Labelled]) -> dict[str, Any]:
    """The same run without verification and recovery: the first answer to each message."""
    exact = sum(record.is_exact(parse_order(recorder.answers[record.message][0])) for record in records)
    return {"exact": exact, "of": len(records), "calls": len(records)}


def _voted(recorder: Recorder, records: Sequence[Labelled], model: BaseChatModel) -> dict[str, Any]:
    """As many answers to each message as the recovered run took, without checks or evidence: the commonest counts."""
    exact = calls = 0
    for record in records:
        answers = recorder.answers[record.message]
        if len(answers) > 1:
            answers = [_sampled(model, seed)(_plain_task(record)) for seed in range(1, len(answers) + 1)]
        calls += len(answers)
        exact += record.is_exact(parse_order(Counter(answers).most_common(1)[0][0]))
    return {"exact": exact, "of": len(records), "calls": calls}


def _sampled(model: BaseChatModel, seed: int) -> OrderReader:
    return OrderReader(model.model_copy(update={"temperature": SAMPLING, "seed": seed}))


def _plain_task(record: Labelled) -> Task:
    from langgraph_recursive.state.brief import anchor_of, brief_of

    spec = f"Read the order.\n\n{record.message}"
    return Task(id="t.1", spec=spec, brief=brief_of(spec), anchor=anchor_of(spec))


def _blind(model: BaseChatModel) -> Reader:
    """A reader whose retries get no evidence: another sample is all that they are."""
    first = OrderReader(model)

    def read(task: Task) -> str:
        reader = first if task.attempt == 1 else _sampled(model, task.attempt)
        return reader(task.model_copy(update={"prior_failures": []}))

    return read


def constant_reader(records: Sequence[Labelled]) -> Reader:
    """Answers every message with the order of the first."""
    return lambda task: records[0].order.dump()


def shuffled_reader(records: Sequence[Labelled]) -> Reader:
    """Answers every message with the order of another one."""
    others = {record.message: records[index - 1].order.dump() for index, record in enumerate(records)}
    return lambda task: others[message_of(task)]


def random_reader(seed: int = 0) -> Reader:
    """Chooses blindly among what the schema offers, which leaves out what was refuted."""

    def read(task: Task) -> str:
        # Seeded by the attempt, so that the order in which threads come makes no difference.
        chosen = random.Random(f"{seed} {task.id}")
        properties = order_schema(message_of(task), refuted_values(task.prior_failures))["properties"]
        return json.dumps({name: chosen.choice(properties[name].get("enum", [1])) for name in FIELDS})

    return read


def measure(
    part: str = "held_out",
    model: BaseChatModel | None = None,
    *,
    tell: Callable[[str, dict[str, Any]], None] = lambda name, row: None,
) -> dict[str, Any]:
    """Measure every way of reading the labelled messages.

    Args:
        part: `held_out`, or `dev` while tuning.
        model: The chat model; None is the embedded one.
        tell: Called with each row as soon as it is there.

    Returns:
        `part`, and `rows`: for each way the records exactly right, of how many, the model calls, and where there are
        checks how many records passed them and how many of those are exactly right.
    """
    model = model if model is not None else EmbeddedChatModel(max_tokens=96)
    records = labelled(part)
    rows: dict[str, dict[str, Any]] = {}

    def add(name: str, row: dict[str, Any]) -> None:
        rows[name] = row
        tell(name, row)

    add("the machine, constant answers", _run(constant_reader(records), records)[1])
    add("the machine, answers of other messages", _run(shuffled_reader(records), records)[1])
    add("the machine, random choices", _run(random_reader(), records)[1])
    recovered, counts = _run(OrderReader(model), records)
    add("one call, words of the message", _first_answers(recovered, records))
    add("checked, recovered with evidence", counts)
    add("the same calls, voted", _voted(recovered, records, model))
    # Without evidence a repeated answer proves nothing, so the test for a stall would only take calls from this one.
    add("checked, retried without evidence", _run(_blind(model), records, stall_window=0)[1])
    free, _ = _run(OrderReader(model, constrained=False), records, max_attempts=1)
    add("one call, any words", _first_answers(free, records))
    return {"part": part, "rows": rows}


def render(measured: dict[str, Any]) -> str:
    """Write the figures as a table."""
    lines = [f"orders exactly right, part {measured['part']}", ""]
    lines.append(f"{'':40}{'exact':>8}{'verified':>10}{'of these exact':>16}{'calls':>7}")
    for name, row in measured["rows"].items():
        verified, right = str(row.get("verified", "-")), str(row.get("verified_exact", "-"))
        lines.append(f"{name:40}{row['exact']:>5}/{row['of']:<2}{verified:>10}{right:>16}{row['calls']:>7}")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("dev", "held_out"), default="held_out")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    measured = measure(options.part, tell=lambda name, row: print(name, row, file=sys.stderr, flush=True))
    print(json.dumps(measured, indent=2) if options.json else render(measured))


if __name__ == "__main__":
    main()
