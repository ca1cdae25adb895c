"""The options, each described once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = (
    "Accept",
    "Answer",
    "Answers",
    "AsJson",
    "By",
    "Cwd",
    "Db",
    "Graph",
    "HaltedTask",
    "Hint",
    "MaxAttempts",
    "MaxChildren",
    "MaxConcurrency",
    "MaxDepth",
    "MaxFixes",
    "MaxTaskSeconds",
    "Model",
    "Quiet",
    "Reason",
    "Spec",
    "VerifyWith",
)

_DECISION = "What a person decides"
_LIMITS = "Limits"
_PARTS = "What does the work"

Model = Annotated[
    str | None,
    typer.Option(
        metavar="PROVIDER:NAME",
        help="Chat model, as init_chat_model names it. Default: the embedded model, which is too weak to plan.",
        rich_help_panel=_PARTS,
    ),
]
VerifyWith = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COMMAND",
        help="Check every answer with a command, such as 'pytest -q'; exit code 0 accepts. Repeatable.",
        rich_help_panel=_PARTS,
    ),
]
Cwd = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER", help="Where --verify-with runs. Default: the current folder.", rich_help_panel=_PARTS
    ),
]
Graph = Annotated[
    str | None,
    typer.Option(
        metavar="FILE.py:NAME",
        help="Your own solver instead: what create_recursive_solver returned, or a function that makes it. "
        "Also MODULE:NAME.",
        rich_help_panel=_PARTS,
    ),
]
MaxDepth = Annotated[
    int | None,
    typer.Option(min=0, help="Depth at which tasks are no longer split.", rich_help_panel=_LIMITS),
]
MaxChildren = Annotated[int | None, typer.Option(min=1, help="Sub-tasks per task.", rich_help_panel=_LIMITS)]
MaxAttempts = Annotated[
    int | None,
    typer.Option(min=1, help="Attempts per task, the first included.", rich_help_panel=_LIMITS),
]
MaxFixes = Annotated[int | None, typer.Option(min=0, help="Fix attempts in the whole tree.", rich_help_panel=_LIMITS)]
MaxConcurrency = Annotated[
    int | None, typer.Option(min=1, help="Calls at once in the whole tree.", rich_help_panel=_LIMITS)
]
MaxTaskSeconds = Annotated[float | None, typer.Option(min=0.001, help="Seconds per task.", rich_help_panel=_LIMITS)]
Hint = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Help for every further attempt of the task.", rich_help_panel=_DECISION),
]
Spec = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="What is to be done now, added to the original task.", rich_help_panel=_DECISION),
]
Accept = Annotated[
    bool,
    typer.Option("--accept", help="Accept its last answer with a waiver: never verified.", rich_help_panel=_DECISION),
]
Answer = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Accept this answer, with a waiver.", rich_help_panel=_DECISION),
]
HaltedTask = Annotated[
    str | None,
    typer.Option(
        "--task",
        metavar="ID",
        help="The task that it is about. Default: the one whose halt is behind the root's.",
        rich_help_panel=_DECISION,
    ),
]
Reason = Annotated[str | None, typer.Option(metavar="TEXT", help="Why, for the record.", rich_help_panel=_DECISION)]
By = Annotated[str | None, typer.Option(metavar="NAME", help="Who decides, for the record.", rich_help_panel=_DECISION)]
Db = Annotated[
    Path | None,
    typer.Option(
        envvar="LANGGRAPH_RECURSIVE_DB",
        metavar="FILE",
        help="SQLite file with the runs. Default: $XDG_STATE_HOME/langgraph-recursive/runs.db, "
        "else below ~/.local/state.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only the answer.")]
Answers = Annotated[
    list[str] | None,
    typer.Option("--answer", metavar="TEXT", help="Answer to a question the run asks; text or JSON. One for each."),
]
