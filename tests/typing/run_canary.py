"""Run the type checker on the canary: it must report the planted error, and nothing else."""

import subprocess
import sys
from pathlib import Path

CANARY = Path(__file__).with_name("canary.py")


def main() -> int:
    done = subprocess.run([sys.executable, "-m", "mypy", str(CANARY)], capture_output=True, text=True)
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    planted = 1 + CANARY.read_text().splitlines().index("planted = state.there_is_no_such_name")
    if len(errors) == 1 and f"canary.py:{planted}:" in errors[0] and errors[0].endswith("[attr-defined]"):
        print("Canary: the planted error was found")
        return 0
    print("Canary: expected the planted error alone, and mypy said:", done.stdout + done.stderr, sep="\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
