"""A capture: collection, redaction, the bundle, and one line on what is in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from jsdoctor import __version__
from jsdoctor.app.configuration import load_configuration
from jsdoctor.app.judging import Judging, open_judging
from jsdoctor.app.messages import LOGGED, Messages
from jsdoctor.app.outputs import OutputTarget
from jsdoctor.app.request import ConfigurationRequest, JudgeRequest
from jsdoctor.app.rulebook import open_rulebook
from jsdoctor.bundles.bundle import ServerNote, encode_bundle
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.exchange import Sample
from jsdoctor.model.gap import Gap
from jsdoctor.model.problems import Problem
from jsdoctor.model.report import Report
from jsdoctor.model.server import ConnectedServer, Servers
from jsdoctor.model.wording import counted
from jsdoctor.redaction.redact import Secret, redact
from jsdoctor.render.escape import printable
from jsdoctor.replies.assemble import assemble
from jsdoctor.sources.api_access import api_secrets
from jsdoctor.sources.archives.selected import SelectedLog
from jsdoctor.sources.base import Need, Role, Run
from jsdoctor.sources.bundle.source import log_gaps
from jsdoctor.sources.bundle.write import require_place, write_bundle
from jsdoctor.sources.collect import opened
from jsdoctor.sources.connect.settings import ConnectionSettings
from jsdoctor.sources.connection import resolve_logins
from jsdoctor.sources.headline import headline
from jsdoctor.sources.listing import sources_of
from jsdoctor.sources.log_selection import searched_for, select_logs
from jsdoctor.sources.request import CapturedRequest, EvidenceRequest
from jsdoctor.sources.servers.monitor_url import parse_monitor_url

REPORT = "report.html"
"""The member with the report, which readers of the evidence ignore."""
PageWriter = Callable[[Judging, Report], str]


@dataclass(frozen=True, kw_only=True)
class CaptureRequest(ConfigurationRequest):
    """What to capture, and where to. `report` writes the page that the bundle gets as well."""

    wanted: EvidenceRequest
    output: Path
    force: bool = False
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
    config = load_configuration(request)
    wanted = request.wanted
    logins = resolve_logins(wanted.connection, config)
    monitor = wanted.live.monitor or config.monitor or ()
    secrets = [secret for login in logins for secret in known_secrets(login, monitor)]
    secrets += api_secrets("--loki", wanted.loki) if wanted.loki.url else ()
    has_place = monitor or wanted.kube.wanted or wanted.live.host or logins[0].origins["servers"] != "default"
    sources = sources_of(wanted, live=bool(has_place or not wanted.loki.url))
    need, run = Need(None, open_rulebook().rules), Run(config, show, messages.notice, wanted.window)
    with opened(sources, need, run) as collection:
        samples, problem = collection.samples, collection.problem
        live = any(source.role is Role.DEPLOYMENT for source in sources)
        if live and not any(sample.exchanges for sample in samples):
            return CaptureOutcome(problem=problem)
        selected = select_logs(collection.logs, need, run)
    if not samples and not selected.logs:
        gap = selected.unread[0].gaps[0]
        return CaptureOutcome(problem=problem or Problem(gap.reason, gap.how_to_get))
    samples = samples or (Sample(taken_at=datetime.now(UTC), exchanges=()),)
    show("taking secrets out")
    clean = redact((*samples, *selected.unread), dict.fromkeys(secrets), [log.text for log in selected.logs])
    taken, unread = clean.samples[: len(samples)], clean.samples[len(samples) :]
    logs, services = selected.members(clean.texts), selected.services(unread)
    evidence = assemble(taken)
    show("writing the bundle")
    members = encode_bundle(
        taken,
        created=datetime.now(UTC),
        version=__version__,
        servers=_server_notes(evidence),
        redactions=clean.counts,
        logs=logs,
        signatures=searched_for(need) if logs else (),
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


def _report_on(request: CaptureRequest, page: PageWriter, messages: Messages) -> bytes:
    """The HTML report of the bundle that was just written, by the configuration of this run."""
    from jsdoctor.app.collecting import collect

    judging = open_judging(
        JudgeRequest(output=(OutputTarget("html", Path(REPORT)),), quiet=True, **vars(request.configuration))
    )
    return page(
        judging, collect(EvidenceRequest(captured=CapturedRequest(bundle=request.output)), judging, messages).report()
    ).encode()


def _log_words(selected: Sequence[SelectedLog]) -> str:
    """The number of kept log lines, as text; empty if none were read."""
    if not selected:
        return ""
    kept, lines = sum(log.kept for log in selected), sum(log.lines for log in selected)
    return f"{kept:,} of {lines:,} lines of {counted(len(selected), 'log')}"


def _server_notes(evidence: EvidenceSet) -> list[ServerNote]:
    servers, connected = evidence.get(Servers), evidence.get(ConnectedServer)
    if servers is not None:
        return [ServerNote(server.name, server.version) for server in servers.servers]
    return [ServerNote(connected.server_name, connected.version)] if connected is not None else []


_KEY_LINE = re.compile(r"^[A-Za-z0-9+/=]{16,}$", re.MULTILINE)


def known_secrets(settings: ConnectionSettings, monitor: Iterable[str] = ()) -> tuple[Secret, ...]:
    """Every secret of the settings and of the monitoring URLs. Raises UsageProblem for a URL that is none."""
    return tuple(dict.fromkeys(_secrets_of(settings, monitor)))


def _secrets_of(settings: ConnectionSettings, monitor: Iterable[str]) -> Iterator[Secret]:
    for login in (settings.login, *settings.server_logins):
        for kind in ("password", "token", "jwt", "seed"):
            if text := getattr(login, kind):
                yield Secret(kind, text)
    for url in monitor:
        _, password = parse_monitor_url(url).login or ("", "")
        if password:
            yield Secret("password", password)
    if settings.tls_key is not None:
        yield from (Secret("tls_key", line) for line in _key_lines(settings.tls_key))


def _key_lines(path: Path) -> list[str]:
    """The lines of a PEM file between BEGIN and END. A copy of the key may lack those two."""
    try:
        return _KEY_LINE.findall(path.read_text("ascii", errors="replace"))
    except OSError:
        return []  # it could be read when the settings were made; now it is gone, and nothing was read from it
