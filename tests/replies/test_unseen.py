"""A field that servers always send and that a reply lacks is unknown for checks, and only that."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Outcome, Subject
from jsdoctor.model.partial import NotShownError
from jsdoctor.model.reported import Reported
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.replies.assemble import assemble
from jsdoctor.replies.unread import mapped
from tests.support.evidence import FIXTURES, cases, edited_samples
from tests.support.ruleset import run_rule

BASES = sorted(path.stem for path in (FIXTURES / "base").glob("*.json"))


def without(case: str | dict[str, Any], endpoint: str, remove: Callable[[Any], object]) -> EvidenceSet:
    """The evidence of a recording or case, whose replies of that endpoint were changed."""

    def changed(exchange: Any) -> Any:
        if exchange.endpoint != endpoint:
            return exchange
        body = json.loads(exchange.body)
        remove(body.get("data", body))
        return msgspec.structs.replace(exchange, body=json.dumps(body).encode())

    samples = edited_samples({"base": case} if isinstance(case, str) else case)
    return assemble([msgspec.structs.replace(s, exchanges=tuple(map(changed, s.exchanges))) for s in samples])


def streams_of(jsz: Any) -> list[Any]:
    return [stream for account in jsz["account_details"] for stream in account.get("stream_detail") or ()]


def orders(evidence: EvidenceSet) -> Stream:
    series = evidence.get(SnapshotSeries)
    assert series is not None
    [stream] = (stream for stream in series.last.streams if stream.name == "ORDERS")
    return stream


@pytest.mark.parametrize("base", BASES)
def test_every_recorded_server_sends_what_servers_always_send(base: str) -> None:
    found: list[object] = []

    def collect(value: Any, subject: Subject) -> Any:
        if isinstance(value, Reported) and value.unseen:
            found.append((subject, value.unseen))
        return value

    evidence = assemble(edited_samples({"base": base}))
    for kind in evidence.present:
        assert mapped(kind, collect) is kind
    assert found == []


def test_a_lacking_field_is_the_default_outside_of_checks_and_unknown_in_them() -> None:
    def remove(jsz: Any) -> None:
        for stream in streams_of(jsz):
            if stream["name"] == "ORDERS":
                del stream["state"]["messages"], stream["config"]["max_msgs"], stream["created"]

    evidence = without("three-nodes-2.10.26", "JSZ", remove)
    assert orders(evidence).unseen == {"state.messages", "config.max_msgs", "created"}
    assert orders(evidence).state.messages == 0
    shown = orders(evidence.for_checks())
    assert shown.state.last_seq == orders(evidence).state.last_seq
    assert shown.created is None, "None is no value of a field that is always sent"
    reads: list[Callable[[Stream], object]] = [
        lambda stream: stream.state.messages,
        lambda stream: stream.config.max_msgs,
        lambda stream: stream.config == orders(evidence).config,
    ]
    for read in reads:
        with pytest.raises(NotShownError):
            read(shown)


def test_a_fault_beside_what_is_lacking_is_found() -> None:
    case = next(case for case in cases("JSD602") if case["kind"] == "fires" and "account" not in case["base"])

    def remove(jsz: Any) -> None:
        for stream in streams_of(jsz):
            if stream["name"] == "EVENTS":
                del stream["state"]["messages"]

    results = run_rule("JSD602", without(case, "JSZ", remove), case.get("params"), keep_passes=True).results
    outcomes = {result.finding.subject.name: result.finding.outcome for result in results}
    assert outcomes.pop("EVENTS") is Outcome.NOT_EVALUATED
    assert Counter(outcomes.values()) == {Outcome.FAIL: 1, Outcome.PASS: 3}
    [unknown] = [result.finding for result in results if result.finding.outcome is Outcome.NOT_EVALUATED]
    assert unknown.message == "state.messages of APP > EVENTS is not shown in what was given"


def test_a_stream_without_a_name_is_a_reply_that_cannot_be_used() -> None:
    def remove(jsz: Any) -> None:
        del streams_of(jsz)[0]["config"]["name"]

    evidence = without("one-node-2.15.1", "JSZ", remove)
    assert any("a stream has no name" in gap.reason for gap in evidence.gaps if gap.requested)


def test_a_server_of_which_a_reply_lacks_a_figure_keeps_the_others() -> None:
    evidence = without("three-nodes-2.15.1", "VARZ", lambda varz: varz.pop("cpu"))
    servers = evidence.for_checks().get(Servers)
    assert servers is not None
    for server in servers.servers:
        assert server.varz is not None
        assert server.varz.connections >= 0
        with pytest.raises(NotShownError, match=f"cpu of {server.name} is not shown"):
            _ = server.varz.cpu
