"""Archives of `nats audit gather`: what old versions wrote is read whole, what is not in one is said, none does harm.

`fixtures/archives` holds archives of old versions, and beside each what jsdoctor captured of the same servers then.
"""

import io
import json
import tracemalloc
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from jsdoctor.bundles.audit_archive_manifest import ARCHIVE_MANIFEST
from jsdoctor.model.connections import Connections
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Outcome, Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.replies.assemble import assemble
from jsdoctor.sources.bundle.read import BundleProblem, read_bundle
from tests.support.evidence import FIXTURES
from tests.support.ruleset import run_all

ARCHIVES = FIXTURES / "archives"
NAMES = ("nats-0.1.6", "nats-0.2.2")
"""Three servers, without envelopes and details; one server, with both. Neither has pages."""
METADATA = "capture/misc/audit_gather_metadata.json"
Labels = dict[str, str]


class Archive:
    """A real archive taken apart, to be changed and put together again."""

    def __init__(self, name: str) -> None:
        with zipfile.ZipFile(ARCHIVES / f"{name}.zip") as archive:
            self.members = {member: archive.read(member) for member in archive.namelist()}
        self.manifest: dict[str, Any] = json.loads(self.members.pop(ARCHIVE_MANIFEST))

    def labels(self, member: str) -> Labels:
        return {tag["Name"]: tag["Value"] for tag in self.manifest[member]}

    def find(self, **labels: str) -> list[str]:
        """Members with these labels; an empty one must not be there."""
        return [
            member
            for member in sorted(self.manifest)
            if all(self.labels(member).get(label, "") == value for label, value in labels.items())
        ]

    def drop(self, *members: str, listed: bool = False) -> None:
        """Take members away; `listed` leaves them in the manifest."""
        for member in members:
            del self.members[member]
            if not listed:
                del self.manifest[member]

    def json(self, member: str) -> Any:
        return json.loads(self.members[member])

    def put(self, member: str, content: Any, labels: Labels | None = None) -> None:
        self.members[member] = content if isinstance(content, bytes) else json.dumps(content).encode()
        if labels is not None:
            self.manifest[member] = [{"Name": label, "Value": value} for label, value in labels.items()]

    def zipped(self, manifest: bytes | None = None) -> bytes:
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, body in self.members.items():
                archive.writestr(member, body)
            archive.writestr(ARCHIVE_MANIFEST, json.dumps(self.manifest) if manifest is None else manifest)
        return content.getvalue()

    def evidence(self, directory: Path) -> EvidenceSet:
        path = directory / "archive.zip"
        path.write_bytes(self.zipped())
        return assemble(read_bundle(path).samples)


@cache
def evidence_of(name: str) -> EvidenceSet:
    return assemble(read_bundle(ARCHIVES / f"{name}.zip").samples)


def streams_of(evidence: EvidenceSet) -> dict[str, Stream]:
    series = evidence.get(SnapshotSeries)
    assert series is not None
    return {stream.name: stream for stream in series.last.streams}


def requested(evidence: EvidenceSet) -> list[Gap]:
    return [gap for gap in evidence.gaps if gap.requested]


def offered(evidence: EvidenceSet) -> dict[str, Gap]:
    return {gap.kind: gap for gap in evidence.gaps if not gap.requested}


