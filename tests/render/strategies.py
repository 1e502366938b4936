"""Any report that the types allow, for hypothesis: hostile text, numbers that are none, empty and odd values."""

from datetime import UTC, timedelta, timezone
from typing import Any

from hypothesis import strategies as st

from jsdoctor.model.finding import Confidence, Finding, Observation, Offer, Outcome, Severity, Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.report import EvidenceOrigin, Report, Result, RuleVerdict
from jsdoctor.model.rule import Risk, Rule, RuleStatus
from jsdoctor.model.suppression import Suppression
from jsdoctor.render.options import RenderOptions
from tests.render.reports import NASTY

# Surrogates too: file names that are not UTF-8 come as lone surrogates.
texts = st.one_of(st.text(st.characters(exclude_categories=()), max_size=40), st.just(NASTY), st.just("x" * 3000))
zones = st.sampled_from((UTC, timezone(timedelta(hours=14)), timezone(timedelta(hours=-11)), None))
own_moments = st.datetimes(timezones=st.just(UTC))
moments = own_moments | st.builds(lambda naive, zone: naive.replace(tzinfo=zone), st.datetimes(), zones)
numbers = st.floats() | st.integers(-(2**80), 2**80)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | numbers | texts | moments | st.binary(max_size=8) | st.just(Subject(kind="stream")),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(texts | st.integers(), inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.frozensets(texts | st.integers(), max_size=3)
    ),
    max_leaves=6,
)

subjects = st.builds(
    Subject,
    kind=st.sampled_from(("cluster", "server", "account", "stream", "consumer", "flow", "file", "client")),
    name=texts,
    account=texts,
    stream=texts,
)
units = (
    st.sampled_from((None, "duration", "ns", "ms", "s", "bytes", "bytes_per_second", "ratio", "count", "per_second"))
    | texts
)
rules = st.builds(
    Rule,
    code=st.sampled_from(("JSD403", "JSD901", "ACME1234")),
    slug=st.just("some-rule"),
    title=texts,
    checks=st.just(("collection.none",)),
    severity=st.sampled_from(Severity),
    status=st.sampled_from(RuleStatus),
)
paths = texts | st.builds("line {}, byte {}".format, st.integers(0, 10**10), st.integers(0, 10**10))
findings = st.builds(
    Finding,
    subject=subjects,
    message=texts,
    outcome=st.sampled_from(Outcome),
    severity=st.none() | st.sampled_from(Severity),
    confidence=st.sampled_from(Confidence),
    measured=st.none() | numbers | texts,
    threshold=st.none() | numbers | texts,
    unit=units,
    uncertainty=st.none() | numbers,
    evidence=st.lists(
        st.builds(Observation, source=texts, path=paths, value=values, at=st.none() | moments), max_size=3
    ).map(tuple),
    how_to_get=texts,
    first_seen=st.none() | moments,
    last_seen=st.none() | moments,
)
offers = st.builds(
    Offer,
    action=st.just("none"),
    risk=st.sampled_from(Risk).map(lambda risk: risk.value),
    commands=st.lists(texts, max_size=2).map(tuple),
)
suppressions = st.builds(
    Suppression, kind=st.sampled_from(("waiver", "baseline")), reason=texts, expires=st.none() | st.dates()
)
results = st.builds(
    Result, rule=rules, finding=findings, remedy=st.none() | offers, suppressed=st.none() | suppressions
)
gaps = st.builds(Gap, kind=st.just("stream"), subject=subjects, reason=texts, how_to_get=texts, requested=st.booleans())
reports = st.builds(
    Report,
    version=st.just("0.1.0"),
    started=own_moments,
    finished=own_moments,
    sources=st.lists(
        st.builds(EvidenceOrigin, kind=st.sampled_from(("live", "bundle", "logs")), name=texts, collected_at=moments),
        max_size=3,
    ).map(tuple),
    verdicts=st.lists(
        st.builds(
            RuleVerdict,
            rule=rules,
            outcome=st.sampled_from(Outcome),
            subjects=st.dictionaries(st.sampled_from(Outcome), st.integers(0, 10**6)),
            reason=texts,
            how_to_get=texts,
        ),
        max_size=4,
    ).map(tuple),
    results=st.lists(results, max_size=6).map(tuple),
    gaps=st.lists(gaps, max_size=4).map(tuple),
    headline=texts,
)
options = st.builds(
    RenderOptions,
    width=st.integers(0, 250),
    color=st.booleans(),
    ascii_only=st.booleans(),
    verbose=st.integers(0, 3),
    quiet=st.booleans(),
    max_examples=st.integers(0, 4),
    fail_on=st.sampled_from(Severity),
    exit_zero=st.booleans(),
    allow_gaps=st.booleans(),
)
