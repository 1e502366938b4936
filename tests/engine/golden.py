"""What the engine makes of evidence, written out to be read: `fixtures/engine/*.txt`. `make golden` writes these files.

- `changes.txt`: what manifests change in the deployment beside them, for each manifest case with a recording;
- `sources.txt`: what brings the evidence of each rule, and what is collected for it;
- `relations.txt`: the servers, streams and consumers that findings of the cases are about;
- `pictures.txt`: what reports draw of some cases (`tests/engine/pictures.py`).
"""

from collections.abc import Iterable, Iterator

import msgspec

from jsdoctor.engine.change import without_existing
from jsdoctor.engine.diagnosis import any_source, in_words, used_sources
from jsdoctor.engine.manifest_change import drift_gaps, manifest_change
from jsdoctor.engine.planner import CollectionPlan, plan_collection, plan_scan
from jsdoctor.engine.relations import Relations
from jsdoctor.engine.runner import evaluate
from jsdoctor.engine.select import select_rules
from jsdoctor.model.change import ManifestChange
from jsdoctor.model.evidence import EvidenceSet, EvidenceSource, Gaps
from jsdoctor.model.finding import Finding, Outcome
from jsdoctor.model.gap import Gap
from jsdoctor.model.rule import Relation
from jsdoctor.model.stored import ScanTarget
from tests.engine.pictures import write_pictures
from tests.support.evidence import FIXTURES, cases, evidence_of
from tests.support.log_cases import log_evidence_of
from tests.support.manifest_cases import manifest_evidence_of
from tests.support.rule_case import listed
from tests.support.ruleset import checks, rules, run_rule

ROOT = FIXTURES / "engine"
_BASES = ("three-nodes-2.15.1", "one-node-2.12.8-account")
_MAX_CASES = 2
"""Cases of a rule whose findings are shown in `relations.txt`."""


def changes() -> Iterator[str]:
    """Steps, drift and gaps of each manifest case that has a deployment."""
    for rule in rules():
        for number, case in enumerate(listed(rule.code, "manifest_case"), 1):
            if "base" in case:
                yield f"{rule.code} {number}: {case['about']}"
                yield from (f"  {line}" for line in _change(manifest_evidence_of(case)))
                yield ""


def _change(evidence: EvidenceSet) -> Iterator[str]:
    evaluation = evaluate(select_rules(rules()), checks(), evidence, {})
    gaps = evidence.get(Gaps)
    given = gaps.gaps if isinstance(gaps, Gaps) else ()
    change = manifest_change(evidence, evaluation.results, evaluation.verdicts, given)
    assert change is not None
    yield from change_lines(change, given)
    for result in without_existing(evaluation.results, evidence, checks()):
        if result.finding.outcome is Outcome.FAIL:
            since = result.suppressed.reason if result.suppressed else "caused or touched by the change"
            yield f"{result.rule.code} {result.finding.subject.label}: {since}"


def change_lines(change: ManifestChange, gaps: tuple[Gap, ...]) -> Iterator[str]:
    """A change, a line for each step and for each of its fields."""
    for step in change.steps:
        yield f"{step.action} {step.subject.kind} {step.subject.label} ({step.file.rpartition('/')[2]}:{step.line})"
        yield from (f"  {field.field}: {field.before!r} to {field.after!r}" for field in step.fields)
        for name, value in (("reason", step.reason), ("at stake", step.at_stake), ("messages", step.messages)):
            if value not in (None, ""):
                yield f"  {name}: {value}"
    yield f"unchanged {change.unchanged}, incomplete {change.incomplete!r}, gaps {len(gaps)}"
    yield f"undeclared: {', '.join(subject.label for subject in change.undeclared)}"
    yield from (f"drift: {gap.subject.label}: {gap.reason}: {gap.how_to_get}" for gap in drift_gaps(change))


def sources() -> Iterator[str]:
    """For each rule: what it lacks without any evidence and in two recordings, and what is collected for it."""
    yield from (f"{source}: {in_words(source, '')}" for source in EvidenceSource)
    yield from (f"{source}: {in_words(source, 'ORDERS')}" for source in (EvidenceSource.SCAN, EvidenceSource.EXPECTED))
    recordings = {base: evidence_of({"base": base}) for base in _BASES}
    for base, evidence in recordings.items():
        yield f"{base} has {_sorted(used_sources(evidence))}"
    for rule in rules():
        mine = [checks()[name] for name in rule.checks]
        lacking = {"nothing": None, **recordings}
        has = "; ".join(f"{name}: {_sorted(any_source(mine, evidence))}" for name, evidence in lacking.items())
        yield f"{rule.code}: {has}"
        plan = plan_collection(mine, 3, 2.5, 7.0, ("time.example",), host=True)
        plan = plan_scan(plan, mine, [ScanTarget("ORDERS")], contents=True)
        yield f"  collects {', '.join(_collected(plan)) or 'nothing'}"


def _collected(plan: CollectionPlan) -> Iterator[str]:
    for field in plan.__struct_fields__:
        value = getattr(plan, field)
        if value is not False and value != ():
            yield field if value is True else f"{field} {msgspec.json.encode(value).decode()}"


def _sorted(sources: frozenset[EvidenceSource]) -> str:
    return ", ".join(sorted(sources)) or "nothing"


def relations() -> Iterator[str]:
    """For the findings of some cases of each rule: their servers, and their keys as cause and as effect."""
    for rule in rules():
        firing = [case for case in cases(rule.code) if case["kind"] in ("fires", "above")][:_MAX_CASES]
        logged = [case for case in listed(rule.code, "log_case") if case["kind"] in ("fires", "above")][:1]
        evidences = [(case, evidence_of(case)) for case in firing]
        evidences += [(case, log_evidence_of(rule.code, case)) for case in logged]
        for case, evidence in evidences:
            results = run_rule(rule.code, evidence, case.get("params")).results
            known = Relations(evidence, results)
            yield from dict.fromkeys(_related(rule.code, known, result.finding) for result in results)


def _related(code: str, known: Relations, finding: Finding) -> str:
    links = []
    for link in Relation:
        cause, effect = _keys(known.of_cause(finding, link)), _keys(known.of_effect(finding, link))
        if cause or effect:
            links.append(f"{link} [{cause}] [{effect}]")
    return f"{code} {finding.subject.label}: servers {', '.join(known.servers(finding))}; {'; '.join(links)}"


def _keys(keys: Iterable[tuple[str, ...]]) -> str:
    return ", ".join("/".join(key) for key in keys)


TEXTS = {"changes": changes, "sources": sources, "relations": relations}


def text_of(name: str) -> str:
    """The content of one of the files."""
    return "\n".join(TEXTS[name]()) + "\n"


def write_all() -> None:
    """Write all of them."""
    for name in TEXTS:
        (ROOT / f"{name}.txt").write_text(text_of(name), encoding="utf-8")
    write_pictures()
