"""What a user asks a run to read: a class for each source, whose fields are its options. An option is one field here.

The command line, the Python interface and the tools of the Model Context Protocol take them from here; see
`jsdoctor.model.option`. The first line of a class is the title of its section in the help of commands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, is_dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec

from jsdoctor.configuration.option_values import (
    Named,
    parse_header,
    parse_matchers,
    parse_query,
    parse_scan_target,
    parse_server_name,
    parse_spark_conf,
    parse_timezone,
)
from jsdoctor.logs.loki import LogQuery
from jsdoctor.model.duration import parse_positive_seconds
from jsdoctor.model.option import configured, given_options, option, option_fields, request_from
from jsdoctor.model.problems import UsageProblem
from jsdoctor.model.stored import ScanTarget
from jsdoctor.model.window import Window
from jsdoctor.sources.api_access import TOKENS
from jsdoctor.sources.archives.spark.choice import SparkChoice
from jsdoctor.sources.connect.options import ConnectionOptions, connection_options
from jsdoctor.sources.log_engine import Engine
from jsdoctor.sources.window import window_of


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRequest:
    """What to collect of a live deployment, and how often."""

    monitor: Annotated[
        tuple[str, ...], option("--monitor", metavar="URL", help="HTTP monitoring address of a server.")
    ] = ()
    ntp: Annotated[
        tuple[str, ...],
        option(
            "--ntp",
            metavar="HOST",
            help="NTP server to compare clocks with; three are best. Can be repeated.",
            commas=True,
        ),
    ] = ()
    scan: Annotated[
        tuple[ScanTarget, ...],
        option(
            "--scan",
            metavar="STREAM[:N]",
            help="Read headers of the newest N messages (default 200000) through a temporary consumer.",
            parse=parse_scan_target,
        ),
    ] = ()
    digests: Annotated[
        bool, option("--digests", help="With --scan: compare the contents of messages that share an id.")
    ] = False
    host: Annotated[
        bool, option("--this-host", help="Look at the nats-server processes of this host, too (Linux).")
    ] = False
    addresses: Annotated[
        bool,
        option("--addresses", help="Try the addresses that servers give to clients, from here; no login is sent."),
    ] = False
    samples: Annotated[
        int | None,
        option(
            "--samples", metavar="N", help="Number of samples; rate-based rules need at least 2.", least=1, default="2"
        ),
    ] = None
    interval_s: Annotated[
        float | None,
        option(
            "--interval", metavar="DURATION", help="Time between samples.", parse=parse_positive_seconds, default="2s"
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeRequest:
    """A deployment in Kubernetes."""

    wanted: Annotated[
        bool,
        option("--kube", help="Look at the NATS pods of Kubernetes: objects, monitoring ports and logs, with kubectl."),
    ] = False
    namespace: Annotated[
        str,
        option(
            *("--namespace", "-n"), metavar="NAMESPACE", help="Namespace for --kube.", default="that of the context"
        ),
    ] = ""
    context: Annotated[
        str,
        option(
            "--kube-context", metavar="NAME", help="Context of the kubeconfig for --kube.", default="the current one"
        ),
    ] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedRequest:
    """A deployment as it was."""

    bundle: Annotated[
        Path | None,
        option("--bundle", metavar="FILE", help="Check a file written by jsdoctor capture; opens no connection."),
    ] = None
    history: Annotated[
        Path | None,
        option(
            "--history",
            metavar="DIR",
            help="Directory of earlier bundles of the same deployment, for trends over hours.",
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PrometheusRequest:
    """A deployment as its metrics show it."""

    url: Annotated[
        str,
        option(
            "--prometheus",
            metavar="URL",
            help="Prometheus with metrics of NATS exporters: alone the evidence, beside a login its history.",
        ),
    ] = field(default="", repr=False)
    token: Annotated[
        str, option("--prometheus-token", metavar="TOKEN", help="Bearer token.", variable=TOKENS["--prometheus"])
    ] = field(default="", repr=False)
    headers: Annotated[
        tuple[tuple[str, str], ...],
        option(
            "--prometheus-header",
            metavar="NAME: VALUE",
            help="Header of each request, e.g. 'X-Scope-OrgID: team'.",
            parse=parse_header,
        ),
    ] = field(default=(), repr=False)
    match: Annotated[
        str,
        option(
            "--prometheus-match",
            metavar="MATCHERS",
            help="Label matchers that choose one deployment, e.g. 'job=\"nats\"'.",
            parse=parse_matchers,
        ),
    ] = ""
    since_s: Annotated[
        float,
        option(
            "--prometheus-since",
            metavar="DURATION",
            help="How far the history goes back, e.g. 72h.",
            parse=parse_positive_seconds,
            default="24h",
        ),
    ] = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LokiRequest:
    """Logs that a service keeps."""

    url: Annotated[
        str,
        option(
            "--loki",
            metavar="URL",
            help="Loki with log lines of NATS, alone or with other evidence; needs --loki-query.",
        ),
    ] = field(default="", repr=False)
    query: Annotated[
        LogQuery | None,
        option(
            "--loki-query",
            metavar="LOGQL",
            help="Log query for the lines of NATS, e.g. '{app=\"nats\"}'; of the last hour unless --since is given.",
            parse=parse_query,
        ),
    ] = None
    token: Annotated[str, option("--loki-token", metavar="TOKEN", help="Bearer token.", variable=TOKENS["--loki"])] = (
        field(default="", repr=False)
    )
    headers: Annotated[
        tuple[tuple[str, str], ...],
        option(
            "--loki-header",
            metavar="NAME: VALUE",
            help="Header of each request, e.g. 'X-Scope-OrgID: team'.",
            parse=parse_header,
        ),
    ] = field(default=(), repr=False)
    labels: Annotated[
        tuple[str, ...],
        option("--loki-label", metavar="LABEL", help="Label that distinguishes servers.", default="found out"),
    ] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRequest:
    """Output of queries to services."""

    shown: Annotated[bool, option("--show-queries", help="Print each query to Prometheus and Loki on stderr.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRequest:
    """Logs beside other evidence, or alone."""

    paths: Annotated[
        tuple[str, ...],
        option("--logs", metavar="PATH", help="Logs, alone or with other evidence: file, directory, glob."),
    ] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderRequest:
    """Where and how logs are read.

    Zones and names of servers are for files like a pattern.
    """

    engine: Annotated[
        Engine, option("--engine", help="Log engine. auto: local processes, and Spark from 2 GiB of text.")
    ] = Engine.AUTO
    master: Annotated[
        str | None,
        option("--master", metavar="URL", help="Spark cluster to read logs on, e.g. spark://host:7077."),
    ] = None
    remote: Annotated[
        str | None, option("--remote", metavar="URL", help="Spark Connect server, e.g. sc://host:15002.")
    ] = None
    conf: Annotated[
        tuple[Named, ...], option("--conf", metavar="KEY=VALUE", help="Spark setting.", parse=parse_spark_conf)
    ] = ()
    zones: Annotated[
        tuple[Named, ...],
        option(
            "--timezone",
            metavar="[PATTERN=]ZONE",
            help="Time zone of timestamps without one, e.g. Europe/Berlin, optionally per file PATTERN.",
            parse=parse_timezone,
        ),
    ] = ()
    servers: Annotated[
        tuple[Named, ...],
        option(
            "--server-name",
            metavar="[PATTERN=]NAME",
            help="Name of the server that wrote logs without a name, optionally per file PATTERN.",
            parse=parse_server_name,
        ),
    ] = ()

    @property
    def spark(self) -> SparkChoice:
        """The Spark that was chosen."""
        return SparkChoice(self.master, self.remote, dict(self.conf))


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsRequest:
    """What else is made of logs."""

    directory: Annotated[
        str | None,
        option("--events", metavar="DIR", help="Write every event to this directory as Parquet, by date and server."),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimesRequest:
    """Which times of logs and history are read."""

    since: Annotated[
        str | None,
        option(
            "--since", metavar="TIME", help="Read logs and history from here on: 2h (ago), or an ISO time (local zone)."
        ),
    ] = None
    until: Annotated[
        str | None,
        option("--until", metavar="TIME", help="Read logs and history up to here: 30m (ago), or an ISO time."),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestRequest:
    """What is to be deployed, beside a deployment or alone."""

    paths: Annotated[
        tuple[str, ...],
        option(
            "--manifest",
            metavar="PATH",
            help="Manifests to check: file, directory, glob or -; with -s or --bundle, check the change.",
        ),
    ] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketRequest:
    """What passed on the network."""

    captures: Annotated[
        tuple[Path, ...],
        option(
            "--pcap",
            metavar="FILE",
            help="Packet captures (pcap, pcapng, gzip): file, directory, glob, pipe or -; repeat for both ends.",
        ),
    ] = ()


class PastedText(msgspec.Struct, frozen=True):
    """Replies or output of commands that were pasted or saved: from where, and when they were written at the latest."""

    name: str
    text: str
    at: datetime


class UnreadableFile(msgspec.Struct, frozen=True):
    """A given file that is no kind of evidence, and the reason."""

    name: str
    why: str


class EvidenceRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a run is to read.

    `window` narrows logs and history. `files`: files were named, whether or not there is evidence in them; `pasted` and
    `unrecognised` are of them.
    """

    connection: ConnectionOptions = ConnectionOptions()
    live: LiveRequest = LiveRequest()
    kube: KubeRequest = KubeRequest()
    captured: CapturedRequest = CapturedRequest()
    prometheus: PrometheusRequest = PrometheusRequest()
    logs: LogRequest = LogRequest()
    loki: LokiRequest = LokiRequest()
    queries: QueryRequest = QueryRequest()
    manifests: ManifestRequest = ManifestRequest()
    packets: PacketRequest = PacketRequest()
    reader: ReaderRequest = ReaderRequest()
    events: EventsRequest = EventsRequest()
    window: Window | None = None
    files: bool = False
    pasted: tuple[PastedText, ...] = ()
    unrecognised: tuple[UnreadableFile, ...] = ()


