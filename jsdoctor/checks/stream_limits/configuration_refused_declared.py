"""JSD614: a stream that its tool or the servers will refuse to create or to change."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared import stream_refusals
from jsdoctor.checks.declared.deployed import Deployed
from jsdoctor.checks.declared.doubts import BY_HAND
from jsdoctor.checks.declared.index import Declarations
from jsdoctor.checks.declared.stream_refusals import Refusal
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, Severity, passed, unknown
from jsdoctor.model.manifest import DeclaredStream, Fate, Manifests
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.subjects import subjects_overlap


@check("stream_limits.configuration_refused_declared")
def configuration_refused_declared(manifests: Manifests, snapshots: SnapshotSeries | None) -> Iterator[Finding]:
    """Alone by what no server takes; beside a deployment also by what cannot be changed, and by whose subjects are
    taken. One finding for each stream, with all reasons.
    """
    declared, deployed = Declarations(manifests), Deployed(snapshots)
    account = deployed.account_of(stream.name for stream in manifests.kept_streams())
    for stream in manifests.kept_streams():
        reasons = _reasons(stream, declared, deployed, account)
        dropped = [mistake for mistake in stream.mistakes if mistake.ignored]
        shown = (*(seen for _, seen in reasons), *(mistake.place.shows(mistake.says) for mistake in dropped))
        says = "; ".join((*(text for text, _ in reasons), *(mistake.says for mistake in dropped)))
        if reasons:
            yield _finding(stream, says, shown)
        elif dropped:
            yield _finding(
                stream, says, shown, Severity.INFO if all(mistake.unsure for mistake in dropped) else Severity.WARNING
            )
        elif unsure := deployed.doubt(stream, stream.name):
            yield unsure
        elif deployed.seen and account is None:
            says = "several accounts have streams: whether its subjects are taken in its own cannot be told"
            yield unknown(stream.subject, says, "use a login of the account that it is for")
        else:
            yield passed(stream.subject)


def _reasons(
    stream: DeclaredStream, declared: Declarations, deployed: Deployed, account: str | None
) -> list[tuple[str, Observation]]:
    """What its tool refuses, else what the server does, each with its place."""
    wrong = [mistake for mistake in stream.mistakes if not mistake.ignored]
    if wrong:
        return _told(f"{stream.tool} will refuse it", [(one.says, one.place.shows(one.says)) for one in wrong])
    refusals = _refusals(stream, declared, deployed, account)
    return _told("the server will refuse it", [(one.text, stream.at(one.field).shows(one.says)) for one in refusals])


def _refusals(stream: DeclaredStream, declared: Declarations, deployed: Deployed, account: str | None) -> list[Refusal]:
    current = deployed.stream(stream.name)
    renewed = stream.fate is Fate.REPLACED
    config = stream.after_update(current.config) if current and not renewed else stream.stored
    if current and not stream.may_update:
        return []
    found = list(stream_refusals.of_stream(config))
    if current and not renewed:
        found += stream_refusals.of_change(config, current.config)
    return found + list(_overlaps(stream, config.subjects, declared, deployed, account))


def _overlaps(
    stream: DeclaredStream, subjects: tuple[str, ...], declared: Declarations, deployed: Deployed, account: str | None
) -> Iterator[Refusal]:
    """A subject belongs to one stream of an account: those of one file are held against each other, and each against
    what is deployed and not declared anew.
    """
    others = declared.taken_beside(stream).near(subjects)
    if account is not None:
        there = deployed.subjects_of(account).near(subjects)
        others = {name: taken for name, taken in there.items() if not declared.has(stream.account, name)} | others
    for name, taken in sorted(others.items()):
        pairs = ((s, t) for s in subjects for t in taken if name != stream.name and subjects_overlap(s, t))
        if pair := next(pairs, None):
            says = f"its subject {pair[0]!r} overlaps with {pair[1]!r} of stream {name}"
            yield Refusal("subjects", says, 10065)


def _finding(
    stream: DeclaredStream, says: str, shown: tuple[Observation, ...], severity: Severity | None = None
) -> Finding:
    return Finding(subject=stream.subject, severity=severity, message=says, evidence=shown, remedy=BY_HAND)


def _told(verdict: str, reasons: list[tuple[str, Observation]]) -> list[tuple[str, Observation]]:
    """The verdict before the first reason."""
    return [(f"{verdict}: {says}" if number == 0 else says, seen) for number, (says, seen) in enumerate(reasons)]
