"""The simple agent: it works on a goal until it calls its answer final."""

from .agent import SimpleRecursiveAgent
from .events import EventEmitter

__all__ = ("EventEmitter", "SimpleRecursiveAgent")
