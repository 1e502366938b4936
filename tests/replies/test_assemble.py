"""From raw replies to evidence: real replies of three server versions, and what becomes of damaged ones."""

import copy
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsdoctor.model.connections import Connections
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.exchange import Access, Endpoint, Exchange, Sample
from jsdoctor.model.finding import Outcome
from jsdoctor.model.gap import Gap
from jsdoctor.model.server import Accounts, Servers
from jsdoctor.model.snapshot import MAX_UNRESPONSIVE, ClusterSnapshot, SnapshotSeries, Stream
from jsdoctor.model.trend import Trend
from jsdoctor.replies.assemble import assemble
from tests.support.ruleset import run_all

REPLIES = Path(__file__).resolve().parents[2] / "fixtures" / "replies"
VERSIONS = ("2.10.26", "2.15.1")
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
Json = Any
Edit = Callable[[Json], None]


def real(version: str, name: str) -> Json:
    """A recorded reply (or the list of all servers' replies to one request)."""
    return json.loads((REPLIES / version / f"{name}.json").read_text())


def exchange(access: Access, endpoint: Endpoint, target: str, body: Json) -> Exchange:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Exchange(access, endpoint, target, NOW, 1_000_000, raw)


def system(version: str, edit: Edit | None = None, *, without: str = "") -> list[Exchange]:
    """What the system account was told: three servers' JSZ (edited), VARZ and HEALTHZ, or two servers'."""
    exchanges = []
    for endpoint in (Endpoint.JSZ, Endpoint.VARZ, Endpoint.HEALTHZ):
        for reply in real(version, f"ping-{endpoint.value.lower()}"):
            if edit and endpoint is Endpoint.JSZ:
                edit(reply)
            if reply["server"]["name"] != without:
                exchanges.append(exchange(Access.SYSTEM, endpoint, f"$SYS.REQ.SERVER.PING.{endpoint.value}", reply))
    return exchanges


def monitor(version: str, *, only: str = "") -> list[Exchange]:
    """The same through monitoring ports: their bodies are the data of the system account's replies."""
    exchanges = []
    for endpoint in (Endpoint.JSZ, Endpoint.HEALTHZ, Endpoint.VARZ):
        for reply in real(version, f"ping-{endpoint.value.lower()}"):
            name = reply["server"]["name"]
            if not only or name == only:
                target = f"http://{name}:8222/{endpoint.value.lower()}?accounts=true"
                exchanges.append(exchange(Access.MONITOR, endpoint, target, reply["data"]))
    return exchanges


def account(version: str, **edits: Edit) -> list[Exchange]:
    """What a plain account was told. Edits by the file's name, with `_` for `-`."""
    asked = {
        "stream-list": (Endpoint.STREAM_LIST, "$JS.API.STREAM.LIST"),
        "consumer-list-ORDERS": (Endpoint.CONSUMER_LIST, "$JS.API.CONSUMER.LIST.ORDERS"),
        "account-info": (Endpoint.ACCOUNT_INFO, "$JS.API.INFO"),
        "user-info": (Endpoint.USER_INFO, "$SYS.REQ.USER.INFO"),
    }
    exchanges = []
    for name, (endpoint, target) in asked.items():
        body = real(version, name)
        if edit := edits.get(name.replace("-", "_")):
            edit(body)
        exchanges.append(exchange(Access.ACCOUNT, endpoint, target, body))
    return exchanges


def evidence(*samples: list[Exchange], gaps: tuple[Gap, ...] = ()) -> EvidenceSet:
    return assemble([Sample(NOW + timedelta(seconds=n), tuple(s), gaps) for n, s in enumerate(samples)])


def last(evidence: EvidenceSet) -> ClusterSnapshot:
    series = evidence.get(SnapshotSeries)
    assert series is not None
    return series.last


def streams(evidence: EvidenceSet) -> dict[str, Stream]:
    return {stream.name: stream for stream in last(evidence).streams}


