"""The state machine as text."""

from __future__ import annotations

__all__ = ("PICTURE",)

PICTURE = r"""
START -> admit -> decompose --atomic--> solve -------------------------.
           ^        |  ^                                               v
           |   split|  |replan                                       verify --passed--> END
           |        v  |                                              ^   |
           |     subtasks --> review --all accepted--> aggregate -----'   |failed
           |                    '--fail--> END                            v
           '------------------------next attempt---------------------- recovery --halt--> END

A halt ends the task. With interrupt_on_halt it first goes to intervene: a person has it go on with admit, accepts an
answer, or lets it end.

subtasks runs this same graph once for each sub-task. A next attempt keeps its predecessor's shape: after a
combined answer was rejected, admit goes straight to aggregate; after a direct one, to solve.
""".strip("\n")
