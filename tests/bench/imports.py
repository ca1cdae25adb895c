"""Imports: what importing this package costs over importing LangGraph."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

from table import Part, medians

__all__ = ("measure",)

_OURS = "from langgraph_recursive.graph import create_recursive_solver"
_TIMED = "import time; started = time.process_time(); {what}; print(time.process_time() - started)"
_LINE = re.compile(r"import time:\s+(\d+) \|\s+(\d+) \|( *)(\S+)")
_SHOWN = 8


def measure(*, quick: bool = False) -> Part:
    """Import in fresh processes, by turns, and list what our own import adds."""
    found = medians(
        1 if quick else 5,
        {
            "import langgraph.graph": lambda: _seconds("import langgraph.graph"),
            _OURS: lambda: _seconds(f"import langgraph.graph; {_OURS}"),
        },
    )
    base = found["import langgraph.graph"]
    rows: list[dict[str, Any]] = [
        {"what": what, "CPU ms": round(1000 * value), "/ langgraph": round(value / base, 2)}
        for what, value in found.items()
    ]
    rows += _breakdown(base)
    return Part(
        title="Import time (fresh process, CPU)",
        rows=rows,
        notes=["below: the modules that take longest by themselves after `import langgraph.graph`"],
    )


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)


def _seconds(what: str) -> float:
    return float(_python("-c", _TIMED.format(what=what)).stdout)


def _breakdown(base: float) -> list[dict[str, Any]]:
    """The slowest modules that our import adds, each without what it imports itself."""
    log = _python("-X", "importtime", "-c", f"import langgraph.graph; import sys; sys.stderr.write('OURS\\n'); {_OURS}")
    ours = log.stderr.split("OURS\n")[-1]
    times = sorted(((int(own), name) for own, _, _, name in _LINE.findall(ours)), reverse=True)
    return [
        {"what": f"  {name}", "CPU ms": round(own / 1000), "/ langgraph": round(own / 1e6 / base, 2)}
        for own, name in times[:_SHOWN]
    ]