def servers(evidence: EvidenceSet) -> Servers:
    responding = evidence.get(Servers)
    assert responding is not None
    return responding


def requested(evidence: EvidenceSet) -> list[tuple[str, str]]:
    return [(gap.kind, gap.subject.label) for gap in evidence.gaps if gap.requested]


def jsz_streams(reply: Json) -> Iterator[Json]:
    for detail in reply["data"].get("account_details", []):
        yield from detail.get("stream_detail", [])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("way", [system, monitor])
def test_all_servers_together_show_every_asset_from_its_leader(version: str, way: Callable[[str], Json]) -> None:
    assembled = evidence(way(version))
    assert streams(assembled).keys() == {"EVENTS", "MIR", "ORDERS", "R1", "R2"}
    replicas = {name: len(stream.replicas) for name, stream in streams(assembled).items()}
    assert replicas == {"EVENTS": 3, "ORDERS": 3, "R2": 2, "R1": 1, "MIR": 1}
    for stream in streams(assembled).values():
        assert (stream.account, stream.has_leader, stream.from_leader, stream.consumers_seen) == (
            "APP",
            True,
            True,
            True,
        )
        assert stream.cluster is not None
        assert stream.answered_by == stream.cluster.leader
        assert [copy.server for copy in stream.replicas if copy.is_leader] == [stream.cluster.leader]
        assert (stream.state.messages, stream.state.last_seq) == (200, 200)
    assert [(s.name, s.version, bool(s.varz and s.jetstream and s.health)) for s in servers(assembled).servers] == [
        (name, version, True) for name in ("n1", "n2", "n3")
    ]
    assert requested(assembled) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_consumer_is_judged_by_its_own_leader_not_by_its_streams(version: str) -> None:
    orders = streams(evidence(system(version)))["ORDERS"]
    push = next(consumer for consumer in orders.consumers if consumer.name == "push")
    assert push.answered_by != orders.answered_by
    # Nobody is bound and nothing was delivered: followers say the opposite of both.
    assert (push.from_leader, push.num_pending, push.push_bound) == (True, 200, False)
    followers = [
        consumer
        for reply in real(version, "ping-jsz")
        for stream in jsz_streams(reply)
        for consumer in stream.get("consumer_detail", [])
        if consumer["name"] == "push" and reply["server"]["name"] != push.answered_by
    ]
    assert [(follower["num_pending"], follower.get("push_bound")) for follower in followers] == [(0, True)] * 2
    assert sorted(replica.server for replica in push.replicas) == sorted({"n1", "n2", "n3"} - {push.answered_by})


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("silent", ["n1", "n2", "n3"])
def test_what_a_silent_server_leads_is_not_judged_and_is_a_gap(version: str, silent: str) -> None:
    whole, partial = evidence(system(version)), evidence(system(version, without=silent))
    expected = {("server", silent)}
    for name, stream in streams(whole).items():
        if stream.answered_by == silent:
            expected |= {("stream", f"APP > {name}")} if len(stream.replicas) > 1 else set()
            assert name not in streams(partial) or not streams(partial)[name].from_leader
            continue
        assert streams(partial)[name].from_leader
        for consumer, before in zip(streams(partial)[name].consumers, stream.consumers, strict=True):
            assert consumer.from_leader == (before.answered_by != silent)
            expected |= set() if consumer.from_leader else {("consumer", f"APP > {name} > {consumer.name}")}
    assert set(requested(partial)) == expected
    assert not any(consumer.answered_by == silent for _, consumer in last(partial).led_consumers())


