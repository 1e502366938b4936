"""Several logins of one deployment: nothing is lost, nothing is there twice, accounts are not mixed up."""

import json
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from jsdoctor.bundles.bundle import decode_manifest, decode_samples, encode_bundle
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.exchange import Access, Endpoint, Exchange, Sample
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.server import Accounts, Servers
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.replies.assemble import assemble
from jsdoctor.replies.logins import of_several_logins
from tests.support.evidence import samples_of

VERSIONS = ["2.10.26", "2.12.8", "2.15.1"]


def streams(evidence: EvidenceSet) -> dict[tuple[str, str], int]:
    """Every stream, with how many copies of it were seen."""
    series = evidence.get(SnapshotSeries)
    assert series is not None
    names = [stream.key for stream in series.last.streams]
    assert len(names) == len(set(names))
    return {stream.key: len(stream.replicas) for stream in series.last.streams}


def without_stream(samples: tuple[Sample, ...], name: str) -> tuple[Sample, ...]:
    """As if the only server that holds that stream had not answered."""

    def cut(exchange: Exchange) -> Exchange:
        if exchange.endpoint is not Endpoint.JSZ:
            return exchange
        body = json.loads(exchange.body)
        for account in body["data"].get("account_details", ()):
            account["stream_detail"] = [detail for detail in account.get("stream_detail", ()) if detail["name"] != name]
        return replace(exchange, body=json.dumps(body).encode())

    return tuple(replace(sample, exchanges=tuple(map(cut, sample.exchanges))) for sample in samples)


@pytest.mark.parametrize("version", VERSIONS)
def test_servers_keep_their_copies_and_the_account_adds_its_usage(version: str) -> None:
    system, account = samples_of(f"three-nodes-{version}"), samples_of(f"three-nodes-{version}-account")
    alone, both = assemble(system), assemble(of_several_logins([system, account]))
    assert streams(both) == streams(alone)
    assert set(streams(both).values()) >= {3}
    assert isinstance(both.get(Servers), Servers)
    usage = both.get(Accounts)
    assert usage is not None
    assert [row.name for row in usage.accounts].count("APP") == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_an_account_names_what_no_server_shows(version: str) -> None:
    system, account = samples_of(f"three-nodes-{version}"), samples_of(f"three-nodes-{version}-account")
    cut = without_stream(system, "ORDERS")
    assert ("APP", "ORDERS") not in streams(assemble(cut))
    both = assemble(of_several_logins([cut, account]))
    assert set(streams(both)) == set(streams(assemble(system)))
    assert streams(both)["APP", "ORDERS"] == 0
    series = both.get(SnapshotSeries)
    assert series is not None
    [orders] = [stream for stream in series.last.streams if stream.name == "ORDERS"]
    assert orders.from_leader
    assert len(orders.consumers) == 5


def test_two_accounts_are_not_mixed_up() -> None:
    account = samples_of("one-node-2.15.1-account")
    other = tuple(
        replace(
            exchange, exchanges=tuple(replace(e, body=e.body.replace(b'"APP"', b'"TWO"')) for e in exchange.exchanges)
        )
        for exchange in account
    )
    both = streams(assemble(of_several_logins([account, other])))
    assert {owner for owner, _ in both} == {"APP", "TWO"}
    assert len(both) == 2 * len(streams(assemble(account)))
    again = streams(assemble(of_several_logins([account, account])))
    assert again == streams(assemble(account))


def test_a_bundle_keeps_logins_apart_and_older_versions_do_not_mix_them() -> None:
    system, account = samples_of("one-node-2.15.1"), samples_of("one-node-2.15.1-account")
    samples = of_several_logins([system, account])
    members = dict(encode_bundle(samples, created=datetime.now(UTC), version="x"))
    manifest = decode_manifest(members["manifest.json"])
    assert decode_samples(manifest, members) == samples
    assert {member.access for member in manifest.members} >= {"system", "account#1"}
    assert Endpoint.STREAM_LIST in {e.endpoint for sample in samples for e in sample.exchanges if e.login == 1}


def test_a_stream_that_another_login_read_is_no_gap() -> None:
    """Each of two accounts has one of the streams that were named with --scan."""
    now = datetime(2026, 11, 21, tzinfo=UTC)

    def scanned(own: str, other: str) -> tuple[Sample, ...]:
        body = Exchange(Access.ACCOUNT, Endpoint.STORED_MESSAGES, f"$JS.API.STREAM.MSG.GET of {own}", now, 1, b"{}")
        missed = Gap("scan", Subject(kind="stream", name=other), "stream not found", "use another login")
        gone = Gap("scan", Subject(kind="stream", name="GONE"), "stream not found", "use another login")
        return (Sample(now, (body,), (missed, gone)),)

    [both] = of_several_logins([scanned("ORDERS", "BILLING"), scanned("BILLING", "ORDERS")])
    assert {gap.subject.name for gap in both.gaps} == {"GONE"}
