"""From a symptom and the results of its rules to a differential: each cause confirmed, ruled out, or undecided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

import msgspec

from jsdoctor.checks.registry import Check
from jsdoctor.engine.expectation import DECIDED_BY_EXPECTATION
from jsdoctor.engine.incidents import incidents
from jsdoctor.engine.relations import stream_of
from jsdoctor.engine.runner import Evaluation
from jsdoctor.model.diagnosis import Cause, Diagnosis, Narrowing, NextStep, Question, Verdict
from jsdoctor.model.evidence import EvidenceSet, EvidenceSource
from jsdoctor.model.finding import Confidence, Impact, Outcome, Severity, Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.manifest import Manifests, RunningConfigurations
from jsdoctor.model.report import Consequence, Result, RuleVerdict
from jsdoctor.model.rule import Rule
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries, Stream, UnresponsiveAsset
from jsdoctor.model.symptom import Symptom
from jsdoctor.model.wording import counted

_MESSAGES = 3
_NOT_RUN = ("its rule was not run", "remove it from `ignore` in the configuration")


class Examined(msgspec.Struct, frozen=True):
    """Evidence and results to judge by. `described`: results, by rule code, from the user's description of the problem.

    `evaluation` holds passes, too.
    """

    evidence: EvidenceSet
    evaluation: Evaluation
    described: Mapping[str, Result] = {}


def undiagnosed(question: Question, rules: Sequence[Rule], checks: Mapping[str, Check]) -> Diagnosis:
    """The differential without any evidence: everything is undecided."""
    symptom, narrowing = question.symptom, question.narrowing
    causes = []
    for rule in _causes(symptom, rules):
        ways = _lacking(rule, checks, None, narrowing)
        step = "; or ".join(in_words(way, narrowing.stream) for way in EvidenceSource if way in ways)
        causes.append(_undecided(symptom, rule, "nothing was checked", step))
    lacking = {cause.rule.code: _lacking(cause.rule, checks, None, narrowing) for cause in causes}
    return Diagnosis(question=question, causes=tuple(causes), next_step=_next_step(causes, lacking, narrowing))


def diagnose(question: Question, rules: Sequence[Rule], checks: Mapping[str, Check], examined: Examined) -> Diagnosis:
    """The differential on the evidence. `examined.evaluation` must hold passes, of every cause's rule."""
    symptom, narrowing = question.symptom, question.narrowing
    visibility = Visibility(examined.evidence, narrowing)
    verdicts = {verdict.rule.code: verdict for verdict in examined.evaluation.verdicts}
    by_code: dict[str, list[Result]] = {}
    for result in examined.evaluation.results:
        if narrowing.touches(result.finding.subject, visibility.accounts):
            by_code.setdefault(result.rule.code, []).append(result)
    causes = []
    for rule in _causes(symptom, rules):
        results = by_code.get(rule.code, [])
        if rule.code in examined.described:
            results.insert(0, examined.described[rule.code])
        causes.append(_judged(symptom, rule, verdicts.get(rule.code), results, visibility))
    causes = _with_explanations(_of_error(causes, question), examined)
    undecided = [cause for cause in causes if cause.verdict is Verdict.UNDECIDED]
    lacking = {}
    for cause in undecided:
        absent = {EvidenceSource(way) for way in symptom.ruled_out_with.get(cause.rule.code, ())} - visibility.ways
        lacking[cause.rule.code] = _lacking(cause.rule, checks, examined.evidence, narrowing) | absent
    return Diagnosis(
        question=question,
        causes=tuple(causes),
        next_step=_next_step(undecided, lacking, narrowing),
        notes=visibility.notes,
    )


def _causes(symptom: Symptom, rules: Sequence[Rule]) -> list[Rule]:
    """The rules that the symptom's page lists as causes, in its order."""
    by_code = {rule.code: rule for rule in rules}
    return [by_code[code] for code in symptom.causes if code in by_code]


def _lacking(
    rule: Rule, checks: Mapping[str, Check], evidence: EvidenceSet | None, narrowing: Narrowing
) -> frozenset[EvidenceSource]:
    """The evidence sources that a rule lacks; one that compares sequences also needs the expected one."""
    ways = any_source([checks[name] for name in rule.checks], evidence)
    return (
        ways | {EvidenceSource.EXPECTED}
        if rule.code in DECIDED_BY_EXPECTATION and narrowing.expected_seq is None
        else ways
    )