# --- what was gathered is read ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_same_streams_as_captured(name: str) -> None:
    """Every stream, copy and consumer once, each with the state that jsdoctor saw."""
    mine, theirs = streams_of(evidence_of(f"{name}.capture")), streams_of(evidence_of(name))
    assert set(theirs) == {"FULL", "GOOD", "ONE", "SLOTS"}
    assert set(mine) == set(theirs)
    for stream, other in ((mine[key], theirs[key]) for key in mine):
        assert (other.account, other.config, other.state) == (stream.account, stream.config, stream.state)
        assert (other.from_leader, other.consumers_seen, other.answered_by) == (True, True, stream.answered_by)
        assert [(r.server, r.state, r.is_leader) for r in other.replicas] == [
            (r.server, r.state, r.is_leader) for r in stream.replicas
        ]
        assert [(c.name, c.delivered, c.ack_floor, c.num_pending, c.from_leader) for c in other.consumers] == [
            (c.name, c.delivered, c.ack_floor, c.num_pending, c.from_leader) for c in stream.consumers
        ]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_findings_as_captured(name: str) -> None:
    """Whatever was judged in both: the same rules fail on the same subjects, as bad. Nothing was lost or made up."""
    failed: list[dict[tuple[str, Subject | None], object]] = []
    unjudged: set[tuple[str, Subject | None]] = set()
    for source in (f"{name}.capture", name):
        evaluation = run_all(evidence_of(source))
        assert not [verdict.reason for verdict in evaluation.verdicts if verdict.outcome is Outcome.ERROR]
        results = [(result.rule.code, result.finding) for result in evaluation.results]
        unjudged |= {(code, finding.subject) for code, finding in results if finding.outcome is Outcome.NOT_EVALUATED}
        unjudged |= {(v.rule.code, None) for v in evaluation.verdicts if v.reason and not v.subjects}
        failed.append(
            {
                (result.rule.code, result.finding.subject): result.severity
                for result in evaluation.results
                if result.finding.outcome is Outcome.FAIL
            }
        )
    captured, gathered = (
        {key: finding for key, finding in findings.items() if not {key, (key[0], None)} & unjudged}
        for findings in failed
    )
    assert gathered == captured
    assert {code for code, _ in gathered} >= {"JSD415", "JSD603"}


# --- what is missing is said --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["variables", "health", "jetstream_info", "gateways"])
def test_a_server_without_one_reply(kind: str, tmp_path: Path) -> None:
    """The gap names it. Everything else is judged as before."""
    archive = Archive("nats-0.1.6")
    archive.drop(*archive.find(artifact_type=kind, server="n2", account=""))
    evidence = archive.evidence(tmp_path)
    (gap,) = requested(evidence)
    assert gap.subject.name == "n2"
    assert "n2 gave nothing on" in gap.reason
    assert streams_of(evidence).keys() == streams_of(evidence_of("nats-0.1.6")).keys()
    assert [s.replicas for s in streams_of(evidence).values()] == [
        s.replicas for s in streams_of(evidence_of("nats-0.1.6")).values()
    ]
    servers = evidence.get(Servers)
    assert servers is not None
    assert [server.name for server in servers.servers] == ["n1", "n2", "n3"]
    assert not [v for v in run_all(evidence).verdicts if v.outcome is Outcome.ERROR]


def test_a_server_without_any_reply_is_named_by_the_others(tmp_path: Path) -> None:
    archive = Archive("nats-0.1.6")
    archive.drop(*archive.find(server="n3"))
    gaps = requested(archive.evidence(tmp_path))
    assert {gap.subject.name for gap in gaps if gap.subject.kind == "server"} == {"n3"}


def test_a_server_without_jetstream_is_not_missed(tmp_path: Path) -> None:
    """It says itself that it has none, and nobody asked it."""
    archive = Archive("nats-0.2.2")
    for member in archive.find(server="n1", account=""):
        if (labels := archive.labels(member))["artifact_type"] != "jetstream_info":
            reply = archive.json(member)
            reply["server"] |= {"name": "edge", "id": "EDGE", "jetstream": False}
            archive.put(member.replace("/n1/", "/edge/"), reply, labels | {"server": "edge"})
    evidence = archive.evidence(tmp_path)
    assert requested(evidence) == []
    servers = evidence.get(Servers)
    assert servers is not None
    disabled = {server.name: server.jetstream and server.jetstream.disabled for server in servers.servers}
    assert disabled == {"edge": True, "n1": False}


def test_streams_that_only_their_servers_count(tmp_path: Path) -> None:
    """Without details, streams of accounts that nobody is connected to are not gathered: that may not pass as none."""
    archive = Archive("nats-0.1.6")
    archive.drop(*archive.find(artifact_type="stream_info", stream="GOOD"))
    gaps = requested(archive.evidence(tmp_path))
    assert {gap.subject.name for gap in gaps} == {"n1", "n2", "n3"}
    assert all("4 streams, and the archive shows 3" in gap.reason or "3 streams" in gap.reason for gap in gaps)
    assert all("--no-details" in gap.how_to_get for gap in gaps)


