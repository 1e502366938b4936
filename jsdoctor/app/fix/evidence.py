"""Evidence of a fix: to plan on, and again to see whether the findings are gone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from jsdoctor.app.evidence_request import EvidenceRequest
from jsdoctor.app.judging import Judging, ParameterValues
from jsdoctor.app.sampling_plan import pace
from jsdoctor.collect.connect.connection import Connection
from jsdoctor.collect.connect.settings import ConnectionSettings
from jsdoctor.collect.connect.tls import plan_tls
from jsdoctor.collect.gather import gather
from jsdoctor.engine.planner import plan_collection, plan_scan
from jsdoctor.engine.runner import Evaluation, evaluate
from jsdoctor.engine.select import select_rules
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.exchange import Sample
from jsdoctor.model.finding import Outcome
from jsdoctor.model.plan import StepProof
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.parse.assemble import assemble
from jsdoctor.remedy.examine import Examine, ProofResult, ProofVerdict
from jsdoctor.remedy.operation import LostError


@dataclass(frozen=True, slots=True)
class FixCollector:
    """How to collect: the rules and their parameters, the deployment, the number of samples.

    `every_account`: also collect which accounts exist and what every server holds of them, whatever the rules require.
    """

    judging: Judging
    wanted: EvidenceRequest
    settings: ConnectionSettings
    values: ParameterValues
    show: Callable[[str], None]
    every_account: bool = False

    async def samples(self, connection: Connection) -> tuple[Sample, ...]:
        """What the selected rules want, from a deployment that we are connected to."""
        checks = [self.judging.rulebook.checks[name] for rule in self.judging.selection.rules for name in rule.checks]
        config, wanted, settings = self.judging.config, self.wanted, self.settings
        paced = pace(wanted.samples, wanted.interval_s, config)
        plan = plan_collection(checks, *paced, settings.timeout_s, wanted.ntp or config.ntp or (), host=False)
        plan = plan_scan(plan, checks, wanted.scan, wanted.digests)
        if self.every_account:
            plan = msgspec.structs.replace(plan, accounts=True, assets=True, consumers=True, servers=True)
        monitor = wanted.monitor or config.monitor or ()
        tls = plan_tls(settings).context if monitor else None
        return await gather(connection, monitor, plan, self.show, js_api_prefix=settings.js_api_prefix, monitor_tls=tls)

    def judge(self, evidence: EvidenceSet) -> Evaluation:
        """The selected rules on evidence, passes kept."""
        return evaluate(self.judging.selection, self.judging.rulebook.checks, evidence, self.values, keep_passes=True)


def examiner(collector: FixCollector, connection: Connection) -> Examine:
    """The `Examine` of `jsdoctor.remedy.examine`: only the rules of the proofs are collected for.

    It raises LostError where what could not be seen says nothing of the deployment.
    """

    async def examine(proofs: Sequence[StepProof]) -> Mapping[StepProof, ProofVerdict]:
        codes = sorted({proof.code for proof in proofs})
        known = {rule.code for rule in collector.judging.rulebook.rules}
        missing = ProofVerdict(ProofResult.UNKNOWN, "no rule has this code here; is --rules missing?")
        verdicts = {proof: missing for proof in proofs if proof.code not in known}
        if ours := [code for code in codes if code in known]:
            selection = select_rules(collector.judging.rulebook.rules, ours)
            narrowed = replace(collector, judging=msgspec.structs.replace(collector.judging, selection=selection))
            evidence = assemble(await narrowed.samples(connection))
            if not connection.client.is_connected:
                raise LostError("the connection was lost")
            evaluation = narrowed.judge(evidence)
            verdicts |= {proof: verdict(proof, evaluation, evidence) for proof in proofs if proof.code in known}
        return verdicts

    return examine


def verdict(proof: StepProof, evaluation: Evaluation, evidence: EvidenceSet) -> ProofVerdict:
    """What the rule of a proof says of its subject. Silence on an asset counts only when the asset was seen."""
    results = [r for r in evaluation.results if r.rule.code == proof.code and r.finding.subject == proof.subject]
    outcomes = {result.finding.outcome: result.finding for result in results}
    if Outcome.FAIL in outcomes:
        return ProofVerdict(ProofResult.THERE, outcomes[Outcome.FAIL].message)
    for outcome in (Outcome.ERROR, Outcome.NOT_EVALUATED):
        if outcome in outcomes:
            return ProofVerdict(ProofResult.UNKNOWN, outcomes[outcome].message)
    if Outcome.PASS in outcomes:
        return ProofVerdict(ProofResult.GONE)
    whole = next((v for v in evaluation.verdicts if v.rule.code == proof.code), None)
    if whole is None or whole.outcome in (Outcome.ERROR, Outcome.NOT_EVALUATED):
        return ProofVerdict(ProofResult.UNKNOWN, whole.reason if whole else "the rule was not evaluated")
    return (
        ProofVerdict(ProofResult.GONE)
        if _seen(proof, evidence)
        else ProofVerdict(ProofResult.UNKNOWN, "it was not seen, or without a leader")
    )


def _seen(proof: StepProof, evidence: EvidenceSet) -> bool:
    subject, series = proof.subject, evidence.get(SnapshotSeries)
    if subject.kind not in ("stream", "consumer"):
        return True
    streams = series.last.streams if isinstance(series, SnapshotSeries) else ()
    if subject.kind == "stream":
        return any(stream.subject == subject and stream.from_leader for stream in streams)
    return any(_led(stream.consumers, proof) for stream in streams)


def _led(consumers: Iterable[object], proof: StepProof) -> bool:
    return any(getattr(c, "subject", None) == proof.subject and getattr(c, "from_leader", False) for c in consumers)
