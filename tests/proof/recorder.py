"""The pytest plugin of the proof: runs the tests that it is given, writes what each gave at once, stops in time.

`--proof-order FILE` names an `Order` in JSON. With `collect_to` in it, tests are listed and none is run. With `-n` the
workers select, and the process that hands the tests to them writes.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.proof.results import Collected, Result, append, failures_path
from tests.servers.binaries import ROOT
from tests.servers.versions import parameter_version

_MAX_REASON = 300


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What one run of pytest does. `until` is a Unix time: no test starts after it.

    `results` has the file of results of each module, by its path as tests are named after it.
    """

    tests: frozenset[str] = frozenset()
    results: dict[str, str] = {}
    until: float = 0.0
    collect_to: str = ""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--proof-order", metavar="FILE", help="which tests to run, and where their results go")


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin for the order, if there is one."""
    if path := config.getoption("--proof-order"):
        order = msgspec.json.decode(Path(path).read_bytes(), type=Order)
        config.pluginmanager.register(Selector(order))
        if not hasattr(config, "workerinput"):  # of a worker, the other process learns all that it gave
            config.pluginmanager.register(Recorder(order))


class Selector:
    """Chooses or lists the tests, and stops in time."""

    def __init__(self, order: Order) -> None:
        self._order = order

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep the tests of the order; or list all of them."""
        if self._order.collect_to:
            for item in items:
                nightly = item.get_closest_marker("nightly") is not None
                version = parameter_version(item) or ""
                append(Path(self._order.collect_to), Collected(test=item.nodeid, version=version, nightly=nightly))
            return
        others = [item for item in items if item.nodeid not in self._order.tests]
        items[:] = [item for item in items if item.nodeid in self._order.tests]
        config.hook.pytest_deselected(items=others)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """No further test when the time is over."""
        yield
        if time.time() > self._order.until:
            item.session.shouldstop = "the time of this sitting is over"


class Recorder:
    """Writes what each test gave."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._outcome: dict[str, Result] = {}

    def _path(self, nodeid: str) -> Path:
        return Path(self._order.results[nodeid.partition("::")[0]])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A test that never ends has this line alone."""
        self._outcome[nodeid] = Result(test=nodeid, outcome="started", at=datetime.now(UTC))
        append(self._path(nodeid), self._outcome[nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Set-up, the test itself, tear-down: the worst of the three counts."""
        if report.failed:
            with failures_path(self._path(report.nodeid)).open("a", encoding="utf-8") as failures:
                failures.write(_in_full(report))
        so_far = self._outcome[report.nodeid]
        worse = report.failed or so_far.outcome == "started" or (report.skipped and so_far.outcome == "passed")
        self._outcome[report.nodeid] = msgspec.structs.replace(
            so_far,
            outcome=report.outcome if worse else so_far.outcome,
            reason=(_reason(report) or so_far.reason) if worse else so_far.reason,
            seconds=round(so_far.seconds + report.duration, 3),
            figures={**so_far.figures, **_figures(report)},
        )

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """The line of the test is complete."""
        append(self._path(nodeid), self._outcome.pop(nodeid))


def _reason(report: pytest.TestReport) -> str:
    """Why it failed or was skipped, in one line without paths of this machine."""
    if isinstance(report.longrepr, tuple):
        text = report.longrepr[2].removeprefix("Skipped: ")
    elif crash := getattr(report.longrepr, "reprcrash", None):
        text = crash.message
    else:
        text = str(report.longrepr or "")
    line = " ".join(text.replace(f"{ROOT}/", "").split())
    return line if len(line) <= _MAX_REASON else f"{line[:_MAX_REASON]} ..."


def _in_full(report: pytest.TestReport) -> str:
    """The traceback and the captured output of a failure, below a line that names the test."""
    captured = "".join(f"\n--- {title} ---\n{text}" for title, text in report.sections)
    head = f"=== {datetime.now(UTC):%FT%TZ} {report.nodeid} ({report.when})"
    return f"{head}\n{report.longreprtext}{captured}\n\n"


def _figures(report: pytest.TestReport) -> dict[str, Any]:
    """What the test gave to `record_property`."""
    return dict(report.user_properties)