def test_no_streams_at_all(tmp_path: Path) -> None:
    archive = Archive("nats-0.1.6")
    archive.drop(*archive.find(artifact_type="stream_info"))
    evidence = archive.evidence(tmp_path)
    assert evidence.get(SnapshotSeries) is None
    assert "--no-streams" in evidence.why_absent(SnapshotSeries).how_to_get
    assert requested(evidence) == []


def test_no_servers_at_all(tmp_path: Path) -> None:
    """Streams are judged. Nothing is concluded of servers that were not asked."""
    archive = Archive("nats-0.2.2")
    archive.drop(*archive.find(account=""))
    evidence = archive.evidence(tmp_path)
    assert evidence.get(Servers) is None
    assert "--no-server-endpoints" in evidence.why_absent(Servers).how_to_get
    assert evidence.get(Connections) is None
    assert "--no-server-endpoints" in evidence.why_absent(Connections).how_to_get
    assert streams_of(evidence).keys() == streams_of(evidence_of("nats-0.2.2")).keys()
    assert requested(evidence) == []


def test_no_consumers(tmp_path: Path) -> None:
    archive = Archive("nats-0.1.6")
    for member in archive.find(artifact_type="stream_info"):
        detail = archive.json(member)
        detail.pop("consumer_detail", None)
        archive.put(member, detail)
    evidence = archive.evidence(tmp_path)
    assert "2 streams that have some (GOOD, SLOTS)" in offered(evidence)["consumers"].reason
    assert "--no-consumers" in offered(evidence)["consumers"].how_to_get
    assert not streams_of(evidence)["SLOTS"].consumers_seen


def test_listed_and_not_there(tmp_path: Path) -> None:
    archive = Archive("nats-0.1.6")
    (member,) = archive.find(artifact_type="variables", server="n1")
    archive.drop(member, listed=True)
    of_member, of_server = requested(archive.evidence(tmp_path))
    assert member in of_member.reason
    assert (of_server.subject.name, of_server.reason) == ("n1", "VARZ was not read")


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[1]", b"[" * 100_000, b'{"server":{},"x":1}', b'{"server":5}'])
@pytest.mark.parametrize(
    "kind", ["variables", "jetstream_info", "account_jetstream_info", "account_info", "stream_info"]
)
def test_a_reply_that_is_none(kind: str, body: bytes, tmp_path: Path) -> None:
    for name in NAMES:
        archive = Archive(name)
        member = archive.find(artifact_type=kind)[0]
        archive.put(member, body)
        evidence = archive.evidence(tmp_path)
        assert any(member in gap.reason for gap in requested(evidence)), requested(evidence)
        assert not [v for v in run_all(evidence).verdicts if v.outcome is Outcome.ERROR]


# --- pages --------------------------------------------------------------------------------------------------------


def _paged(archive: Archive, kind: str, key: str, overlap: bool) -> None:
    """The reply of that kind in two pages, as nats 0.2.3 and later write them, cut in the middle of its list."""
    (member,) = archive.find(artifact_type=kind)
    labels, reply = archive.labels(member), archive.json(member)
    items = reply["data"][key]
    archive.drop(member)
    for number, part in ((1, items[: -1 if not overlap else None]), (2, items[-1:])):
        page = reply | {"data": reply["data"] | {key: part}}
        archive.put(member.replace(".json", f"/{number:04}.json"), page, labels)


@pytest.mark.parametrize("overlap", [False, True])
def test_connections_in_pages(overlap: bool, tmp_path: Path) -> None:
    archive = Archive("nats-0.2.2")
    (member,) = archive.find(artifact_type="connections")
    reply = archive.json(member)
    (connection,) = reply["data"]["connections"]
    reply["data"] |= {"connections": [connection | {"cid": cid} for cid in (5, 6, 7)], "total": 3}
    archive.put(member, reply)
    _paged(archive, "connections", "connections", overlap)
    connections = archive.evidence(tmp_path).get(Connections)
    assert connections is not None
    assert [c.cid for c in connections.servers[0].open or ()] == [5, 6, 7]


# --- hostile archives ---------------------------------------------------------------------------------------------


def _with(change: Callable[[Archive], None]) -> bytes:
    archive = Archive("nats-0.1.6")
    change(archive)
    return archive.zipped()


def _manifest(content: bytes) -> bytes:
    return Archive("nats-0.1.6").zipped(content)


def _of_the_year_one(archive: Archive) -> None:
    archive.put(METADATA, {"capture_timestamp": "0001-01-01T00:00:00Z"})


def _timeless(archive: Archive) -> None:
    archive.put(METADATA, {})
    archive.drop(*[member for member in archive.manifest if archive.labels(member).get("artifact_type") != "health"])
    archive.put("capture/x", b"{}")


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "traversal": (lambda: _with(lambda a: a.put("../x", b"")), "unsafe name"),
    "absolute": (lambda: _with(lambda a: a.put("/etc/cron.d/x", b"", {"server": "n1"})), "unsafe name"),
    "bomb in what is read": (
        lambda: _with(lambda a: a.put(a.find(artifact_type="variables")[0], b" " * (20 << 20))),
        "times its size",
    ),
    "bomb beside it": (lambda: _with(lambda a: a.put("capture/profiles/x.prof", b"\0" * (20 << 20))), "times its size"),
    "manifest not JSON": (lambda: _manifest(b"{"), "cannot be read"),
    "manifest not UTF-8": (lambda: _manifest(b'{"\xff":[]}'), "cannot be read"),
    "manifest too deep": (lambda: _manifest(b'{"x":' + b"[" * 100_000), "cannot be read"),
    "manifest a list": (lambda: _manifest(b"[]"), "cannot be read"),
    "labels of numbers": (lambda: _manifest(b'{"x":[{"Name":1,"Value":2}]}'), "cannot be read"),
    "nothing listed": (lambda: _manifest(b"{}"), "no reply of any server"),
    "a label twice": (
        lambda: _manifest(b'{"x":[{"Name":"server","Value":"a"},{"Name":"server","Value":"b"}]}'),
        "a label twice",
    ),
    "metadata no JSON": (lambda: _with(lambda a: a.put(METADATA, b"?")), "cannot be read"),
}


