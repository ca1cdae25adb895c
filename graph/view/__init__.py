"""Looking at a run: what its events, checkpoints and results tell, drawn without network or dependency."""

from .explain import diff, explain
from .jsonl import EventLog, EventWriter, events_to_jsonl, read_events
from .machine import machine_svg, path_of
from .svg import Svg
from .timeline import timeline
from .tree import TaskTree
from .views import AttemptView, TaskView
from .watch import awatch, watch

__all__ = (
    "AttemptView",
    "EventLog",
    "EventWriter",
    "Svg",
    "TaskTree",
    "TaskView",
    "awatch",
    "diff",
    "events_to_jsonl",
    "explain",
    "machine_svg",
    "path_of",
    "read_events",
    "timeline",
    "watch",
)
