"""Short ways to what checks are given: servers, parameters of a rule, lines of logs."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from jsdoctor.engine.select import find_rule
from jsdoctor.model.finding import Finding
from jsdoctor.model.histogram import Histogram
from jsdoctor.model.log import Exemplar, LogTime, Occurrence
from jsdoctor.model.params import Params
from jsdoctor.model.server import Server, Varz
from tests.support.ruleset import overrides, rules

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
NOON_US = int(NOON.timestamp()) * 1_000_000


def after(**length: float) -> datetime:
    """So long after noon."""
    return NOON + timedelta(**length)


def log_time(seconds: float = 0) -> LogTime:
    """So long after noon, in a log."""
    return LogTime(NOON_US + int(seconds * 1_000_000), zoned=True)


def server(name: str = "n1", at: datetime = NOON, varz: dict[str, Any] | None = None, **more: Any) -> Server:
    """A server with these variables."""
    values: dict[str, Any] = {"server_id": f"ID-{name}", "varz": Varz(**{"now": at, **(varz or {})})}
    return Server(name=name, at=at, **values | more)


def params_of(code: str, **given: Any) -> Params:
    """The defaults of a rule, but for these, which are written as on its page."""
    defaults = {name: param.default for name, param in find_rule(rules(), code).params.items()}
    return Params.of(defaults, overrides(code, given))


def lines(signature: str, count: int = 1, *, logged_by: str = "n1", seconds: float = 0, **more: Any) -> Occurrence:
    """So many lines of a server, all at one time."""
    when = log_time(seconds)
    text = Exemplar(f"{logged_by}.log", 7, 700, "the line", when, more.pop("captured", ()))
    values: dict[str, Any] = {"count": count, "dated": count, "zoned": True, "exemplars": (text,)}
    values["histogram"] = Histogram.of([(when.us, when.us, count)])
    return Occurrence(signature=signature, logged_by=logged_by, **values | more)


def by_name(findings: Iterable[Finding]) -> dict[str, str]:
    """The outcome of each, by the name of its subject."""
    return {finding.subject.name: finding.outcome.value for finding in findings}
