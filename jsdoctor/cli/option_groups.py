"""Groups of options that commands share, each declared once; the decorator of a command names its groups.

A group is a function whose signature lists its options; it is never called. A decorated command gets the given options
of all its groups as one mapping, by option name, and its own options as arguments.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand

from jsdoctor.app.logs.engine import Engine
from jsdoctor.app.outputs import Color
from jsdoctor.cli import options as opt
from jsdoctor.cli import service_options as services
from jsdoctor.cli.capture_options import KeptLogs, KeptSince, KeptUntil

Given = dict[str, Any]
"""What was given for the options of a command's groups, by name; of the types that the groups declare."""

R = TypeVar("R")


def connection(
    server: opt.Server = None,
    context: opt.Context = None,
    user: opt.User = None,
    password: opt.Password = None,
    token: opt.Token = None,
    creds: opt.Creds = None,
    nkey: opt.Nkey = None,
    tlscert: opt.TlsCert = None,
    tlskey: opt.TlsKey = None,
    tlsca: opt.TlsCa = None,
    tlsfirst: opt.TlsFirst = False,
    js_domain: opt.JsDomain = None,
    js_api_prefix: opt.JsApiPrefix = None,
    timeout: opt.Timeout = None,
    budget: opt.Budget = None,
    no_context: opt.NoContext = False,
) -> None:
    """Where to connect and as whom."""


def live(
    monitor: opt.Monitor = None,
    ntp: opt.Ntp = None,
    scan: opt.Scan = None,
    digests: opt.Digests = False,
    host: opt.Host = False,
    samples: opt.Samples = None,
    interval: opt.Interval = None,
) -> None:
    """What to collect of a live deployment, and how often."""


def kept_logs(logs: KeptLogs = None, since: KeptSince = None, until: KeptUntil = None) -> None:
    """Logs of which a capture keeps lines."""


def captured(bundle: opt.Bundle = None, history: opt.History = None) -> None:
    """A deployment as it was."""


def prometheus(
    prometheus: services.Prometheus = None,
    prometheus_token: services.PrometheusToken = None,
    prometheus_header: services.PrometheusHeader = None,
    prometheus_match: services.PrometheusMatch = None,
    prometheus_since: services.PrometheusSince = None,
) -> None:
    """A deployment as its metrics show it."""


def loki(
    loki: services.Loki = None,
    loki_query: services.LokiQuery = None,
    loki_token: services.LokiToken = None,
    loki_header: services.LokiHeader = None,
    loki_label: services.LokiLabel = None,
) -> None:
    """Logs that a service keeps."""


def kubernetes(
    kube: services.Kube = False,
    namespace: services.KubeNamespace = None,
    kube_context: services.KubeContext = None,
) -> None:
    """A deployment in Kubernetes."""


def queries(show_queries: services.ShowQueries = False) -> None:
    """Output of queries to services."""


def spark(
    master: opt.Master = None,
    remote: opt.Remote = None,
    conf: opt.SparkConf = None,
    timezone: opt.Timezone = None,
    server_name: opt.ServerName = None,
    since: opt.Since = None,
    until: opt.Until = None,
) -> None:
    """Where and how logs are read."""


def logs(logs: opt.Logs = None, engine: opt.LogEngine = Engine.AUTO) -> None:
    """Logs beside other evidence, or alone."""


def manifests(manifest: opt.Manifest = None, all_findings: opt.AllFindings = False) -> None:
    """What is to be deployed, beside a deployment or alone."""


def comparison(
    drift: Annotated[
        bool, typer.Option("--drift", help="With --manifest, exit with 1 if the deployment differs from it.")
    ] = False,
) -> None:
    """What else is made of a deployment and its manifests."""


def packets(pcap: opt.Pcap = None) -> None:
    """What passed on the network."""


def rules(
    select: opt.Select = None,
    extend_select: opt.ExtendSelect = None,
    ignore: opt.Ignore = None,
    set_: opt.Set = None,
    rules: opt.Rules = None,
) -> None:
    """Which rules judge, with which parameters."""


def report(
    fail_on: opt.FailOn = None,
    baseline: opt.BaselineFile = None,
    exit_zero: opt.ExitZero = False,
    allow_gaps: opt.AllowGaps = False,
    format_: opt.Format = None,
    output: opt.Output = None,
    max_examples: opt.MaxExamples = None,
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = 0,
    color: opt.ColorChoice = Color.AUTO,
) -> None:
    """What becomes of the report."""


def answer(
    format_: opt.AnswerFormat = None,
    output: opt.Output = None,
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = 0,
    color: opt.ColorChoice = Color.AUTO,
) -> None:
    """What becomes of a diagnosis."""


def configuration(
    config: opt.Config = None, isolated: opt.Isolated = False, environment: opt.EnvironmentName = ""
) -> None:
    """Which configuration file, and which environment of it."""


def events(events: opt.Events = None) -> None:
    """What else is made of logs."""


def quiet(quiet: opt.QuietCapture = False) -> None:
    """How much is said on stderr."""


EVIDENCE = (connection, live, kubernetes, captured, prometheus, logs, loki, queries, manifests, packets, spark)
"""The groups of every command that collects evidence."""

CAPTURED = (connection, live, kubernetes, kept_logs, loki, queries, packets, configuration)
"""The groups of `capture`."""

JUDGING = (rules, report, configuration)
"""The groups of every command that judges."""


_OFTEN = ("server", "context", "select", "logs", "manifest", "bundle", "output", "format_", "fail_on", "verbose")
"""Options that stand first in a command's help."""


class SectionedCommand(TyperCommand):
    """A command whose help has the options that are used often first, and the others by their groups."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The sections in the order of the command's options, a group by the first line of its docstring."""
        groups: tuple[Callable[..., None], ...] = (quiet, events, answer, comparison, *CAPTURED, *JUDGING, *EVIDENCE)
        titles = {option.name: _title(group) for group in groups for option in _options_of(group)}
        sections: dict[str, list[tuple[str, str]]] = {"Often used": []}
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                name = parameter.name or ""
                sections.setdefault("Often used" if name in _OFTEN else titles.get(name, "Other"), []).append(record)
        sections["Other"] = sections.pop("Other", [])
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def _title(group: Callable[..., None]) -> str:
    return (group.__doc__ or "").partition("\n")[0].rstrip(".")


@cache
def _options_of(group: Callable[..., None]) -> tuple[inspect.Parameter, ...]:
    return tuple(inspect.signature(group, eval_str=True).parameters.values())


def takes(*groups: Callable[..., None]) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Give a command the options of these groups, after its own. Its first parameter receives what was given."""

    def decorate(command: Callable[..., R]) -> Callable[..., R]:
        signature = inspect.signature(command, eval_str=True)
        own = list(signature.parameters.values())[1:]
        shared = [option for group in groups for option in _options_of(group)]
        names = {option.name for option in shared}

        def run(**values: Any) -> R:
            given = {name: value for name, value in values.items() if name in names}
            rest = {name: value for name, value in values.items() if name not in names}
            return command(given, **rest)

        # typer needs both: the signature for the defaults, the annotations for the types.
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters = [option.replace(kind=keyword) for option in (*own, *shared)]
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {option.name: option.annotation for option in parameters}
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        return run

    return decorate