def _judged(
    symptom: Symptom, rule: Rule, verdict: RuleVerdict | None, results: Sequence[Result], visibility: Visibility
) -> Cause:
    """The verdict on a cause. Faults count first, then possible faults, crashes, and what is unknown or was unseen."""
    failed = [result for result in results if result.finding.outcome is Outcome.FAIL]
    sure = [result for result in failed if not _is_possibility(result)]
    if sure:
        return _confirmed(symptom, rule, sure)
    if failed:
        finding = failed[0].finding
        step = finding.how_to_get or f"jsdoctor explain {rule.code} describes how to make sure"
        return _undecided(symptom, rule, f"possible: {finding.message}", step, failed)
    if crashed := next((r.finding for r in results if r.finding.outcome is Outcome.ERROR), None):
        return _undecided(symptom, rule, crashed.message, "report this to the authors of jsdoctor")
    meant = [result for result in results if visibility.narrowing.is_meant(result.finding.subject)]
    judged = [result for result in meant or results if result.finding.outcome is Outcome.PASS]
    unknown = [result for result in meant or results if result.finding.outcome is Outcome.NOT_EVALUATED]
    if unknown and not (judged and _judged_assets_only_others_unknown(judged, unknown)):
        finding = unknown[0].finding
        return _undecided(symptom, rule, finding.message, finding.how_to_get)
    unseen = visibility.unseen(symptom, rule, judged)
    if verdict is None or (verdict.outcome is Outcome.NOT_EVALUATED and not judged and not verdict.subjects):
        reason, how = (verdict.reason, verdict.how_to_get) if verdict else _NOT_RUN
        return _undecided(symptom, rule, reason, how)
    if unseen:
        return _undecided(symptom, rule, unseen.reason, unseen.how_to_get)
    if verdict.outcome is Outcome.NOT_EVALUATED and not judged:
        return _undecided(symptom, rule, verdict.reason, verdict.how_to_get)
    wanted = [EvidenceSource(way) for way in symptom.ruled_out_with.get(rule.code, ())]
    if wanted and not visibility.ways & set(wanted):
        step = "; or ".join(in_words(way, visibility.narrowing.stream) for way in wanted)
        return _undecided(symptom, rule, "nothing of it shows now, which does not tell what was or what may be", step)
    return _ruled_out(symptom, rule, judged, in_part=visibility.in_part)


def _of_error(causes: Sequence[Cause], question: Question) -> list[Cause]:
    """The causes; one that is present does not count for a text of another API error than it makes.

    One that makes no error of its own, but leads to others that do, does not count where all of these are ruled out.
    """
    errors, codes = question.symptom.errors, question.codes
    own = [cause for cause in causes if codes & set(errors.get(cause.rule.code, ()))]
    if not own:
        return list(causes)
    possible = any(cause.verdict is not Verdict.RULED_OUT for cause in own)
    return [_of_other_error(cause, codes) if _is_of_other(cause, own, errors, possible) else cause for cause in causes]


def _is_of_other(cause: Cause, own: Sequence[Cause], errors: Mapping[str, Sequence[int]], possible: bool) -> bool:
    makes_another = cause.rule.code in errors and cause not in own
    return cause.verdict is Verdict.CONFIRMED and (makes_another or not possible)


def _of_other_error(cause: Cause, codes: frozenset[int]) -> Cause:
    error = " or ".join(map(str, sorted(codes)))
    message = f"it is there, but is no reason of error {error}: {cause.message}"
    return msgspec.structs.replace(cause, verdict=Verdict.RULED_OUT, message=message, results=(), next_step="")


def _is_possibility(result: Result) -> bool:
    """Whether a result is about what may happen, not what did: low confidence, or an info about hygiene."""
    hygiene = result.severity is Severity.INFO and result.rule.impact is Impact.HYGIENE
    return hygiene or result.finding.confidence is Confidence.LOW


