"""The processor time of each rule grows with the number of streams and consumers, not with its square."""

import time
from collections.abc import Iterator
from typing import Any

import msgspec

from jsdoctor.engine.runner import evaluate
from jsdoctor.engine.select import select_rules
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.exchange import Endpoint, Sample
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.replies.assemble import assemble
from tests.support.evidence import samples_of
from tests.support.ruleset import checks, rules

SMALL, TIMES = 20, 16
_NOISE_S = 0.3
"""A busy machine and a run of the garbage collector take this long."""
_ATTEMPTS = 4


def _multiplied(samples: tuple[Sample, ...], copies: int) -> Iterator[Sample]:
    """The recording with each of its streams under as many names, consumers included."""
    for sample in samples:
        exchanges = []
        for exchange in sample.exchanges:
            body = exchange.body
            if exchange.endpoint is Endpoint.JSZ:
                jsz = msgspec.json.decode(body)
                for account in jsz["data"]["account_details"]:
                    listed = account.get("stream_detail") or []
                    account["stream_detail"] = [_renamed(s, n) for s in listed for n in range(copies)]
                body = msgspec.json.encode(jsz)
            exchanges.append(msgspec.structs.replace(exchange, body=body))
        yield msgspec.structs.replace(sample, exchanges=tuple(exchanges))


def _renamed(stream: dict[str, Any], number: int) -> dict[str, Any]:
    name = f"{stream['name']}-{number}"
    consumers = [consumer | {"stream_name": name} for consumer in stream.get("consumer_detail") or ()]
    return stream | {"name": name, "config": stream["config"] | {"name": name}, "consumer_detail": consumers}


def _time(code: str, evidence: EvidenceSet) -> float:
    started = time.process_time()
    evaluate(select_rules(rules(), [code]), checks(), evidence, {})
    return time.process_time() - started


def _grows_too_fast(code: str, small: EvidenceSet, large: EvidenceSet) -> bool:
    """Whether the larger deployment takes too long every time: on a busy machine one measurement may."""
    return all(_time(code, large) > 3 * TIMES * _time(code, small) + _NOISE_S for _ in range(_ATTEMPTS))


def test_no_rule_compares_all_streams_with_all() -> None:
    recording = samples_of("three-nodes-2.15.1")
    small, large = (assemble(tuple(_multiplied(recording, copies))) for copies in (SMALL, SMALL * TIMES))
    few, many = (evidence.get(SnapshotSeries) for evidence in (small, large))
    assert few is not None
    assert many is not None
    assert len(many.last.streams) == TIMES * len(few.last.streams) > 2_000
    assert [rule.code for rule in rules() if _grows_too_fast(rule.code, small, large)] == []