@pytest.mark.parametrize("version", ["2.10.26", "2.12.8", "2.15.1"])
def test_a_single_server_leads_all_of_its_streams(version: str) -> None:
    base = "http://127.0.0.1:8222"
    exchanges = [
        exchange(Access.MONITOR, Endpoint.VARZ, f"{base}/varz", real(version, "varz-single")),
        exchange(Access.MONITOR, Endpoint.JSZ, f"{base}/jsz?accounts=true", real(version, "jsz-single")),
    ]
    assembled = evidence(exchanges)
    assert {stream.name for stream in last(assembled).led_streams()} == {
        "AGG",
        "FULL",
        "LOSS",
        "NOACK",
        "ORDERS",
        "SKEW",
    }
    assert [(server.name, server.meta) for server in servers(assembled).servers] == [("S1", None)]
    assert not servers(assembled).complete
    assert requested(assembled) == []
    # Without /varz nobody knows which server that is: its streams cannot be told from a follower's copies.
    assert list(last(evidence(exchanges[1:])).led_streams()) == []


def test_the_wall_clock_that_2_10_prints_for_a_peer_never_seen_is_never_seen() -> None:
    def edit(reply: Json) -> None:
        for stream in jsz_streams(reply):
            for peer in stream["cluster"].get("replicas", []):
                peer["active"] = 1_795_254_610_240_183_085
        for peer in reply["data"]["meta_cluster"].get("replicas", []):
            peer["active"] = 1_795_254_610_240_183_085

    assembled = evidence(system("2.10.26", edit))
    peers = [peer for stream in last(assembled).streams if stream.cluster for peer in stream.cluster.replicas]
    peers += [peer for server in servers(assembled).servers if server.meta for peer in server.meta.replicas]
    assert len(peers) == 7
    assert {peer.active_ns for peer in peers} == {0}


def test_a_restarted_peer_whose_name_is_not_known_yet_is_not_missed() -> None:
    def edit(reply: Json) -> None:
        for peer in reply["data"]["meta_cluster"].get("replicas", []):
            peer["name"] = f"Server name unknown at this time (peerID: {peer['peer']})"

    assert requested(evidence(system("2.15.1", edit))) == []
    # n1 is the meta leader of that recording: the others know its name from there.
    assert ("server", "n1") in requested(evidence(system("2.15.1", edit, without="n1")))
    ((kind, label), *_) = requested(evidence(system("2.15.1", edit, without="n2")))
    assert (kind, label) == ("server", "cluster")


def test_a_server_that_names_itself_leader_without_peers_does_not_beat_the_leader() -> None:
    """A member whose Raft node does not run claims the lead; it may hold more than the real leader does."""

    def edit(reply: Json) -> None:
        for stream in jsz_streams(reply):
            if stream["config"]["name"] == "EVENTS" and reply["server"]["name"] == "n1":
                stream["cluster"] = {"name": "C1", "leader": "n1"}
                stream["state"]["last_seq"] = 999

    stream = streams(evidence(system("2.15.1", edit)))["EVENTS"]
    assert (stream.answered_by, stream.state.last_seq) == ("n3", 200)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_api_of_a_plain_account(version: str) -> None:
    assembled = evidence(account(version))
    assert [stream.subject.label for stream in last(assembled).streams] == [
        f"A > {name}" for name in ("EVENTS", "MIR", "ORDERS", "R1", "R2")
    ]
    orders = streams(assembled)["ORDERS"]
    assert [consumer.name for consumer in orders.consumers] == ["audit", "billing", "push"]
    assert all(consumer.from_leader for consumer in orders.consumers)
    assert orders.cluster is not None
    assert orders.answered_by == orders.cluster.leader
    assert orders.replicas == ()
    # EVENTS has a consumer, and this recording no list of them.
    assert {name for name, stream in streams(assembled).items() if not stream.consumers_seen} == {"EVENTS", "R1", "R2"}
    accounts = assembled.get(Accounts)
    assert accounts is not None
    assert [(row.name, row.tiers[0].streams, row.tiers[0].storage) for row in accounts.accounts] == [("A", 5, 473_600)]
    assert assembled.get(Servers) is None
    assert requested(assembled) == []


