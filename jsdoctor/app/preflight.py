"""Collects what a request names, and judges whether servers can be taken down, or run another release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic, sleep

from msgspec.structs import replace

from jsdoctor import __version__
from jsdoctor.app.collecting import collected, need_of
from jsdoctor.app.configuration import load_configuration
from jsdoctor.app.messages import LOGGED, Messages
from jsdoctor.app.request import StopRequest
from jsdoctor.app.rulebook import open_rulebook
from jsdoctor.configuration.file import Configuration
from jsdoctor.engine.preflight.choice import NoSuchServerError, chosen
from jsdoctor.engine.preflight.groups import Landscape
from jsdoctor.engine.preflight.judge import preflight
from jsdoctor.engine.preflight.release_changes import release_preflight
from jsdoctor.model.connections import Connections
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.harm import Harm
from jsdoctor.model.links import Links
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.logins import Logins
from jsdoctor.model.preflight import GoNoGo, Obstacle, Preflight, PreflightReport
from jsdoctor.model.problems import UsageProblem
from jsdoctor.model.raft import RaftGroups
from jsdoctor.model.server import ConnectedServer, Servers
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.remedy.families.settings import edit_stream
from jsdoctor.remedy.offer import flagged
from jsdoctor.remedy.operation import shell_commands
from jsdoctor.sources.base import Role, Source
from jsdoctor.sources.listing import sources_of
from jsdoctor.sources.request import EvidenceRequest
from jsdoctor.sources.rule_pages import known_defects, known_releases

_REQUIRED = (SnapshotSeries, Servers, RaftGroups)
_OPTIONAL = (Connections, Links, ConnectedServer)
_RETRY_S = 2.0


@dataclass(frozen=True, kw_only=True)
class PreflightRequest(StopRequest):
    """What the command line asked `jsdoctor preflight` for."""

    wanted: EvidenceRequest = EvidenceRequest()  # noqa: RUF009 - frozen, so one shared instance is safe


def run_preflight(request: PreflightRequest, messages: Messages = LOGGED) -> PreflightReport:
    """Collect and judge. Raises `UsageProblem` for servers that are not there, and for options that do not fit."""
    if not (request.without or request.each or request.target):
        raise UsageProblem(
            "no server and no release is named",
            "jsdoctor preflight --without n2 judges a stop, --each every single one, --target 2.12.8 a release",
        )
    if request.target and (request.without or request.each):
        raise UsageProblem("--target is about all servers", "judge a stop with --without in a run of its own")
    _ = request.outputs  # those that cannot be written end the run before it begins
    config = load_configuration(request)
    sources = sources_of(request.wanted)
    if request.wait_s and not any(source.role is Role.DEPLOYMENT and source.connects for source in sources):
        raise UsageProblem("--wait collects again, and what was captured stays as it is", "leave --wait out")
    began = monotonic()
    while True:
        report = _collect_and_judge(request, config, sources, messages)
        remaining_s = request.wait_s - (monotonic() - began)
        if remaining_s <= 0 or not may_pass(report):
            return report
        sleep(min(_RETRY_S, remaining_s))


def may_pass(report: PreflightReport) -> bool:
    """Whether the verdict may become `go` by waiting: for a server, a member that catches up, or an election."""
    waiting = [result for result in report.results if result.verdict is not GoNoGo.GO]
    lacks_login = any(not gap.requested for result in waiting for gap in result.unseen)
    return bool(waiting) and not lacks_login and all(_may_end(o, result) for result in waiting for o in result.standing)


def _may_end(obstacle: Obstacle, result: Preflight) -> bool:
    gone = set(obstacle.members) - set(obstacle.remaining) - set(result.without)
    return obstacle.harm in (Harm.NOT_CURRENT, Harm.NO_LEADER) or (obstacle.harm is Harm.QUORUM_LOST and bool(gone))


def _collect_and_judge(
    request: PreflightRequest, config: Configuration, sources: Sequence[Source], messages: Messages
) -> PreflightReport:
    wanted, started = request.wanted, datetime.now(UTC)
    need = need_of(_REQUIRED, _OPTIONAL)
    if request.target:
        need = need_of(_REQUIRED, (*_OPTIONAL, LogEvidence), open_rulebook().rules)
    collection = collected(wanted, need, config, messages, quiet=request.quiet, sources=sources)
    if collection.problem is not None:
        messages.notice(collection.problem.message, collection.problem.hint)
    evidence = collection.evidence
    results = [_judge_release(request, evidence)] if request.target else _judge_stops(request, evidence)
    return PreflightReport(
        version=__version__,
        started=started,
        finished=datetime.now(UTC),
        headline=collection.headline,
        sources=collection.origin,
        results=tuple(_with_commands(result, collection.logins) for result in results),
        each=request.each,
    )


def _judge_release(request: PreflightRequest, evidence: EvidenceSet) -> Preflight:
    return release_preflight(evidence, request.target, known_releases(), known_defects(), request.accepted)


def _judge_stops(request: PreflightRequest, evidence: EvidenceSet) -> list[Preflight]:
    landscape = Landscape(evidence)
    try:
        without = chosen(request.without, landscape)
    except NoSuchServerError as error:
        raise UsageProblem(str(error), f"servers: {', '.join(sorted(landscape.names)) or 'none responded'}") from None
    choices = [(*without, name) for name in sorted(landscape.by_name) if name not in without] if request.each else []
    return [preflight(evidence, choice, request.accepted, landscape) for choice in choices or [without]]


def _with_commands(result: Preflight, logins: Logins) -> Preflight:
    """The result with commands for its obstacles, and with login flags in these and in the hints of its gaps."""
    return replace(
        result,
        obstacles=tuple(_with_command(obstacle, logins) for obstacle in result.obstacles),
        unseen=tuple(flagged(gap, gap.subject, logins) for gap in result.unseen),
    )


def _with_command(obstacle: Obstacle, logins: Logins) -> Obstacle:
    commands = _commands(obstacle)
    needed = [login for text in commands if (login := logins.needed(text, obstacle.subject))] if logins.each else []
    return replace(
        obstacle,
        commands=tuple(logins.flagged(text, obstacle.subject) for text in commands),
        login=needed[0] if needed else "",
    )


def _commands(obstacle: Obstacle) -> Sequence[str]:
    """The commands that give the subject enough replicas to survive the stop."""
    subject = obstacle.subject
    if not obstacle.replicas or subject == CLUSTER:
        return ()
    if subject.kind == "stream":
        return edit_stream(subject, {"num_replicas": obstacle.replicas})
    return shell_commands(
        subject, "nats consumer edit {stream} {name} --replicas={replicas} -f", replicas=obstacle.replicas
    )