def _with_explanations(causes: Sequence[Cause], examined: Examined) -> list[Cause]:
    """The causes; a confirmed one becomes explained where another confirmed cause explains each of its findings."""
    results = [result for cause in causes if cause.verdict is Verdict.CONFIRMED for result in cause.results]
    grouped = incidents(results, examined.evidence, _newest_time(examined.evidence, results))
    explained = {id(consequence.result): consequence for incident in grouped for consequence in incident.consequences}
    return [_explained(cause, explained) for cause in causes]


def _explained(cause: Cause, explained: Mapping[int, Consequence]) -> Cause:
    links = [explained.get(id(result)) for result in cause.results]
    known = [link for link in links if link is not None]
    if cause.verdict is not Verdict.CONFIRMED or len(known) < len(links):
        return cause
    codes = dict.fromkeys(link.explained_by.rule.code for link in known)
    message = f"explained by {' and '.join(codes)} ({known[0].evidence}): {cause.message}"
    return msgspec.structs.replace(cause, verdict=Verdict.EXPLAINED, message=message, next_step="")


def _newest_time(evidence: EvidenceSet, results: Sequence[Result]) -> datetime:
    """Time of the last sample; without one the newest time in findings; without both the latest possible time."""
    series = evidence.get(SnapshotSeries)
    if series is not None:
        return series.last.taken_at
    seen = (moment for result in results for moment in (result.finding.first_seen, result.finding.last_seen))
    return max(filter(None, seen), default=datetime.max.replace(tzinfo=UTC))


def _judged_assets_only_others_unknown(judged: Sequence[Result], unknown: Sequence[Result]) -> bool:
    """Whether streams or consumers passed, and everything unknown is of another kind, such as an absent log."""
    assets = ("stream", "consumer")
    about_assets = any(result.finding.subject.kind in assets for result in judged)
    return about_assets and not any(result.finding.subject.kind in assets for result in unknown)


def _confirmed(symptom: Symptom, rule: Rule, results: Sequence[Result]) -> Cause:
    messages = [f"{result.finding.subject.label}: {result.finding.message}" for result in results[:_MESSAGES]]
    if len(results) > _MESSAGES:
        messages.append(f"and {counted(len(results) - _MESSAGES, 'more subject')}")
    return Cause(
        rule=rule,
        because=symptom.because[rule.code],
        verdict=Verdict.CONFIRMED,
        message="; ".join(messages),
        results=tuple(results),
        evidence=tuple(observation for result in results for observation in result.finding.evidence),
        next_step=f"jsdoctor explain {rule.code}",
    )


def _ruled_out(symptom: Symptom, rule: Rule, judged: Sequence[Result], *, in_part: bool) -> Cause:
    if judged:
        kinds = {result.finding.subject.kind for result in judged}
        labels = [result.finding.subject.label for result in judged]
        reported = labels[0] if len(labels) == 1 and kinds != {"cluster"} else ""
        message = f"{rule.title}" + (f" ({reported})" if reported else ", as far as it was seen" if in_part else "")
    else:
        message = "it does not apply to anything that was checked"
    return Cause(
        rule=rule,
        because=symptom.because[rule.code],
        verdict=Verdict.RULED_OUT,
        message=message,
    )


def _undecided(symptom: Symptom, rule: Rule, reason: str, step: str, possible: Sequence[Result] = ()) -> Cause:
    return Cause(
        rule=rule,
        because=symptom.because[rule.code],
        verdict=Verdict.UNDECIDED,
        message=reason,
        evidence=tuple(observation for result in possible for observation in result.finding.evidence),
        next_step=step or f"jsdoctor explain {rule.code} describes what shows it",
    )


def _next_step(
    undecided: Sequence[Cause], lacking: Mapping[str, frozenset[EvidenceSource]], narrowing: Narrowing
) -> NextStep | None:
    """The step that decides most: the missing source of most causes, by 1 / rank of each, else the first hint."""
    weights: dict[EvidenceSource, float] = {}
    for rank, cause in enumerate(undecided):
        for way in lacking.get(cause.rule.code, frozenset()):
            weights[way] = weights.get(way, 0) + 1 / (rank + 1)
    if weights:
        best = max(EvidenceSource, key=lambda way: weights.get(way, 0))
        decides = tuple(cause.rule.code for cause in undecided if best in lacking.get(cause.rule.code, ()))
        return NextStep(in_words(best, narrowing.stream), decides)
    hinted = next((cause for cause in undecided if cause.next_step), None)
    return NextStep(hinted.next_step, (hinted.rule.code,)) if hinted else None