@pytest.mark.parametrize("change", [_of_the_year_one, _timeless])
def test_the_times_of_its_members_serve_where_no_other_shows(change: Callable[[Archive], None], tmp_path: Path) -> None:
    path = tmp_path / "archive.zip"
    path.write_bytes(_with(change))
    newest = max(entry.date_time for entry in zipfile.ZipFile(path).infolist())
    assert read_bundle(path).created == datetime(*newest, tzinfo=UTC)


@pytest.mark.parametrize("case", HOSTILE)
def test_refused(case: str, tmp_path: Path) -> None:
    make, message = HOSTILE[case]
    path = tmp_path / "archive.zip"
    path.write_bytes(make())
    with pytest.raises(BundleProblem, match=message) as problem:
        read_bundle(path)
    assert str(path) in problem.value.message
    assert problem.value.hint
    assert problem.value.message.isprintable()
    assert [entry.name for entry in tmp_path.iterdir()] == ["archive.zip"]


def test_what_no_rule_uses_is_not_unpacked(tmp_path: Path) -> None:
    """Profiles may be larger than all that may be read. What is read is limited as in a bundle."""
    archive = Archive("nats-0.1.6")
    noise = b"".join(sha256(b"%d" % number).hexdigest().encode() * 16 for number in range(32_768))
    archive.put("capture/profiles/n1__heap.prof", noise)
    path = tmp_path / "archive.zip"
    path.write_bytes(archive.zipped())
    tracemalloc.start()
    try:
        read_bundle(path, max_bytes=4 << 20)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
    small = tmp_path / "small.zip"
    small.write_bytes(Archive("nats-0.1.6").zipped())
    with pytest.raises(BundleProblem, match="claims to unpack to more"):
        read_bundle(small, max_bytes=small.stat().st_size)


def test_a_name_that_is_markup(tmp_path: Path) -> None:
    """Names out of an archive are data, here as everywhere."""
    archive = Archive("nats-0.1.6")
    archive.put("capture/[red]\u202e.json", b"{}")
    gap = offered(archive.evidence(tmp_path))["note"]
    assert "[red]" in gap.reason