def test_streams_that_do_not_respond_are_silent_assets() -> None:
    def edit(page: Json) -> None:
        page["missing"] = ["R1", "GONE"]
        page["offline"] = {"NEWER": "unsupported - required API level: 9"}

    assembled = evidence(account("2.15.1", stream_list=edit))
    assert [(asset.subject.name, asset.offline) for asset in last(assembled).silent] == [
        ("GONE", False),
        ("NEWER", True),
        ("R1", False),
    ]
    assert requested(assembled) == [("stream", f"A > {name}") for name in ("GONE", "NEWER", "R1")]
    assert "required API level: 9" in next(gap.reason for gap in assembled.gaps if gap.subject.name == "NEWER")
    assert not streams(assembled)["R1"].consumers_seen


def test_very_many_streams_that_do_not_respond_are_counted() -> None:
    """All names are kept, so that no stream is taken for missing; reports stay of bounded size."""

    def edit(page: Json) -> None:
        page["missing"] = [f"M{number}" for number in range(MAX_UNRESPONSIVE + 7)]

    assembled = evidence(account("2.15.1", stream_list=edit))
    assert len(last(assembled).silent) == MAX_UNRESPONSIVE + 7
    of_streams = [gap for gap in assembled.gaps if gap.kind == "stream"]
    assert len(of_streams) == MAX_UNRESPONSIVE + 1
    assert [gap.reason for gap in of_streams if gap.subject.kind == "cluster"] == [
        "7 more streams and consumers exist but did not respond"
    ]
    failed = [
        r.finding for r in run_all(assembled).results if r.rule.code == "JSD702" and r.finding.outcome is Outcome.FAIL
    ]
    assert len(failed) == MAX_UNRESPONSIVE + 1
    assert [finding.measured for finding in failed if finding.subject.kind == "cluster"] == [7]


def test_consumers_that_do_not_respond_are_silent_assets() -> None:
    def edit(page: Json) -> None:
        page["missing"] = ["lost"]
        page["total"] += 1
        # Of one whose peers are all offline the meta leader knows the configuration: it is listed without its name.
        known = page["consumers"][0]
        page["consumers"].append(
            {"stream_name": "", "name": "", **{key: known[key] for key in ("config", "created", "cluster")}}
        )

    assembled = evidence(account("2.15.1", consumer_list_ORDERS=edit))
    assert "" not in [consumer.name for consumer in streams(assembled)["ORDERS"].consumers]
    assert [asset.subject.label for asset in last(assembled).silent] == ["A > ORDERS > lost"]
    assert requested(assembled) == [("consumer", "A > ORDERS > lost")]
    assert streams(assembled)["ORDERS"].consumers_seen


def test_a_list_that_is_short_of_its_total_is_not_taken_for_whole() -> None:
    def edit(page: Json) -> None:
        page["total"] = 300

    assert not streams(evidence(account("2.15.1", consumer_list_ORDERS=edit)))["ORDERS"].consumers_seen


def test_a_stream_deleted_during_the_sample_is_no_gap() -> None:
    def edit(page: Json) -> None:
        page.clear()
        page["error"] = {"code": 404, "err_code": 10059, "description": "stream not found"}

    assembled = evidence(account("2.15.1", consumer_list_ORDERS=edit))
    assert "ORDERS" not in streams(assembled)
    assert requested(assembled) == []


@pytest.mark.parametrize(
    ("code", "reason", "helps"),
    [
        (10008, "no meta leader", "quorum"),
        (10039, "not enabled for this account", "jetstream: enabled"),
        (10076, "not enabled on this server", "jetstream block"),
        (10999, "something else", "report the server version"),
    ],
)
def test_an_error_of_the_api_is_a_gap_that_helps(code: int, reason: str, helps: str) -> None:
    def edit(page: Json) -> None:
        page.clear()
        page["error"] = {"code": 503, "err_code": code, "description": "something else"}

    assembled = evidence(account("2.15.1", stream_list=edit, account_info=edit))
    assert assembled.get(SnapshotSeries) is None
    requested_gaps = [gap for gap in assembled.gaps if gap.requested]
    assert len(requested_gaps) == (2 if code == 10999 else 1)
    assert all(reason in gap.reason and helps in gap.how_to_get for gap in requested_gaps)