_CONSUMERS = "consumer_lag"
_CONSUMER = "consumer"
_KINDS = ("stream", "consumer", "server", "account", "connection", "bundle")


class Visibility:
    """What the evidence shows of the streams and consumers that the question is about."""

    def __init__(self, evidence: EvidenceSet, narrowing: Narrowing) -> None:
        self.narrowing = narrowing
        series = evidence.get(SnapshotSeries)
        self._snapshot: ClusterSnapshot | None = series.last if series is not None else None
        self._gaps = [gap for gap in evidence.gaps_for(()) if gap.requested]
        self._streams = [stream for stream in self._all() if stream.name == narrowing.stream]
        self.ways = used_sources(evidence) | (
            {EvidenceSource.EXPECTED} if narrowing.expected_seq is not None else frozenset()
        )
        self._anything_runs = bool(self.ways - {EvidenceSource.EXPECTED}) or any(
            known.of_deployment for known in evidence.present
        )
        self.accounts = frozenset(stream.account for stream in self._streams)
        self.notes = tuple(self._notes())

    @property
    def in_part(self) -> bool:
        """Whether some of what was requested was not seen."""
        return any(gap.kind in _KINDS for gap in self._gaps)

    def unseen(self, symptom: Symptom, rule: Rule, judged: Sequence[Result]) -> Gap | None:
        """Why a rule without findings is not ruled out, or None. `judged`: what the rule found healthy.

        Gaps elsewhere do not count then: `check` passes the rule, and reports them beside it.
        """
        if not judged and (gap := self._nothing_seen() or self._hidden_consumers(rule)):
            return gap
        gap = next((gap for gap in self._gaps if gap.kind in _KINDS), None)
        if not judged and not self.narrowing.stream and gap:
            return gap
        if judged or not self.narrowing.stream:
            return self._hidden_consumers(rule) if _is_about_consumers(symptom) and _only_streams(judged) else None
        if self._snapshot is None:
            return self._gap("no stream was checked", "add --context NAME or -s URL")
        if self.notes:
            return self._gap(self.notes[0], "see that its servers run, and look again with a login that sees it")
        return None

    def _nothing_seen(self) -> Gap | None:
        """A gap where nothing of a running deployment was read: files show only what is declared."""
        if self._anything_runs:
            return None
        return self._gap("no running deployment was checked", "add --context NAME or -s URL")

    def _hidden_consumers(self, rule: Rule) -> Gap | None:
        """A gap where a rule about consumers lacks some: a reply about a stream has their number, not their state."""
        if self.narrowing.consumer or not (rule.failure_mode == _CONSUMERS or _CONSUMER in rule.title.lower()):
            return None
        for stream in self._streams if self.narrowing.stream else self._all():
            hidden = stream.state.consumer_count - len(stream.consumers)
            if hidden > 0:
                verb = "was" if hidden == 1 else "were"
                reason = f"{counted(hidden, 'consumer')} of stream {stream.name} {verb} not seen"
                return self._gap(reason, f"give `nats consumer info {stream.name} CONSUMER` as well, or -s URL")
        return None

    def _all(self) -> Sequence[Stream]:
        return self._snapshot.streams if self._snapshot else ()

    def _gap(self, reason: str, how_to_get: str) -> Gap:
        return Gap("stream", Subject(kind="stream", name=self.narrowing.stream), reason, how_to_get)

    def _notes(self) -> Iterator[str]:
        """Why the stream and the consumer of the question cannot be judged: absent, or not seen from the leader."""
        stream, consumer = self.narrowing.stream, self.narrowing.consumer
        if not stream or self._snapshot is None:
            return
        silent = [asset for asset in self._snapshot.silent if stream_of(asset.subject).name == stream]
        if not self._streams:
            yield f"stream {stream} {_silence(silent[0])}" if silent else f"no stream {stream} was seen"
            return
        if not any(stream.from_leader for stream in self._streams):
            yield f"stream {stream} was not seen from a leader, so its state says nothing"
            return
        consumers = [candidate for s in self._streams for candidate in s.consumers if candidate.name == consumer]
        away = next(
            (asset for asset in silent if asset.subject.kind == _CONSUMER and asset.subject.name == consumer), None
        )
        if away and not consumers:
            yield f"consumer {consumer} {_silence(away)}"
        elif consumer and not consumers:
            all_seen = all(stream.consumers_seen for stream in self._streams)
            yield f"no consumer {consumer} was seen on {stream}" + ("" if all_seen else "; not all of them were seen")
        elif consumer and not any(consumer.from_leader for consumer in consumers):
            yield f"consumer {consumer} was not seen from its leader, so its state says nothing"


