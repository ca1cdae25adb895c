"""The public API's types, checked by mypy and never run."""

from types import ModuleType
from typing import assert_type

from langgraph_recursive import graph, nodes, state

assert_type([graph, nodes, state], list[ModuleType])