def test_a_server_without_a_reply_about_streams_does_not_show_that_there_are_none() -> None:
    def edit(reply: Json) -> None:
        del reply["data"]["account_details"]

    assembled = evidence(system("2.15.1", edit))
    assert assembled.get(SnapshotSeries) is None
    assert len(servers(assembled).servers) == 3


WRONG_TYPES: dict[str, Edit] = {
    "a stream's state": lambda stream: stream.update(state="broken"),
    "a sequence": lambda stream: stream["state"].update(last_seq="many"),
    "a configuration": lambda stream: stream.pop("config"),
    "a time": lambda stream: stream.update(created="yesterday"),
    "a time without zone": lambda stream: stream.update(created="2026-11-21T09:19:43"),
}


@pytest.mark.parametrize("what", WRONG_TYPES)
def test_a_stream_that_cannot_be_read_does_not_take_the_others_with_it(what: str) -> None:
    def edit(reply: Json) -> None:
        for stream in list(jsz_streams(reply)):
            if stream["config"]["name"] == "EVENTS":
                WRONG_TYPES[what](stream)

    assembled = evidence(system("2.15.1", edit))
    assert streams(assembled).keys() == {"MIR", "ORDERS", "R1", "R2"}
    assert all(stream.from_leader for stream in streams(assembled).values())
    assert [kind for kind, _ in requested(assembled)] == ["reply"] * 3
    reasons = sorted(gap.reason for gap in assembled.gaps if gap.requested)
    for name, reason in zip(("n1", "n2", "n3"), reasons, strict=True):
        assert reason.startswith(f"the reply of {name} to $SYS.REQ.SERVER.PING.JSZ could not be used: ")


def test_a_consumer_that_cannot_be_read_leaves_its_stream_and_a_gap() -> None:
    def edit(reply: Json) -> None:
        for stream in jsz_streams(reply):
            for consumer in stream.get("consumer_detail", []):
                if consumer["name"] == "audit":
                    consumer["delivered"] = []

    orders = streams(assembled := evidence(system("2.15.1", edit)))["ORDERS"]
    assert [consumer.name for consumer in orders.consumers] == ["billing", "push"]
    assert not orders.consumers_seen
    assert [kind for kind, _ in requested(assembled)] == ["reply"] * 3


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"null", b"[]", b"{", b"404 page not found", b"[" * 100_000])
@pytest.mark.parametrize("way", [system, monitor, account])
def test_replies_that_are_no_replies_become_gaps(way: Callable[[str], list[Exchange]], body: bytes) -> None:
    broken = [Exchange(e.access, e.endpoint, e.target, e.asked_at, 1, body) for e in way("2.15.1")]
    assembled = evidence(broken)
    assert assembled.get(SnapshotSeries) is None
    assert {kind for kind, _ in requested(assembled)} == {"reply"}


ALL = [e for version in VERSIONS for way in (system, monitor, account) for e in way(version)]
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(min_value=-(1 << 70), max_value=1 << 70),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@given(st.lists(st.tuples(st.sampled_from(ALL), st.binary(max_size=200)), max_size=5))
def test_arbitrary_bytes_never_raise(replies: list[tuple[Exchange, bytes]]) -> None:
    evidence([Exchange(e.access, e.endpoint, e.target, e.asked_at, 1, body) for e, body in replies])