def _silence(asset: UnresponsiveAsset) -> str:
    return f"is there, but could not be seen: {asset.reason}"


def _is_about_consumers(symptom: Symptom) -> bool:
    return _CONSUMER in symptom.title.lower()


def _only_streams(judged: Sequence[Result]) -> bool:
    """Whether only streams passed: a healthy stream shows nothing of consumers that were not seen."""
    return {result.finding.subject.kind for result in judged} == {"stream"}


def sources_for(check: Check, evidence: EvidenceSet | None) -> frozenset[EvidenceSource]:
    """The sources that a check lacks. Empty: it has all that it requires. `evidence` None: nothing was collected.

    Of optional evidence one kind is enough, so that only the cheapest source is named.
    """
    wanted = list(check.required.values()) or list(check.optional.values())
    missing = [kind for kind in wanted if evidence is None or evidence.get(kind) is None]
    sources = frozenset(kind.source or EvidenceSource.LIVE for kind in missing)
    if check.required:
        return sources
    cheapest = next((source for source in EvidenceSource if source in sources), None)
    return frozenset() if cheapest is None or len(missing) < len(wanted) else frozenset({cheapest})


def any_source(checks: Iterable[Check], evidence: EvidenceSet | None) -> frozenset[EvidenceSource]:
    """The evidence sources of a rule: of the check that lacks least, and of each that lacks one thing only."""
    # The content of a file is not what runs: it decides no cause.
    able = [check for check in checks if not {Manifests, RunningConfigurations} & set(check.required.values())]
    lacking = [ways for check in able if (ways := sources_for(check, evidence))]
    single = [ways for ways in lacking if len(ways) == 1]
    return frozenset().union(*single) if single else min(lacking, key=len, default=frozenset())


def used_sources(evidence: EvidenceSet) -> frozenset[EvidenceSource]:
    """The sources of the evidence that is present."""
    return frozenset(known.source for known in evidence.present if known.source is not None)


def in_words(way: EvidenceSource, stream: str) -> str:
    """What to do: an option of `jsdoctor diagnose` and what it brings."""
    return {
        EvidenceSource.LIVE: "query the deployment: --context NAME or -s URL, or --bundle FILE of a capture",
        EvidenceSource.TREND: "take two samples: --samples 2, while the application publishes and consumes as usual",
        EvidenceSource.SYSTEM: "use a login of the system account (--context NAME), or every server's --monitor URL",
        EvidenceSource.SCAN: f"read the stored messages: --scan {stream or 'STREAM'}, with a login of their account",
        EvidenceSource.EXPECTED: f"say what the publisher expected: --stream {stream or 'STREAM'} --expected-seq N",
        EvidenceSource.ACKS: "measure acknowledgements: nats consumer edit STREAM CONSUMER --sample 100 -f, then retry",
        EvidenceSource.HISTORY: "compare with earlier bundles of the same deployment: --history DIR",
        EvidenceSource.PACKETS: "read a capture of the traffic between client and server: --pcap FILE",
        EvidenceSource.LOGS: "read logs of the servers and of the applications: --logs PATH",
        EvidenceSource.NTP: "query the time: --ntp HOST",
        EvidenceSource.HOST: "look at the host of a server: --this-host there, as root",
        EvidenceSource.KUBERNETES: "query Kubernetes: --kube -n NAMESPACE",
    }[way]
