"""The demo: a table of orders from short messages, by a model too small to do it in one go."""

from .files import read_messages
from .orders import demo_solver, demo_task
from .table import render_table

__all__ = ("demo_solver", "demo_task", "read_messages", "render_table")