@given(st.data())
def test_mutated_replies_never_raise(data: st.DataObject) -> None:
    exchanges = data.draw(st.sampled_from([way(v) for way in (system, monitor, account) for v in VERSIONS]))
    mutated = []
    for reply in exchanges:
        body = json.loads(reply.body)
        for _ in range(data.draw(st.integers(0, 2))):
            holder, key = data.draw(st.sampled_from(list(_places(body))))
            if data.draw(st.booleans()):
                holder[key] = data.draw(VALUES)
            elif isinstance(holder, dict):
                del holder[key]
        raw = json.dumps(body).encode()
        mutated.append(Exchange(reply.access, reply.endpoint, reply.target, reply.asked_at, 1, raw))
    assembled = evidence(mutated, copy.copy(exchanges))
    series, trend = assembled.get(SnapshotSeries), assembled.get(Trend)
    if isinstance(series, SnapshotSeries):
        for snapshot in series.snapshots:
            assert all(stream.at.tzinfo for stream in snapshot.streams)
            assert all(consumer.at.tzinfo for _, consumer in snapshot.led_consumers())
    if isinstance(trend, Trend):
        assert all(history.elapsed_s > 0 for history in trend.streams())
        assert all(history.elapsed_s > 0 for history in trend.consumers())


def _places(value: Json) -> Iterator[tuple[Json, Any]]:
    """Every place in a decoded reply, as its holder and its key there."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield value, key
        yield from _places(inner)


def test_connections_that_a_server_does_not_list_are_a_gap() -> None:
    """Servers list so many at most: rules about connections pass nothing then."""
    connections = [{"cid": 1, "account": "A", "kind": "Client"}]
    lists = []
    for total in (1, 12_000):
        body = {"server_id": "N1", "now": "2026-11-21T15:00:00Z", "total": total, "connections": connections}
        identity = exchange(
            Access.MONITOR, Endpoint.VARZ, "http://n1:8222/varz", {"server_name": "n1", "server_id": "N1"}
        )
        lists.append([identity, exchange(Access.MONITOR, Endpoint.CONNZ, "http://n1:8222/connz", body)])
    whole, cut = map(evidence, lists)
    assert requested(whole) == []
    assert ("connections", "n1") in requested(cut)
    assert {
        v.rule.code for v in run_all(cut).verdicts if v.outcome is Outcome.PASS and v.rule.code == "JSD847"
    } == set()


def _given(endpoint: Endpoint, *bodies: Json) -> EvidenceSet:
    """What an operator saved, one file after another."""
    return evidence([exchange(Access.PASTED, endpoint, f"{endpoint.value}-{n}.json", b) for n, b in enumerate(bodies)])


def test_pages_of_connections_are_one_list() -> None:
    def page(*cids: int) -> Json:
        connections = [{"cid": cid, "account": "A", "kind": "Client"} for cid in cids]
        data = {"server_id": "N1", "now": "2026-11-21T15:00:00Z", "total": 3, "connections": connections}
        return {"server": {"name": "n1", "id": "N1"}, "data": data}

    whole, cut = _given(Endpoint.CONNZ, page(1, 2), page(2, 3)), _given(Endpoint.CONNZ, page(1), page(3))
    listed = whole.get(Connections)
    assert listed is not None
    assert [[connection.cid for connection in server.open or ()] for server in listed.servers] == [[1, 2, 3]]
    assert requested(whole) == []
    assert requested(cut) == [("connections", "n1")]


@pytest.mark.parametrize("version", VERSIONS)
def test_replies_of_one_server_are_all_read(version: str) -> None:
    """A summary saved before the reply with streams hides none of them, and streams in two replies are there once."""
    full = real(version, "ping-jsz")[0]
    summary = copy.deepcopy(full)
    del summary["data"]["account_details"]
    names = {stream["name"] for stream in jsz_streams(full)}
    for replies in ((summary, full), (full, summary), (full, full)):
        assert {stream.name for stream in last(_given(Endpoint.JSZ, *replies)).streams} == names
