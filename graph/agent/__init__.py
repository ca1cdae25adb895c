"""The simple agent: it works on a goal until it calls its answer final."""

from .agent import SimpleRecursiveAgent
from .events import AgentEmitter

__all__ = ("AgentEmitter", "SimpleRecursiveAgent")
