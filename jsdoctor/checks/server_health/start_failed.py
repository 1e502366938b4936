"""JSD817: servers that did not come up, refused their configuration, or share a name.

From manifests: a configuration with which no server starts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.log_findings import finding_of, is_recent
from jsdoctor.checks.logs.log_incidents import index_of
from jsdoctor.checks.logs.words import times, zoned
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, Severity, Subject, failed, suspected
from jsdoctor.model.log import Exemplar, LogEvidence, ProcessRun
from jsdoctor.model.manifest import DeclaredServers, Manifests, Mistake

_NOT_A_REFUSAL = re.compile(
    r"vN\.|configuration file .* is valid|(?:no|multiple) nats-server processes running"
    r"|(?:invalid|unknown) (?:pid|signal)|(?:started|stopped|restarted)$"
)
"""Other texts after `nats-server: `: a version, a tested configuration, a signal, and messages of supervisors."""
_SHOWN = 3


@check("server_health.start_failed_logged", lines_of="any")
def start_failed_logged(logs: LogEvidence) -> Iterator[Finding]:
    """Report fatal lines, which end the process, and refused configurations, which are only printed to stderr."""
    servers = dict.fromkeys(run.server for run in logs.runs if run.end == "failed")
    for server in servers:
        yield _fatal(server, index_of(logs).runs_of(server))
    for run in logs.runs:
        if run.fatal and run.end == "open" and run.server not in servers:
            yield suspected(
                Subject(kind="server", name=run.server),
                f"a line marked [FTL] has neither date nor process id nor the words of a server: {run.fatal}",
                "give the line as the server wrote it",
            )
    for burst in _refused(logs):
        if burst.subject.name not in servers:
            yield _refusal(logs, burst)
    for burst in bursts(logs, "server-name-duplicate", calm=False):
        yield finding_of(
            burst,
            f"another server has the same name, {burst.values('remote')}: {burst.story}. JetStream knows its members by"
            " name: their streams get into each other's way",
            None if is_recent(logs, burst) else Severity.WARNING,
        )


def _refused(logs: LogEvidence) -> Iterator[Burst]:
    """Starts that were refused, without other messages of that form.

    Their lines have no time. In the log of an earlier process they get that of its last line, as if part of its stop.
    """
    for burst in bursts(logs, "start-refused", calm=False):
        starts = tuple(occurrence for occurrence in burst.found if not _NOT_A_REFUSAL.match(occurrence.value("reason")))
        if starts:
            yield replace(burst, found=starts, count=sum(occurrence.count for occurrence in starts))


def _refusal(logs: LogEvidence, burst: Burst) -> Finding:
    lines = [line for occurrence in burst.found for line in occurrence.exemplars]
    texts = dict.fromkeys(reason for line in lines if (reason := dict(line.fields).get("reason")))
    message = f"a start was refused: {'; '.join(list(texts)[-_SHOWN:])}"
    last = max(lines, key=lambda line: (line.at.us if line.at else 0, line.offset), default=None)
    if last is None or not any(_serves_after(run, burst, last) for run in logs.runs):
        return finding_of(burst, message, Severity.ERROR)
    sequel = "; a process of the server logged after it"
    return finding_of(burst, message + sequel, Severity.WARNING if burst.count > 1 else Severity.INFO)


def _serves_after(run: ProcessRun, burst: Burst, line: Exemplar) -> bool:
    """Whether a process of the server that came up logged anything after a line."""
    start = run.exemplar
    if run.ready is None or run.server != burst.subject.name:
        return False
    if start is not None and start.file == line.file and start.offset > line.offset:
        return True
    at, last = line.at, run.last
    return at is not None and last is not None and at.dated and at.zoned == last.zoned and last.us > at.us


def _fatal(server: str, runs: Sequence[ProcessRun]) -> Finding:
    failed_runs = [run for run in runs if run.end == "failed"]
    last, line = failed_runs[-1], failed_runs[-1].exemplar
    up = any(run.ready is not None or run.end in ("clean", "lame duck") for run in runs[runs.index(last) + 1 :])
    sequel = "it has come up since" if up else "it has not come up since"
    return failed(
        Subject(kind="server", name=server),
        f"it failed {times(len(failed_runs))} with a fatal error, last at {last.last}: {last.fatal}; {sequel}",
        Observation(line.file if line else server, "fatal line", last.fatal, zoned(last.last)),
        severity=None if not up else Severity.WARNING if len(failed_runs) > 1 else Severity.INFO,
        measured=(len(failed_runs), None, "count"),
        between=(zoned(failed_runs[0].last), zoned(last.last)),
    )


def _unnamed(servers: DeclaredServers) -> Iterator[Mistake]:
    """Missing names that JetStream in a cluster needs; ignored if arguments that are not shown may set them."""
    clustered = servers.get("cluster_listens") or (servers.what == "container" and servers.get("clustered"))
    if servers.is_chart or servers.get("jetstream") is not True or not clustered:
        return
    started = servers.what == "container" or servers.get("started") is True
    for setting, field, argument in (
        ("server_name", "server_name", "--name"),
        ("cluster_name", "cluster.name", "--cluster_name"),
    ):
        if not servers.get(setting) and setting not in servers.unclear:
            text = f"{field} is missing, and JetStream in a cluster does not start without it"
            unless = "" if started else f" or the argument {argument}"
            yield Mistake(servers.at("clustered"), text + unless, ignored=not started)


@check("server_health.start_failed_declared", also_mounted=True)
def start_failed_declared(manifests: Manifests) -> Iterator[Finding]:
    """Report mistakes in settings that other rules read. None is no pass: `nats-server -t` checks all settings."""
    for servers in manifests.servers:
        mistakes = (*servers.mistakes, *_unnamed(servers))
        wrong = [mistake for mistake in mistakes if not mistake.ignored]
        reported = wrong or mistakes
        if not reported:
            continue
        unsure = all(mistake.unsure for mistake in reported)  # only some servers refuse it
        what = "this cannot be deployed" if servers.is_chart else "no server starts with this"
        yield failed(
            servers.subject,
            (f"{what}: " if wrong else "") + "; ".join(dict.fromkeys(mistake.says for mistake in reported)),
            *(mistake.place.shows(mistake.says) for mistake in reported),
            severity=Severity.ERROR if wrong else Severity.INFO if unsure else Severity.WARNING,
        )