REQUESTS: tuple[type, ...] = (
    ConnectionOptions,
    LiveRequest,
    KubeRequest,
    CapturedRequest,
    PrometheusRequest,
    LogRequest,
    LokiRequest,
    QueryRequest,
    ManifestRequest,
    PacketRequest,
    ReaderRequest,
    TimesRequest,
)
"""The requests of every command that collects evidence, in the order of its help."""

_DEPENDENT: tuple[tuple[str, Callable[[EvidenceRequest], object], str, str], ...] = (
    ("kube", lambda wanted: wanted.kube.wanted, "Kubernetes is not queried", "add --kube"),
    ("prometheus", lambda wanted: wanted.prometheus.url, "no Prometheus is named", "add --prometheus URL"),
    ("loki", lambda wanted: wanted.loki.url, "no Loki is named", "add --loki URL"),
    (
        "queries",
        lambda wanted: wanted.prometheus.url or wanted.loki.url,
        "no service is queried",
        "add --prometheus URL or --loki URL",
    ),
    (
        "reader",
        lambda wanted: (
            wanted.logs.paths or wanted.loki.url or wanted.kube.wanted or wanted.captured.bundle or wanted.files
        ),
        "there are no logs to read",
        "add --logs PATH",
    ),
)
"""Requests whose options need another option: the request, what it needs, why, and the hint."""


