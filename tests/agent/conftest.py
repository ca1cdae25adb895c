"""The agent keeps its rules in the sync world and in the async one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent_kit import Solve
from langgraph_recursive.graph import AgentResult, SimpleRecursiveAgent


@pytest.fixture
def solve(way: str) -> Solve:
    """Have an agent solve a problem."""

    def to_end(agent: SimpleRecursiveAgent, problem: Any, config: Any = None, **options: Any) -> AgentResult:
        if way == "sync":
            return agent.solve(problem, config, **options)
        return asyncio.run(agent.asolve(problem, config, **options))

    return to_end
