"""Evaluation: every selected rule on the evidence, each ending in exactly one outcome per subject."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

import msgspec

from jsdoctor.checks.logs.undecided import clears_nothing, not_cleared, undecided
from jsdoctor.checks.registry import Check
from jsdoctor.engine.select import Selection
from jsdoctor.model.evidence import Evidence, EvidenceSet
from jsdoctor.model.finding import CLUSTER, Finding, Outcome, Subject, unknown
from jsdoctor.model.gap import Gap
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.manifest import Manifests
from jsdoctor.model.params import Params
from jsdoctor.model.partial import NotShownError, UnreadReply, noting_unread
from jsdoctor.model.report import Result, RuleVerdict
from jsdoctor.model.rule import Rule
from jsdoctor.model.wording import counted

_WORST_FIRST = (Outcome.ERROR, Outcome.FAIL, Outcome.NOT_EVALUATED, Outcome.PASS, Outcome.NOT_APPLICABLE)


class Evaluation(msgspec.Struct, frozen=True):
    """The results of all rules. `gaps` are those that evaluation itself adds: named rules without their evidence.

    `kinds` is the evidence of the checks that ran, and of the first check of each rule of which none could run.
    """

    verdicts: tuple[RuleVerdict, ...]
    results: tuple[Result, ...]
    gaps: tuple[Gap, ...]
    kinds: frozenset[type[Evidence]] = frozenset()


def evaluate(
    selection: Selection,
    checks: Mapping[str, Check],
    evidence: EvidenceSet,
    overrides: Mapping[str, Mapping[str, float | int | None]],
    keep_passes: bool = False,
) -> Evaluation:
    """Run the rules. `overrides` are parameter values by rule code. A check that crashes ends as `error`, alone."""
    evidence = evidence.for_checks()
    verdicts: list[RuleVerdict] = []
    results: list[Result] = []
    gaps: list[Gap] = []
    kinds: set[type[Evidence]] = set()
    for rule in selection.rules:
        able = [checks[name] for name in rule.checks if not _missing(checks[name], evidence)]
        kinds.update(*(check.kinds for check in able or [checks[rule.checks[0]]]))
        if not able:
            why = evidence.why_absent(_missing(checks[rule.checks[0]], evidence)[0])
            verdicts.append(RuleVerdict(rule, Outcome.NOT_EVALUATED, {}, why.reason, why.how_to_get))
            if rule.code in selection.named:
                gaps.append(_gap_of_named(rule, why))
            continue
        with noting_unread() as replies:
            kept, counts = _run_rule(rule, able, evidence, overrides.get(rule.code, {}), keep_passes)
        results.extend(kept)
        own = [checks[name] for name in rule.checks]
        unread = [*gaps_of_replies(replies), *unread_gaps(evidence, able, own), *missing_samples(evidence, own)]
        verdicts.append(_verdict(rule, kept, counts, unread))
    return Evaluation(tuple(verdicts), tuple(results), tuple(gaps), frozenset(kinds))


def _missing(check: Check, evidence: EvidenceSet) -> list[type[Evidence]]:
    """Required kinds that are not there. A check that requires none still needs one of those that it can use."""
    absent = [kind for kind in check.required.values() if evidence.get(kind) is None]
    if check.required or any(evidence.get(kind) is not None for kind in check.optional.values()):
        return absent
    return list(check.optional.values())


def _run_rule(
    rule: Rule,
    able: Sequence[Check],
    evidence: EvidenceSet,
    overrides: Mapping[str, float | int | None],
    keep_passes: bool,
) -> tuple[list[Result], Counter[Outcome]]:
    findings: list[Finding] = []
    logs = evidence.get(LogEvidence)
    for check in able:
        try:
            check_findings = findings_of_shown(partial(_findings, rule, check, overrides), evidence, check.kinds)
            findings.extend(_without_short_passes(check_findings, rule, check, logs))
        except Exception as error:  # noqa: BLE001 - one broken check must not take the others with it
            message = f"the check itself failed: {type(error).__name__}: {error}"
            findings.append(Finding(subject=CLUSTER, outcome=Outcome.ERROR, message=message))
    if logs is not None and any(LogEvidence in check.required.values() for check in able):
        findings.extend(undecided(rule, findings, logs))
        if not findings and clears_nothing(rule, logs):
            findings.append(not_cleared(rule, logs))
    # Manifests may declare one stream several times, for several environments.
    if len(able) > 1 or Manifests in able[0].kinds:
        findings = _one_per_subject(rule, findings)
    counts, reported = _counts_and_reported(findings)
    return [Result(rule, finding) for finding in (findings if keep_passes else reported)], counts


def _counts_and_reported(findings: Sequence[Finding]) -> tuple[Counter[Outcome], list[Finding]]:
    """The number of findings by outcome, and those that are reported by default: no passes, nothing not applicable.

    On a large deployment a hundred rules pass a hundred thousand subjects: members of an enum are compared by identity
    here, as their hash is computed in Python each time.
    """
    reported = [f for f in findings if f.outcome is not Outcome.PASS]
    counts = Counter(finding.outcome for finding in reported)
    if passes := len(findings) - len(reported):
        counts[Outcome.PASS] = passes
    return counts, [f for f in reported if f.outcome is not Outcome.NOT_APPLICABLE]


def _without_short_passes(
    findings: Iterable[Finding], rule: Rule, check: Check, logs: LogEvidence | None
) -> Iterable[Finding]:
    """The findings, without passes of a check of logs where the logs are too short or lack lines that it needs."""
    if logs is not None and LogEvidence in check.required.values() and clears_nothing(rule, logs):
        return [finding for finding in findings if finding.outcome is not Outcome.PASS]
    return findings


def _one_per_subject(rule: Rule, check_findings: Iterable[Finding]) -> list[Finding]:
    """If several checks judge one subject, keep the most severe finding, with the evidence of all failures."""
    by_subject: dict[Subject, list[Finding]] = {}
    for finding in check_findings:
        by_subject.setdefault(finding.subject, []).append(finding)
    return [f[0] if len(f) == 1 else _most_severe(rule, f) for f in by_subject.values()]


def _most_severe(rule: Rule, findings: Sequence[Finding]) -> Finding:
    worst = min(findings, key=lambda f: (_WORST_FIRST.index(f.outcome), -(f.severity or rule.severity).rank))
    if worst.outcome is not Outcome.FAIL:
        return worst
    others = [
        observation for f in findings if f is not worst and f.outcome is Outcome.FAIL for observation in f.evidence
    ]
    return msgspec.structs.replace(worst, evidence=(*worst.evidence, *others)) if others else worst


def _findings(
    rule: Rule, check: Check, overrides: Mapping[str, float | int | None], evidence: EvidenceSet
) -> Iterator[Finding]:
    arguments: dict[str, object] = {
        name: evidence.get(kind) for name, kind in (*check.required.items(), *check.optional.items())
    }
    if check.takes_params:
        arguments["params"] = Params.of({name: param.default for name, param in rule.params.items()}, overrides)
    if check.takes_rule:
        arguments["rule"] = rule
    return check.predicate(**arguments)


def _verdict(rule: Rule, kept: Sequence[Result], counts: Counter[Outcome], unread: Sequence[Gap]) -> RuleVerdict:
    """`unread` is what the rule needs and was not read: without a fault in the rest, it is not evaluated."""
    outcome = next((outcome for outcome in _WORST_FIRST if counts[outcome]), Outcome.NOT_APPLICABLE)
    if outcome in (Outcome.NOT_EVALUATED, Outcome.ERROR):
        why = next(result.finding for result in kept if result.finding.outcome is outcome)
        return RuleVerdict(rule, outcome, dict(counts), why.message, why.how_to_get)
    if outcome is not Outcome.FAIL and unread:
        return RuleVerdict(rule, Outcome.NOT_EVALUATED, dict(counts), *summarised(unread))
    return RuleVerdict(rule, outcome, dict(counts), in_part=bool(unread))


def _gap_of_named(rule: Rule, why: Gap) -> Gap:
    return Gap(
        kind=why.kind,
        subject=why.subject,
        reason=f"{rule.code} was selected by name and could not be evaluated: {why.reason}",
        how_to_get=why.how_to_get,
    )


_MAX_NOT_SHOWN = 32
"""After this many subjects with missing fields the rest of a check is not evaluated as a whole."""


def findings_of_shown(
    run: Callable[[EvidenceSet], Iterable[Finding]], evidence: EvidenceSet, kinds: Collection[type[Evidence]]
) -> list[Finding]:
    """The findings of a check, and `unknown` for each subject of which it needs a field that is not shown.

    The check runs again without each such subject. A fault from before stands, though the evidence without the subject
    may clear it. `kinds` is the evidence that the check takes: only that is rewritten.
    """
    missing: dict[Subject, Finding] = {}
    faults: dict[Subject, list[Finding]] = {}
    while True:
        all_findings: list[Finding] = []
        try:
            all_findings.extend(run(evidence))
        except NotShownError as error:
            if error.subject in missing or len(missing) >= _MAX_NOT_SHOWN:
                return _merged(all_findings, faults, missing)
            missing[error.subject] = unknown(error.subject, f"{error}", error.how_to_get)
            evidence = evidence.without_subject(error.subject, kinds)
            for subject, findings in _faults(all_findings).items():
                faults.setdefault(subject, findings)
        else:
            return _merged(all_findings, faults, missing)


def _faults(findings: Iterable[Finding]) -> dict[Subject, list[Finding]]:
    by_subject: dict[Subject, list[Finding]] = {}
    for finding in findings:
        if finding.outcome is Outcome.FAIL:
            by_subject.setdefault(finding.subject, []).append(finding)
    return by_subject


def _merged(
    all_findings: list[Finding], faults: Mapping[Subject, Sequence[Finding]], missing: Mapping[Subject, Finding]
) -> list[Finding]:
    """Faults of all runs, what the last run found for other subjects, and subjects with fields that are not shown."""
    if not faults and not missing:  # everything is shown, as in most runs
        return all_findings
    kept = [finding for finding in all_findings if finding.subject not in faults]
    return [
        *(finding for findings in faults.values() for finding in findings),
        *kept,
        *(finding for subject, finding in missing.items() if subject not in faults),
    ]


def gaps_of_replies(replies: Iterable[UnreadReply]) -> list[Gap]:
    """A gap for each unread reply that a check needed."""
    return [
        Gap(subject.kind, subject, f"{name} was not read", how_to_get)
        for subject, name, how_to_get in dict.fromkeys(replies)
    ]


def unread_gaps(evidence: EvidenceSet, able: Iterable[Check], own: Iterable[Check]) -> list[Gap]:
    """The requested gaps in the evidence that a rule requires, and those that took away evidence that it could use.

    An unreadable reply counts for all evidence that the rule can use. `own` are the checks of the rule, `able` those
    with their evidence.
    """
    required = {kind for check in able for kind in (check.required or check.optional).values()}
    used = {kind for check in own for kind in check.kinds}
    requested = [gap for gap in evidence.gaps_for(()) if gap.requested]
    if not requested:
        return []
    missing = [kind for kind in used if evidence.get(kind) is None]
    reporting = [
        set(servers)
        for kind in required
        if (known := evidence.get(kind)) is not None and (servers := known.servers_seen()) is not None
    ]
    return [
        gap
        for gap in requested
        if any(gap.kind in kind.left_out_by for kind in (used if gap.kind == "reply" else required))
        or (gap.kind == "server" and any(gap.subject.name not in servers for servers in reporting))
        or any(_leaves_out(gap, kind) for kind in missing)
    ]


def _leaves_out(gap: Gap, kind: type[Evidence]) -> bool:
    return gap.kind in kind.left_out_by or (gap.kind == "endpoint" and kind.of_deployment)


def missing_samples(evidence: EvidenceSet, rule_checks: Iterable[Check]) -> list[Gap]:
    """Why there are no two samples, if a check compares samples and there is one."""
    used = {kind for check in rule_checks if check.compares_samples for kind in check.kinds}
    return [
        evidence.why_absent(kind)
        for kind in used
        if kind.single and evidence.get(kind) is None and evidence.get(kind.single) is not None
    ]


def summarised(gaps: Sequence[Gap]) -> tuple[str, str]:
    """One reason for several gaps, and how to get what is missing."""
    first = gaps[0]
    lead = "" if first.subject == CLUSTER else f"{first.subject.label}: "
    more = f", and {counted(len(gaps) - 1, 'more gap')}" if len(gaps) > 1 else ""
    return f"{lead}{first.reason}{more}", first.how_to_get
