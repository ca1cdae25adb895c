"""Made `v0_1.sqlite.gz`, once. Never run it again: the file stands for what users have on their disks.

A change that breaks `test_golden.py` breaks their threads. A new format gets a file of its own, beside the old ones.

    python tests/golden/make.py OUTPUT
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))

from langgraph.checkpoint.sqlite import SqliteSaver

from golden_job import ASKING, RECOVERING, TASK, GoldenJob
from langgraph_recursive.state.errors import ComponentError


def main(output: Path) -> None:
    """Leave one thread in recovery and one with a question."""
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "golden.sqlite"
        with SqliteSaver.from_conn_string(str(database)) as saver:
            solver = GoldenJob(stop_at="t.2_fix_1").solver(saver)
            try:
                solver.invoke(TASK, RECOVERING)
            except ComponentError as stop:
                print("stopped:", stop)
            else:
                raise SystemExit("it was to stop")
            asked = GoldenJob(ask_at="t.4.2").solver(saver).invoke(TASK, ASKING)
            print("asked:", asked["__interrupt__"])
            saver.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            saver.conn.execute("PRAGMA journal_mode=DELETE")
            saver.conn.execute("VACUUM")
        output.write_bytes(gzip.compress(database.read_bytes(), 9, mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