_SOURCES = ("--kube", "--prometheus", "--loki")
"""Options that name a source; the file sets how one is read, and does not add one to a run."""


def _request_types() -> dict[str, Any]:
    return {field.name: field.type for field in msgspec.structs.fields(EvidenceRequest)}


def source_options() -> dict[str, Callable[[object], object]]:
    """The readers of the options that a configuration file may set, by name: those that set how a source is read.

    Tokens are not among them: they are given in variables.
    """
    kinds = _request_types()
    return {
        field.option.names[0].lstrip("-"): partial(configured, field)
        for name, *_ in _DEPENDENT
        for field in option_fields(kinds[name])
        if field.option.names[0] not in _SOURCES and not field.option.variable
    }


def evidence_request(
    given: Mapping[str, Any], settings: Mapping[str, object] | None = None, *, files: bool = False
) -> EvidenceRequest:
    """The request with what was given, by the keys of options. Raises `UsageProblem` for what does not fit.

    `settings` are those of a configuration file, by name, for options that were not given; they have no effect without
    the source that they belong to. `files`: files are named beside the options, which may be logs.
    """
    kinds = _request_types()
    unset = {key: value for name, value in (settings or {}).items() if not given.get(key := name.replace("-", "_"))}
    try:
        requests: dict[str, Any] = {
            name: request_from(kind, {**given, **unset})
            for name, kind in kinds.items()
            if is_dataclass(kind) and isinstance(kind, type) and kind is not ConnectionOptions
        }
    except ValueError as error:
        raise UsageProblem(str(error), "jsdoctor check --help lists the options") from None
    window = window_of(given.get("since"), given.get("until"))
    wanted = EvidenceRequest(connection=connection_options(given), window=window, files=files, **requests)
    for name, needed, why, hint in _DEPENDENT:
        if (options := given_options(request_from(kinds[name], given))) and not needed(wanted):
            raise UsageProblem(f"{' and '.join(options)}: {why}", hint)
    if wanted.live.digests and not wanted.live.scan:
        raise UsageProblem(
            "--digests compares messages of streams that are read, and none is named", "add --scan STREAM"
        )
    if wanted.loki.url and wanted.loki.query is None:
        raise UsageProblem(
            "--loki: the log lines of NATS are not selected", "write it as --loki-query '{app=\"nats\"}'"
        )
    if wanted.loki.url and not wanted.reader.spark.is_local:
        raise UsageProblem(
            f"{given_options(wanted.reader)[0]} cannot be given with --loki",
            "lines of Loki are in files of this machine for one run only",
        )
    return wanted
