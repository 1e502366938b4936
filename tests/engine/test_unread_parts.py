"""Hiding any part of the evidence of a planted fault never makes its rule pass, or not applicable."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec
import pytest

from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.exchange import Access, Endpoint, Exchange, Sample
from jsdoctor.model.finding import CLUSTER, Outcome, Subject
from jsdoctor.model.gap import Gap
from tests.support.evidence import FIXTURES, cases, edited_samples, evidence_from
from tests.support.ruleset import run_rule

_OF_SERVERS = (Access.SYSTEM, Access.MONITOR)
_CASES_PER_RULE = 3
_GAP_KINDS = {
    Endpoint.STREAM_LIST: "account",
    Endpoint.ACCOUNT_INFO: "account",
    Endpoint.CONSUMER_LIST: "consumer",
    Endpoint.STORED_MESSAGES: "scan",
    Endpoint.ACK_METRICS: "metrics",
}
"""The kind of gap that the collector reports if no server replies; for other endpoints it is "endpoint"."""
CODES = [file.parent.name for file in sorted(FIXTURES.glob("rules/*/cases.toml")) if "[[case]]" in file.read_text()]
"""Rules on what servers report."""


@pytest.mark.parametrize("code", CODES)
def test_no_hidden_part_makes_a_rule_pass(code: str) -> None:
    assert list(silenced(islice(failing_cases(code), 1), code)) == []


@pytest.mark.nightly
@pytest.mark.parametrize("code", CODES)
def test_no_hidden_part_makes_a_rule_pass_on_other_faults(code: str) -> None:
    assert list(silenced(islice(failing_cases(code), 1, None), code)) == []


def silenced(failing: Iterable[tuple[dict[str, Any], list[Sample]]], code: str) -> Iterator[tuple[str, str, str]]:
    """The case, the part and the outcome of each trial in which the rule no longer reports its fault."""
    for case, samples in failing:
        for part, hidden in _without_parts(samples, bool(case.get("history"))):
            outcome = outcome_of(code, case, evidence_from(case, hidden))
            if outcome in (Outcome.PASS, Outcome.NOT_APPLICABLE):
                yield case["about"], part, outcome.value


def failing_cases(code: str) -> Iterator[tuple[dict[str, Any], list[Sample]]]:
    """Up to three cases in which the rule reports a fault, each with its samples."""
    failing = [case for case in cases(code) if case["kind"] in ("fires", "above")]
    for case in failing[:: max(1, len(failing) // _CASES_PER_RULE)][:_CASES_PER_RULE]:
        samples = edited_samples(case)
        if outcome_of(code, case, evidence_from(case, samples)) is Outcome.FAIL:
            yield case, samples


def outcome_of(code: str, case: dict[str, Any], evidence: EvidenceSet) -> Outcome:
    """The outcome of the rule as a whole."""
    [verdict] = run_rule(code, evidence, case.get("params")).verdicts
    return verdict.outcome


def _without_parts(samples: Sequence[Sample], history: bool) -> Iterator[tuple[str, list[Sample]]]:
    exchanges = [exchange for sample in samples for exchange in sample.exchanges]
    for endpoint in dict.fromkeys(exchange.endpoint for exchange in exchanges):
        if endpoint is Endpoint.CONNECT_INFO:
            continue
        gap = Gap(_GAP_KINDS.get(endpoint, "endpoint"), CLUSTER, f"no reply to {endpoint} within 2 s", "run again")
        yield endpoint.value, _without(samples, endpoint, "", gap)
    senders = {(e.endpoint, _sender(e)) for e in exchanges if e.access in _OF_SERVERS}
    names = sorted({name for _, name in senders if name})
    for endpoint, server in sorted(senders):
        if server and len([name for of, name in senders if of is endpoint]) > 1:
            yield f"{endpoint.value} of {server}", _without(samples, endpoint, server, _silent(server))
    for server in names if len(names) > 1 else ():
        yield server, _without(samples, None, server, _silent(server))
    if len(samples) > 1 and not history:
        yield "the first sample", with_what_is_sampled_once(samples[1:], samples[0])


def with_what_is_sampled_once(kept: Sequence[Sample], hidden: Sample) -> list[Sample]:
    """These samples without an earlier one, whose replies they keep where no later sample has such."""
    sampled = {exchange.endpoint for sample in kept for exchange in sample.exchanges}
    once = tuple(exchange for exchange in hidden.exchanges if exchange.endpoint not in sampled)
    return [*kept[:-1], msgspec.structs.replace(kept[-1], exchanges=(*kept[-1].exchanges, *once))]


def _silent(server: str) -> Gap:
    return Gap("server", Subject(kind="server", name=server), "no reply within 2 s", "run again")


def _without(samples: Sequence[Sample], endpoint: Endpoint | None, server: str, gap: Gap) -> list[Sample]:
    """The samples as they are collected when these replies do not come."""
    return [
        msgspec.structs.replace(
            sample,
            gaps=(*sample.gaps, gap),
            exchanges=tuple(
                exchange
                for exchange in sample.exchanges
                if not ((endpoint is None or exchange.endpoint is endpoint) and server in ("", _sender(exchange)))
            ),
        )
        for sample in samples
    ]


def _sender(exchange: Exchange) -> str:
    body = json.loads(exchange.body)
    server = body.get("server") if isinstance(body, dict) else None
    return server.get("name", "") if isinstance(server, dict) else ""
