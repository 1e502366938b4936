"""Evidence of a fix: to plan on, and again to see whether the findings are gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

import msgspec

from jsdoctor.app.judging import Judging, ParameterValues
from jsdoctor.engine.comparison import is_undecided, outcome_of_read_subjects
from jsdoctor.engine.planner import plan_of_login
from jsdoctor.engine.runner import Evaluation, evaluate
from jsdoctor.engine.select import select_rules
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.exchange import Sample
from jsdoctor.model.finding import Outcome
from jsdoctor.model.plan import StepProof
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.remedy.api import LostError
from jsdoctor.remedy.proof import Examine, ProofResult, ProofVerdict
from jsdoctor.replies.assemble import assemble
from jsdoctor.replies.logins import of_several_logins
from jsdoctor.sources.base import Need
from jsdoctor.sources.connect.connection import Connection, connect
from jsdoctor.sources.connect.settings import DEFAULT_API_PREFIX, ConnectionSettings
from jsdoctor.sources.connect.tls import plan_tls
from jsdoctor.sources.live import LiveDeployment
from jsdoctor.sources.request import EvidenceRequest
from jsdoctor.sources.sampling import gather


@dataclass(frozen=True, slots=True)
class FixCollector:
    """How to collect: the rules and their parameters, the deployment, the number of samples.

    `every_account`: also collect which accounts exist and what every server holds of them, whatever the rules require.
    """

    judging: Judging
    wanted: EvidenceRequest
    logins: tuple[ConnectionSettings, ...]
    values: ParameterValues
    show: Callable[[str], None]
    every_account: bool = False

    async def samples(self, connections: Sequence[Connection]) -> tuple[Sample, ...]:
        """Collect what the selected rules need, through the connection of each login."""
        known, rules = self.judging.rulebook.checks, self.judging.rulebook.rules
        checks = tuple(known[name] for rule in self.judging.selection.rules for name in rule.checks)
        config, first = self.judging.config, self.logins[0]
        live = LiveDeployment(replace(self.wanted.live, host=False), self.wanted.connection)
        plan = live.plan(Need(checks, rules), config, first.timeout_s)
        if self.every_account:
            plan = msgspec.structs.replace(plan, accounts=True, assets=True, consumers=True, servers=True)
        monitor = live.monitored(config)
        tls = plan_tls(first).context if monitor else None

        async def samples_of(number: int) -> tuple[Sample, ...]:
            prefix, asked = self.logins[number].js_api_prefix, () if number else monitor
            login_plan = plan_of_login(plan, number)
            return await gather(
                connections[number], asked, login_plan, self.show, js_api_prefix=prefix, monitor_tls=tls
            )

        by_login = await asyncio.gather(*(samples_of(number) for number in range(len(connections))))
        return of_several_logins(by_login) if len(by_login) > 1 else by_login[0]

    @property
    def api_prefix(self) -> str:
        """The first prefix of the JetStream API that a login sets, else the default."""
        prefixes = (login.js_api_prefix for login in self.logins)
        return next((prefix for prefix in prefixes if prefix != DEFAULT_API_PREFIX), DEFAULT_API_PREFIX)

    def judge(self, evidence: EvidenceSet) -> Evaluation:
        """Evaluate the selected rules on the evidence, and keep passes."""
        return evaluate(self.judging.selection, self.judging.rulebook.checks, evidence, self.values, keep_passes=True)


@asynccontextmanager
async def connected(logins: Sequence[ConnectionSettings]) -> AsyncIterator[list[Connection]]:
    """A connection of each login. Raises ConnectProblem unless all of them are accepted."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(connect(login)) for login in logins]


def examiner(collector: FixCollector, connections: Sequence[Connection]) -> Examine:
    """The `Examine` of `jsdoctor.remedy.proof`: it collects only for the rules of the proofs.

    It raises LostError if the connection was lost, as what was not seen then proves nothing.
    """

    async def examine(proofs: Sequence[StepProof]) -> Mapping[StepProof, ProofVerdict]:
        codes = sorted({proof.code for proof in proofs})
        known = {rule.code for rule in collector.judging.rulebook.rules}
        missing = ProofVerdict(ProofResult.UNKNOWN, "no rule has this code here; is --rules missing?")
        verdicts = {proof: missing for proof in proofs if proof.code not in known}
        if known_codes := [code for code in codes if code in known]:
            selection = select_rules(collector.judging.rulebook.rules, known_codes)
            narrowed = replace(collector, judging=msgspec.structs.replace(collector.judging, selection=selection))
            evidence = assemble(await narrowed.samples(connections))
            if not all(connection.client.is_connected for connection in connections):
                raise LostError("the connection was lost")
            evaluation = narrowed.judge(evidence)
            verdicts |= {proof: verdict(proof, evaluation, evidence) for proof in proofs if proof.code in known}
        return verdicts

    return examine


def verdict(proof: StepProof, evaluation: Evaluation, evidence: EvidenceSet) -> ProofVerdict:
    """Whether a finding is still there. No result for an asset proves that it is gone only if the asset was seen."""
    results = [r for r in evaluation.results if r.rule.code == proof.code and r.finding.subject == proof.subject]
    outcomes = {result.finding.outcome: result.finding for result in results}
    if Outcome.FAIL in outcomes:
        return ProofVerdict(ProofResult.THERE, outcomes[Outcome.FAIL].message)
    for outcome in (Outcome.ERROR, Outcome.NOT_EVALUATED):
        if outcome in outcomes:
            return ProofVerdict(ProofResult.UNKNOWN, outcomes[outcome].message)
    if Outcome.PASS in outcomes:
        return ProofVerdict(ProofResult.GONE)
    rule_verdict = next((v for v in evaluation.verdicts if v.rule.code == proof.code), None)
    if rule_verdict is None or is_undecided(outcome_of_read_subjects(rule_verdict.outcome, rule_verdict.subjects)):
        return ProofVerdict(ProofResult.UNKNOWN, rule_verdict.reason if rule_verdict else "the rule was not evaluated")
    return (
        ProofVerdict(ProofResult.GONE)
        if _was_seen(proof, evidence)
        else ProofVerdict(ProofResult.UNKNOWN, "it was not seen, or without a leader")
    )


def _was_seen(proof: StepProof, evidence: EvidenceSet) -> bool:
    subject, series = proof.subject, evidence.get(SnapshotSeries)
    if subject.kind not in ("stream", "consumer"):
        return True
    streams = series.last.streams if isinstance(series, SnapshotSeries) else ()
    if subject.kind == "stream":
        return any(stream.subject == subject and stream.from_leader for stream in streams)
    return any(_has_leader(stream.consumers, proof) for stream in streams)


def _has_leader(consumers: Iterable[object], proof: StepProof) -> bool:
    return any(getattr(c, "subject", None) == proof.subject and getattr(c, "from_leader", False) for c in consumers)
