"""Hiding any field that servers always send from the replies about a planted fault never makes its rule pass."""

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

import msgspec
import pytest

from jsdoctor.model.exchange import Endpoint, Sample
from jsdoctor.model.finding import Outcome
from jsdoctor.model.trend import ServerTrend, Trend
from tests.engine.test_unread_parts import CODES, failing_cases, outcome_of, with_what_is_sampled_once
from tests.support.evidence import FIXTURES, evidence_from
from tests.support.ruleset import checks, rules

Place = tuple[str, ...]
"""The keys to a field in the replies of an endpoint, the first of which is the endpoint; `*` for elements."""

_OF_SERVERS = frozenset(
    (
        *(Endpoint.VARZ, Endpoint.JSZ, Endpoint.HEALTHZ, Endpoint.RAFTZ, Endpoint.CONNZ, Endpoint.CONNZ_CLOSED),
        *(Endpoint.GATEWAYZ, Endpoint.LEAFZ, Endpoint.ROUTEZ, Endpoint.ACCOUNTZ, Endpoint.STREAM_LIST),
        *(Endpoint.CONSUMER_LIST, Endpoint.ACCOUNT_INFO, Endpoint.CONNECT_INFO),
    )
)
_BY_NAME = {("RAFTZ", "data"), ("RAFTZ", "data", "*"), ("INFO", "tiers")}
"""Objects whose keys are names."""
_OMITTED = {
    "": {"data", "auth_required", "jetstream"},
    "data": {"account_details", "accounts", "auth_required", "status_code", "system_account"},
    "account_details": {"stream_detail"},
    "stream_detail": {"config", "cluster"},
    "streams": {"cluster"},
    "consumer_detail": {"config", "cluster"},
    "consumers": {"config", "cluster"},
    "cluster": {"name", "raft_group", "leader", "replicas"},
    "meta_cluster": {"name", "leader", "peer"},
    "config": {
        *("store_dir", "sync_interval", "max_msg_size", "compression"),
        *("name", "durable_name", "ack_wait", "max_deliver", "max_ack_pending"),
    },
    "delivered": {"last_active"},
    "ack_floor": {"last_active"},
    "connections": {"kind", "type", "lang", "version", "account", "authorized_user", "stop", "reason"},
    "RAFTZ": {"leader"},
}
"""Fields by the object around them that all recordings show, and that servers leave out if they are empty (`omitempty`)
or, of configurations, if they are not requested. `compression` is left out by `nats`, whose text is pasted."""
_CASES_PER_RULE = 1
_UNREADABLE = "JSD901"
"""Its faults are gaps: a reply that cannot be read can be read without the field that is wrong."""


@pytest.mark.nightly
@pytest.mark.parametrize("code", [code for code in CODES if code != _UNREADABLE])
def test_no_hidden_field_makes_a_rule_pass(code: str) -> None:
    silenced = [
        f"{case['about']}: without {'.'.join(place)}: {outcome}"
        for case, samples in islice(failing_cases(code), _CASES_PER_RULE)
        for place, outcome in _outcomes(code, case, _needed(code, case, samples))
        if outcome in (Outcome.PASS, Outcome.NOT_APPLICABLE)
    ]
    assert silenced == []


def _needed(code: str, case: dict[str, Any], samples: list[Sample]) -> list[Sample]:
    """The newest sample and what is sampled once, if the rule judges no trend and reports its fault by that alone."""
    rule = next(rule for rule in rules() if rule.code == code)
    if not case.get("history") and not {Trend, ServerTrend} & {k for name in rule.checks for k in checks()[name].kinds}:
        newest = with_what_is_sampled_once(samples[-1:], samples[0])
        if outcome_of(code, case, evidence_from(case, newest)) is Outcome.FAIL:
            return newest
    return samples


def _outcomes(code: str, case: dict[str, Any], samples: list[Sample]) -> Iterator[tuple[Place, Outcome]]:
    """The outcome without each field that servers always send. Of an object without which the rule reports its fault
    all the same, fields are not tried.
    """
    bodies = {id(e): json.loads(e.body) for sample in samples for e in sample.exchanges if e.endpoint in _OF_SERVERS}
    replies: dict[str, list[Any]] = {}
    for exchange in (exchange for sample in samples for exchange in sample.exchanges if id(exchange) in bodies):
        replies.setdefault(exchange.endpoint.value, []).append(bodies[id(exchange)])

    def tried(values: list[Any], place: Place) -> Iterator[tuple[Place, Outcome]]:
        for below, inner in _below(values, place):
            is_sent, is_deep = below in _always_sent(), any(isinstance(value, dict | list) for value in inner)
            if not is_sent and not is_deep:
                continue
            if below[-1] != "*":
                outcome = outcome_of(code, case, evidence_from(case, _without(samples, bodies, below)))
                if is_sent:
                    yield below, outcome
                if outcome is Outcome.FAIL:
                    continue
            yield from tried(inner, below)

    for endpoint, values in replies.items():
        yield from tried(values, (endpoint,))


def _below(values: list[Any], place: Place) -> list[tuple[Place, list[Any]]]:
    """What lies below a place, by place."""
    found: dict[Place, list[Any]] = {}
    for value in values:
        if isinstance(value, list):
            found.setdefault((*place, "*"), []).extend(value)
        for key, inner in value.items() if isinstance(value, dict) else ():
            of_name = place in _BY_NAME or place[-1] == "metadata"
            found.setdefault((*place, "*" if of_name else key), []).append(inner)
    return list(found.items())


def _without(samples: list[Sample], bodies: dict[int, Any], place: Place) -> list[Sample]:
    endpoint, *path = place
    return [
        msgspec.structs.replace(
            sample,
            exchanges=tuple(
                msgspec.structs.replace(exchange, body=msgspec.json.encode(_cut(bodies[id(exchange)], path)))
                if exchange.endpoint == endpoint
                else exchange
                for exchange in sample.exchanges
            ),
        )
        for sample in samples
    ]


def _cut(value: Any, path: list[str]) -> Any:
    """The value without the field at a path."""
    key, *rest = path
    if isinstance(value, list):
        return [_cut(item, rest) for item in value]
    if not isinstance(value, dict):
        return value
    if not rest:
        return {name: item for name, item in value.items() if name != key}
    return {name: _cut(item, rest) if key in ("*", name) else item for name, item in value.items()}


@cache
def _always_sent() -> frozenset[Place]:
    """The fields that each recording of each release has wherever it has the object around them."""
    around, shown = Counter[Place](), Counter[Place]()

    def count(values: list[Any], place: Place) -> None:
        around[place] += sum(isinstance(value, dict) for value in values)
        for below, inner in _below(values, place):
            shown[below] += len(inner)
            count(inner, below)

    for path in (FIXTURES / "base").glob("*.json"):
        for sample in json.loads(path.read_text("utf-8"))["samples"]:
            for exchange in sample["exchanges"]:
                count([exchange["body"]], (exchange["endpoint"],))
    return frozenset(place for place in shown if shown[place] == around[place[:-1]] and not _is_omitted(place))


def _is_omitted(place: Place) -> bool:
    *around, key = place[1:]
    parent = next((name for name in reversed(around) if name != "*"), "")
    return key == "*" or key in _OMITTED.get(place[0] if set(around) == {"data", "*"} else parent, ())
