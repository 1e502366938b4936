"""A capture: collection, redaction, the bundle, and one line on what is in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from jsdoctor import __version__
from jsdoctor.app.api_access import api_secrets
from jsdoctor.app.configuration import load_configuration
from jsdoctor.app.connection import resolve_logins
from jsdoctor.app.evidence import Gathered, gather_live, with_exchanges
from jsdoctor.app.evidence_request import EvidenceRequest
from jsdoctor.app.headline import headline
from jsdoctor.app.judging import JudgeRequest, Judging, open_judging
from jsdoctor.app.log_services import with_service_logs
from jsdoctor.app.logs.captured import SelectedLogs, log_gaps, searched_for, select_logs
from jsdoctor.app.logs.options import LogRequest
from jsdoctor.app.messages import LOGGED, Messages
from jsdoctor.app.outputs import OutputTarget
from jsdoctor.app.sampling_plan import pace
from jsdoctor.collect.bundle.write import require_place, write_bundle
from jsdoctor.collect.connect.settings import ConnectionSettings
from jsdoctor.collect.live.monitor_url import parse_monitor_url
from jsdoctor.collect.logs.selected import SelectedLog
from jsdoctor.collect.problems import Problem
from jsdoctor.engine.planner import CollectionPlan
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.exchange import Sample
from jsdoctor.model.gap import Gap
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.report import Report
from jsdoctor.model.server import ConnectedServer, Servers
from jsdoctor.model.wording import counted
from jsdoctor.parse.assemble import assemble
from jsdoctor.parse.bundle import ServerNote, encode_bundle
from jsdoctor.parse.redact import Secret, redact
from jsdoctor.render.escape import printable

REPORT = "report.html"
"""The member with the report, which readers of the evidence ignore."""
PageWriter = Callable[[Judging, Report], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureRequest:
    """What to capture, and where to. None: not given. `report` writes the page that the bundle gets as well."""

    wanted: EvidenceRequest
    output: Path
    force: bool = False
    config: Path | None = None
    isolated: bool = False
    environment: str = ""
    logs: LogRequest | None = None
    report: PageWriter | None = None


@dataclass(frozen=True, slots=True)
class CaptureOutcome:
    """The result of a capture: a line on the bundle, empty if no server responded, and the missing evidence."""

    summary: str = ""
    missing: tuple[Gap, ...] = ()
    problem: Problem | None = None
    too_short: tuple[str, ...] = ()


def capture_to_file(
    request: CaptureRequest, show: Callable[[str], None], messages: Messages = LOGGED
) -> CaptureOutcome:
    """Collect, redact secrets and write the bundle; the only output goes to `show`."""
    require_place(request.output, request.force)
    config = load_configuration(request.config, request.isolated, request.environment)
    wanted = request.wanted
    logins = resolve_logins(wanted.connection, config)
    monitor = wanted.monitor or config.monitor or ()
    samples, interval_s = pace(wanted.samples, wanted.interval_s, config)
    ntp = wanted.ntp or config.ntp or ()
    plan = CollectionPlan(
        samples=samples,
        interval_s=interval_s,
        timeout_s=logins[0].timeout_s,
        ntp=ntp,
        scan=wanted.scan,
        scan_ids=bool(wanted.scan),
        scan_contents=wanted.digests,
        host=wanted.host,
    )
    secrets = [secret for login in logins for secret in known_secrets(login, monitor)]
    secrets += api_secrets("--loki", wanted.loki) if wanted.loki else ()
    live = _gathered(wanted, logins, monitor, plan, show)
    if live is not None and not any(sample.exchanges for sample in live.samples):
        return CaptureOutcome(problem=live.problem)
    gathered = _with_packets(live or _without_deployment(), wanted, show)
    selected = _selected(request, logins[0], show)
    problem = gathered.problem or (selected.fetched.problem if selected.fetched else None)
    if live is None and not (selected.logs or wanted.packets):
        gap = selected.unread[0].gaps[0]
        return CaptureOutcome(problem=problem or Problem(gap.reason, gap.how_to_get))
    show("taking secrets out")
    clean = redact((*gathered.samples, *selected.unread), dict.fromkeys(secrets), [log.text for log in selected.logs])
    taken, unread = clean.samples[: len(gathered.samples)], clean.samples[len(gathered.samples) :]
    logs, services = selected.members(clean.texts), selected.services(unread)
    evidence = assemble(taken)
    show("writing the bundle")
    members = encode_bundle(
        taken,
        created=datetime.now(UTC),
        version=__version__,
        servers=_servers(evidence),
        redactions=clean.counts,
        logs=logs,
        signatures=searched_for() if logs else (),
        log_services=services,
    )
    size = write_bundle(request.output, members, request.force)
    if request.report:
        show("writing the report into the bundle")
        size = write_bundle(
            request.output, [*members, (REPORT, _report_on(request, request.report, messages))], force=True
        )
    missing = (
        *(gap for gap in evidence.gaps if gap.requested),
        *(gap for service in services for gap in service.gaps),
        *log_gaps([log.note for log in logs]),
    )
    parts = [
        headline(evidence, taken),
        _log_words(selected.logs),
        f"{sum(clean.counts.values())} secrets taken out",
        counted(len(missing), "gap"),
    ]
    summary = printable(f"{request.output}: {size:,} bytes: {', '.join(part for part in parts if part)}")
    return CaptureOutcome(summary, missing, problem, tuple(clean.too_short))


def _with_packets(gathered: Gathered, wanted: EvidenceRequest, show: Callable[[str], None]) -> Gathered:
    """With what packets show, which is read after the samples."""
    if not wanted.packets:
        return gathered
    from jsdoctor.app.packets.reading import read_packets
    from jsdoctor.parse.packets.kept import packets_exchange

    read = read_packets(wanted.packets, show)
    names = [source.name for source in read.sources]
    if not isinstance(read.evidence, PacketEvidence):
        raise TypeError("packets were read and are no packets")
    kept = packets_exchange(read.evidence, names, read.sources[0].collected_at)
    return replace(gathered, samples=with_exchanges(gathered.samples, last=(kept,)))


def _report_on(request: CaptureRequest, page: PageWriter, messages: Messages) -> bytes:
    """The HTML page that `check --bundle` writes of the bundle, with the configuration of this run."""
    from jsdoctor.app.collecting import collect

    judging = open_judging(
        JudgeRequest(
            outputs=(OutputTarget("html", Path(REPORT)),),
            quiet=True,
            config=request.config,
            isolated=request.isolated,
            environment=request.environment,
        )
    )
    return page(judging, collect(EvidenceRequest(bundle=request.output), judging, messages).report()).encode()


def _selected(request: CaptureRequest, settings: ConnectionSettings, show: Callable[[str], None]) -> SelectedLogs:
    """The lines that are kept of the logs that were named, of Loki and of the pods."""
    window = request.logs.window if request.logs else None
    with with_service_logs(request.wanted, lambda: settings, request.logs, window, show) as logs:
        return select_logs(logs, show)


def _without_deployment() -> Gathered:
    """An empty collection, for a bundle of logs alone."""
    return Gathered((Sample(taken_at=datetime.now(UTC), exchanges=()),), ())


def _gathered(
    wanted: EvidenceRequest,
    logins: Sequence[ConnectionSettings],
    monitor: Sequence[str],
    plan: CollectionPlan,
    show: Callable[[str], None],
) -> Gathered | None:
    """What the deployment shows. None where there are only lines of Loki to capture, as no deployment is named."""
    if wanted.kube is None:
        named = monitor or plan.host or logins[0].origins["servers"] != "default"
        if wanted.loki is not None and not named:
            return None
        return gather_live(logins, monitor, plan, show)
    from jsdoctor.app.kube.reading import gather_through_kube

    return gather_through_kube(wanted.kube, logins, monitor, plan, show)


def _log_words(selected: Sequence[SelectedLog]) -> str:
    """The number of kept log lines, as text; empty if none were read."""
    if not selected:
        return ""
    kept, lines = sum(log.kept for log in selected), sum(log.lines for log in selected)
    return f"{kept:,} of {lines:,} lines of {counted(len(selected), 'log')}"


def _servers(evidence: EvidenceSet) -> list[ServerNote]:
    servers, connected = evidence.get(Servers), evidence.get(ConnectedServer)
    if servers is not None:
        return [ServerNote(server.name, server.version) for server in servers.servers]
    return [ServerNote(connected.server_name, connected.version)] if connected is not None else []


_KEY_LINE = re.compile(r"^[A-Za-z0-9+/=]{16,}$", re.MULTILINE)


def known_secrets(settings: ConnectionSettings, monitor: Iterable[str] = ()) -> tuple[Secret, ...]:
    """Every secret of the settings and of the monitoring URLs. Raises UsageProblem for a URL that is none."""
    return tuple(dict.fromkeys(_all(settings, monitor)))


def _all(settings: ConnectionSettings, monitor: Iterable[str]) -> Iterator[Secret]:
    for login in (settings.login, *settings.server_logins):
        for kind in ("password", "token", "jwt", "seed"):
            if text := getattr(login, kind):
                yield Secret(kind, text)
    for url in monitor:
        if (named := parse_monitor_url(url).login) and named[1]:
            yield Secret("password", named[1])
    if settings.tls_key is not None:
        yield from (Secret("tls_key", line) for line in _key_lines(settings.tls_key))


def _key_lines(path: Path) -> list[str]:
    """The lines between BEGIN and END: a copy may have lost these."""
    try:
        return _KEY_LINE.findall(path.read_text("ascii", errors="replace"))
    except OSError:
        return []  # it could be read when the settings were made; now it is gone, and nothing was read from it
