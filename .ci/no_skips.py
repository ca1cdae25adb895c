"""Pytest plugin for CI: tests that need a server, a model or a kernel must run, and none may be skipped."""

from collections import Counter
from pathlib import Path

import pytest

MUST_RUN = ("embedded", "notebook", "postgres")

passed: Counter[str] = Counter()
skipped: list[str] = []


def _ours(report: pytest.TestReport) -> bool:
    """Whether this project raised the skip: a standard suite may leave out what does not apply."""
    path = report.longrepr[0] if isinstance(report.longrepr, tuple) else ""
    return "site-packages" not in Path(path).parts


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Count what ran and what did not; with xdist the controller sees every worker's reports."""
    markers = [name for name in MUST_RUN if name in report.keywords]
    if report.skipped and markers and _ours(report):
        skipped.append(report.nodeid)
    if report.when == "call" and report.passed:
        passed.update(markers)


def _complaints() -> list[str]:
    missing = [f"no {name} test passed" for name in MUST_RUN if not passed[name]]
    return missing + [f"skipped: {nodeid}" for nodeid in skipped]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run when a test that must run did not."""
    controller = not hasattr(session.config, "workerinput")
    if controller and session.exitstatus == pytest.ExitCode.OK and _complaints():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which."""
    for line in _complaints():
        terminalreporter.write_line(f"CI: {line}", red=True)
