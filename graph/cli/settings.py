"""What a thread was started with; kept in its checkpoints' metadata, so that `resume` needs no options."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from langgraph_recursive.nodes.parts.commands import CommandValidator, command_validator
from langgraph_recursive.nodes.parts.embedded import EmbeddedChatModel
from langgraph_recursive.nodes.policy import SolvePolicy

from ..builder import create_recursive_solver
from ..demo import demo_solver
from ..solver import RecursiveSolver
from .loading import absolute_reference, load_solver
from .problems import Problem, told

__all__ = ("METADATA_KEY", "Settings")

METADATA_KEY = "langgraph_recursive"


@dataclass(frozen=True)
class Settings:
    """How to build a thread's solver.

    Attributes:
        model: `provider:name`, or None for the embedded model.
        verify_with: Command lines, each a verifier.
        cwd: Folder the commands run in.
        graph: The user's own solver, in place of a model.
        policy: The limits that were given.
        demo: Whether it is the demo.
    """

    model: str | None = None
    verify_with: tuple[str, ...] = ()
    cwd: str | None = None
    graph: str | None = None
    policy: Mapping[str, float] = field(default_factory=dict)
    demo: bool = False

    @classmethod
    def given(
        cls,
        *,
        model: str | None,
        verify_with: list[str] | None,
        cwd: str | None,
        graph: str | None,
        policy: Mapping[str, float | None],
    ) -> Settings:
        """Read the options.

        Raises:
            Problem: Options contradict each other, or a value is of no use.
        """
        verify = tuple(verify_with or ())
        limits = {name: value for name, value in policy.items() if value is not None}
        if graph is not None and (model is not None or verify or limits):
            raise Problem("--graph brings its own model, verifiers and limits: leave out the other options")
        if cwd is not None and not os.path.isdir(cwd):
            raise Problem(f"--cwd {cwd!r}: there is no such folder")
        folder = os.path.abspath(cwd) if cwd is not None else os.getcwd() if verify else None
        reference = None if graph is None else absolute_reference(graph)
        return cls(model, verify, folder, reference, limits)

    @classmethod
    def stored(cls, metadata: Mapping[str, Any]) -> Settings | None:
        """Read them back; None when another program made the thread."""
        text = metadata.get(METADATA_KEY)
        if not isinstance(text, str):
            return None
        values = json.loads(text)
        values["verify_with"] = tuple(values.get("verify_with", ()))
        return cls(**values)

    def metadata(self) -> dict[str, str]:
        """As the metadata of a run's config. Every checkpoint repeats it, so defaults are left out."""
        values = {name: value for name, value in asdict(self).items() if value}
        return {METADATA_KEY: json.dumps(values, separators=(",", ":"))}

    def updated(self, given: Settings) -> Settings:
        """These settings with what is given now in the place of what was."""
        if given.graph is not None:
            return given
        if given == Settings():
            return self
        if self.demo:
            if given != Settings(model=given.model):
                raise Problem("this thread runs the demo, which has its own verifiers and limits")
            return given.demonstrating()
        base = self if given.model is None else Settings(None, self.verify_with, self.cwd, None, self.policy)
        if base.graph is not None:
            raise Problem("this thread runs a --graph, which brings its own verifiers and limits")
        return Settings(
            model=given.model or base.model,
            verify_with=given.verify_with or base.verify_with,
            cwd=given.cwd or base.cwd,
            policy={**base.policy, **given.policy},
        )

    def demonstrating(self) -> Settings:
        """The same for the demo."""
        return replace(self, demo=True)

    @property
    def embedded(self) -> bool:
        """Whether the embedded model does the work of `solve`."""
        return self.model is None and self.graph is None and not self.demo

    def solver(self, *, messages: Sequence[str] = ()) -> RecursiveSolver:
        """Build the solver, still without a saver.

        Args:
            messages: The demo's messages.

        Raises:
            Problem: A package, a key or a file is missing, or a value is of no use.
            RecursiveSolverError: A limit is out of bounds.
        """
        if self.graph is not None:
            return load_solver(self.graph)
        if self.demo:
            return demo_solver(None if self.model is None else _named_model(self.model), messages=messages)
        policy = SolvePolicy(**self.policy)
        verifiers = [_command(line, self.cwd) for line in self.verify_with]
        model = EmbeddedChatModel() if self.model is None else _named_model(self.model)
        return create_recursive_solver(model, verifiers=verifiers, policy=policy)


def _named_model(name: str) -> Any:
    try:
        from langchain.chat_models import init_chat_model
    except ImportError as error:
        raise Problem(f'--model {name}: pip install "langgraph-recursive[models]"') from error
    try:
        return init_chat_model(name)
    except Exception as error:  # each provider has errors of its own for a missing package or key
        raise Problem(f"--model {name}: {told(error)}") from error


def _command(line: str, cwd: str | None) -> CommandValidator:
    try:
        argv = shlex.split(line)
    except ValueError as error:
        raise Problem(f"--verify-with {line!r}: {told(error)}") from error
    if not argv:
        raise Problem(f"--verify-with {line!r}: there is no command in it")
    # A path may be of a file that the work is to make; a bare name is found now or never.
    if os.path.basename(argv[0]) == argv[0] and shutil.which(argv[0]) is None:
        raise Problem(f"--verify-with {line!r}: there is no command {argv[0]!r} on the PATH")
    return command_validator(argv, cwd=cwd)
