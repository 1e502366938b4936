"""The options about logs, from what typer has read; commands share their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from jsdoctor.app.logs.engine import Engine
from jsdoctor.app.window import window_of
from jsdoctor.collect.logs.spark.choice import SparkChoice
from jsdoctor.collect.problems import Problem, UsageProblem
from jsdoctor.model.gap import Gap
from jsdoctor.model.report import Source
from jsdoctor.model.window import Window

_ONLY_WITH_LOGS = ("master", "remote", "conf", "timezone", "server_name")


class Selected(msgspec.Struct, frozen=True):
    """Properties of logs of which only selected lines are read.

    `signatures` are identities of those they were searched for, `incomplete`: such lines may be missing as well,
    `unkept` how many other lines each log has, by its name in reports. `words` names the service they were fetched
    from.
    """

    signatures: tuple[str, ...]
    incomplete: bool
    unkept: Mapping[str, int]
    words: str = ""


class FetchedLogs(msgspec.Struct, frozen=True, kw_only=True):
    """Logs that were fetched from a service into files, and have the lines of the time window only.

    `series` has a name for each path, under which it is a log of its own. `words` describes what was fetched.
    `incomplete`: lines may be missing. `problem` is why nothing was fetched.
    """

    source: Source
    series: Mapping[str, str] = msgspec.field(default_factory=dict)
    words: str = ""
    gaps: tuple[Gap, ...] = ()
    incomplete: bool = False
    problem: Problem | None = None


class LogRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The log options of the command line. Zones and names of servers are (pattern, value).

    `names` has the names in reports of paths that are not the user's, `series` names logs whose path does not identify
    the log; `gaps` is what is known to be missing. `fetched` describes logs that come from a service.
    """

    paths: tuple[str, ...]
    engine: Engine = Engine.AUTO
    spark: SparkChoice = msgspec.field(default_factory=SparkChoice)
    zones: tuple[tuple[str, str], ...] = ()
    servers: tuple[tuple[str, str], ...] = ()
    events: str | None = None
    window: Window | None = None
    names: Mapping[str, str] = msgspec.field(default_factory=dict)
    series: Mapping[str, str] = msgspec.field(default_factory=dict)
    gaps: tuple[Gap, ...] = ()
    selected: Selected | None = None
    fetched: FetchedLogs | None = None


def log_options(params: Mapping[str, Any]) -> LogRequest | None:
    """None where no logs are given. Raises `UsageProblem` for options that mean nothing without logs."""
    if params.get("logs"):
        return required_log_options(params)
    given = [f"--{name.replace('_', '-')}" for name in _ONLY_WITH_LOGS if params.get(name)]
    if params.get("engine", Engine.AUTO) is not Engine.AUTO:
        given.append("--engine")
    if given and not params.get("loki"):
        raise UsageProblem(f"{' and '.join(given)}: there are no logs to read", "add --logs PATH")
    return required_log_options({**params, "logs": ()}) if given else None


def required_log_options(params: Mapping[str, Any]) -> LogRequest:
    """The log options, where logs are required. Raises `UsageProblem` for options that exclude each other."""
    return LogRequest(
        paths=tuple(params["logs"]),
        engine=params["engine"],
        spark=SparkChoice(params["master"], params["remote"], dict(params["conf"] or ())),
        zones=tuple(params["timezone"] or ()),
        servers=tuple(params["server_name"] or ()),
        events=params.get("events"),
        window=window_of(params.get("since"), params.get("until")),
    )
