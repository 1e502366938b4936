"""Making the plan of a fix: collect from the deployment, judge, and draft steps for what fails."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from jsdoctor import __version__
from jsdoctor.app.fix.evidence import FixCollector, connected
from jsdoctor.app.fix.request import FixRequest, check_choices
from jsdoctor.app.messages import LOGGED, Messages
from jsdoctor.model.exchange import Access, Sample
from jsdoctor.model.finding import Outcome
from jsdoctor.model.plan import Choice, Plan
from jsdoctor.model.problems import Problem, UsageProblem
from jsdoctor.model.server import Accounts, Servers
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.wording import counted
from jsdoctor.redaction.raw_configs import raw_configs
from jsdoctor.remedy.backup.files import META, BackupProblem, data_file, read_note, sha256_of
from jsdoctor.remedy.families.peers import Witness
from jsdoctor.remedy.journal import shareable
from jsdoctor.remedy.offer import step_with_login
from jsdoctor.remedy.plan import draft
from jsdoctor.replies.assemble import assemble
from jsdoctor.replies.logins import logins_of, samples_by_login
from jsdoctor.sources.bundle.read import BundleProblem, read_bundle
from jsdoctor.sources.connection import flags_of
from jsdoctor.sources.headline import headline


def make_plan(request: FixRequest, collector: FixCollector, messages: Messages = LOGGED) -> Plan:
    """Collect, judge and draft steps; nothing is written. Waived and accepted findings get no steps.

    Raises `Problem`.
    """
    rulebook = collector.judging.rulebook
    check_choices(request.remedies, rulebook.actions().keys(), [rule.code for rule in rulebook.rules])
    every_account = any(choice.action == REMOVE_PEER for choice in request.remedies)
    check = f"jsdoctor check{flags_of(collector.logins)}"
    samples = asyncio.run(_collected(replace(collector, every_account=every_account)))
    evidence = assemble(samples)
    if evidence.get(SnapshotSeries) is None:
        gap = next(iter(evidence.gaps), None)
        raise Problem(
            f"no stream could be checked{f': {gap.reason}' if gap else ''}",
            gap.how_to_get if gap else f"{check} shows more",
        )
    logins = logins_of(samples, [login.flags for login in collector.logins])
    report = collector.judging.report(evidence, (), headline(evidence, samples), logins)
    exchanges = [exchange for sample in samples for exchange in sample.exchanges]
    choices = [with_witnesses(choice, samples) for choice in request.remedies]
    configs, incidents = raw_configs(exchanges), report.incidents
    drafted = draft(report.failures(), rulebook.actions(), evidence, configs, choices, incidents=incidents)
    undecided = [r for r in report.results if r.finding.outcome in (Outcome.NOT_EVALUATED, Outcome.ERROR)]
    if undecided and not request.judge.quiet:
        what = f"{counted(len(undecided), 'result')} of rules could not be decided"
        messages.notice(f"{what}: nothing is planned for those", f"{check} shows which, and why")
    return shareable(
        Plan(
            version=__version__,
            created=datetime.now(UTC),
            api_prefix=collector.api_prefix,
            headline=report.headline,
            parameters=collector.values,
            steps=tuple(step_with_login(step, logins) for step in drafted.steps),
            refused=drafted.refused,
        )
    )


async def _collected(collector: FixCollector) -> tuple[Sample, ...]:
    collector.show(f"connecting to {', '.join(collector.logins[0].servers)}")
    async with connected(collector.logins) as connections:
        return await collector.samples(connections)


REMOVE_PEER = "server.remove_peer"


def with_witnesses(choice: Choice, samples: Sequence[Sample]) -> Choice:
    """For the removal of a peer: replace the directory `seen` by the snapshots of its bundles, and add backups.

    The current samples are a witness, too. Raises UsageProblem if the directory holds no bundle.
    """
    if choice.action != REMOVE_PEER:
        return choice
    directory = Path(str(choice.values["seen"])) if "seen" in choice.values else None
    captured = _bundles(directory) if directory else []
    series = [part for whole in ([*samples], *captured) for part in samples_by_login(whole)]
    values = {
        **choice.values,
        "seen": tuple(witness for value in series if (witness := _witness_of(value)) is not None),
        "backups": _backups((Path(), directory) if directory else (Path(),)),
    }
    return msgspec.structs.replace(choice, values=values)


def _bundles(directory: Path) -> list[tuple[Sample, ...]]:
    bundles = []
    for path in sorted(directory.glob("*.zip")):
        try:
            bundles.append(read_bundle(path)[1])
        except BundleProblem as problem:
            raise UsageProblem(f"{path}: {problem.message}", problem.hint) from None
    if not bundles:
        raise UsageProblem(
            f"seen: there are no bundles (*.zip) in {directory}", "write some: jsdoctor capture -o FILE.zip"
        )
    return bundles


def _witness_of(samples: Sequence[Sample]) -> Witness | None:
    evidence = assemble(samples)
    series = evidence.get(SnapshotSeries)
    if series is None:
        return None
    usage, servers = evidence.get(Accounts), evidence.get(Servers)
    accounts = {account.name for account in usage.accounts} if usage is not None else set()
    accounts |= {stream.account for stream in series.last.streams}
    accounts |= {silent.subject.account for silent in series.last.silent}
    if any(exchange.access is Access.ACCOUNT for sample in samples for exchange in sample.exchanges):
        return Witness(series.last, frozenset(accounts))
    answered = servers.servers if servers is not None else ()
    return Witness(series.last, frozenset(accounts), frozenset(server.name for server in answered))


def _backups(places: tuple[Path, ...]) -> dict[tuple[str, str], str]:
    """The newest verified and unchanged backup of each stream, by account and name, directly below these places."""
    backups: dict[tuple[str, str], str] = {}
    metas = [meta for place in places for meta in place.glob(f"*/{META}")]
    for meta in sorted(metas, key=lambda path: path.stat().st_mtime):
        note = read_note(meta.parent)
        try:
            if note and sha256_of(data_file(meta.parent)) == note.sha256:
                backups[note.account, note.stream] = str(meta.parent)
        except BackupProblem:
            continue
    return backups
