"""Making the plan of a fix: look at the deployment, judge, and draft steps for what fails."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

from jsdoctor import __version__
from jsdoctor.app.connection import flags_of
from jsdoctor.app.fix.evidence import FixCollector, connected
from jsdoctor.app.fix.request import FixRequest, check_choices
from jsdoctor.app.fix.witnesses import REMOVE_PEER, with_witnesses
from jsdoctor.app.headline import headline
from jsdoctor.app.messages import LOGGED, Messages
from jsdoctor.collect.problems import Problem
from jsdoctor.model.exchange import Sample
from jsdoctor.model.finding import Outcome
from jsdoctor.model.plan import Plan
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.wording import counted
from jsdoctor.parse.assemble import assemble
from jsdoctor.parse.logins import logins_of
from jsdoctor.parse.raw_configs import raw_configs
from jsdoctor.remedy.offer import step_with_login
from jsdoctor.remedy.plan import draft
from jsdoctor.remedy.shareable import shareable


def make_plan(request: FixRequest, collector: FixCollector, messages: Messages = LOGGED) -> Plan:
    """Look and plan; nothing is written. Nothing is planned for findings that are waived or accepted.

    Raises `Problem`.
    """
    rulebook = collector.judging.rulebook
    check_choices(request.remedies, rulebook.actions().keys(), [rule.code for rule in rulebook.rules])
    every_account = any(choice.action == REMOVE_PEER for choice in request.remedies)
    check = f"jsdoctor check{flags_of(collector.logins)}"
    samples = asyncio.run(_samples(replace(collector, every_account=every_account)))
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


async def _samples(collector: FixCollector) -> tuple[Sample, ...]:
    collector.show(f"connecting to {', '.join(collector.logins[0].servers)}")
    async with connected(collector.logins) as connections:
        return await collector.samples(connections)
