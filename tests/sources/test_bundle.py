"""Bundles: what is written comes back, whole or not at all, and no archive does harm, whoever made it."""

import io
import json
import os
import struct
import threading
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import nkeys
import pytest

from jsdoctor.app.capture import known_secrets
from jsdoctor.bundles.bundle import MANIFEST, ServerNote, encode_bundle
from jsdoctor.model.exchange import Sample
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.problems import UsageProblem
from jsdoctor.replies.assemble import assemble
from jsdoctor.sources.bundle import container, read
from jsdoctor.sources.bundle.read import BundleProblem, Captured, read_bundle
from jsdoctor.sources.bundle.write import write_bundle
from jsdoctor.sources.connect.options import ConnectionOptions
from jsdoctor.sources.connect.settings import resolve
from tests.sources.certificates import Certificates
from tests.sources.operator_mode import Key, creds
from tests.support.evidence import base_names, samples_of

NOW = datetime(2026, 11, 21, 12, 0, 0, 123456, tzinfo=UTC)
GAP = Gap("server", CLUSTER, "n2 did not answer", "start it", requested=True)
MEMBER = "samples/0002/0001-JSZ.json"
Members = dict[str, bytes]


def members_of(name: str = "one-node-2.15.1") -> Members:
    samples = samples_of(name)
    with_gap = (Sample(samples[0].taken_at, samples[0].exchanges, (GAP,)), *samples[1:])
    return dict(encode_bundle(with_gap, created=NOW, version="0.1.0", servers=[ServerNote("n1", "2.15.1")]))


def zipped(members: Members, **options: Any) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in members.items():
            archive.writestr(name, body, **options)
    return content.getvalue()


def with_manifest(change: Callable[[dict[str, Any]], None]) -> bytes:
    members = members_of()
    manifest = json.loads(members[MANIFEST])
    change(manifest)
    return zipped(members | {MANIFEST: json.dumps(manifest).encode()})


@pytest.fixture
def bundle(tmp_path: Path) -> Callable[[bytes], Path]:
    def put(content: bytes) -> Path:
        path = tmp_path / "bundle.zip"
        path.write_bytes(content)
        return path

    return put


# --- round trip ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", base_names())
def test_what_was_written_is_read(name: str, tmp_path: Path) -> None:
    """Every recording of every version: byte for byte, to the microsecond, through every access."""
    samples = samples_of(name)
    path = tmp_path / "b.zip"
    size = write_bundle(path, encode_bundle(samples, created=NOW, version="0.1.0", redactions={"jwt": 2}))
    assert read_bundle(path) == Captured(NOW, samples)
    assert path.stat().st_size == size
    with zipfile.ZipFile(path) as archive:
        assert json.loads(archive.read(MANIFEST))["redactions"] == {"jwt": 2}


# --- writing ------------------------------------------------------------------------------------------------------


def test_only_the_owner_may_read(tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    write_bundle(path, [("a", b"1")])
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, MemoryError])
@pytest.mark.parametrize("existing", [None, b"before"])
def test_interrupted(error: type[BaseException], existing: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    if existing:
        path.write_bytes(existing)

    def members() -> Iterator[tuple[str, bytes]]:
        yield "a", b"x" * 100_000
        raise error

    with pytest.raises(UsageProblem if error is OSError else error):
        write_bundle(path, members(), force=True)
    assert [entry.name for entry in tmp_path.iterdir()] == (["b.zip"] if existing else [])
    assert not existing or path.read_bytes() == existing


def test_never_replaced_without_force(tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    path.write_bytes(b"before")
    with pytest.raises(UsageProblem, match="already") as problem:
        write_bundle(path, [("a", b"1")])
    assert "--force" in problem.value.hint
    assert path.read_bytes() == b"before"
    write_bundle(path, [("a", b"1")], force=True)
    assert zipfile.is_zipfile(path)
    assert os.listdir(tmp_path) == ["b.zip"]  # noqa: PTH208 - names only


@pytest.mark.parametrize("place", ["nowhere/b.zip", "."])
def test_no_such_place(place: str, tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="cannot write"):
        write_bundle(tmp_path / place, [("a", b"1")])


def test_secrets_of_a_login_are_known(tmp_path: Path) -> None:
    key = Key(nkeys.PREFIX_BYTE_USER)
    jwt = key.jwt(key.public, "user", {"type": "user"})
    (tmp_path / "u.creds").write_text(creds(jwt, key.seed))
    client = Certificates(tmp_path).client
    cert, private = (str(path) for path in client)
    options = ConnectionOptions(server="nats://h:1", creds=str(tmp_path / "u.creds"), tlscert=cert, tlskey=private)
    known = known_secrets(resolve(options, {}, tmp_path), ["http://op:m0nitor@h:8222"])
    assert {(secret.kind, secret.text) for secret in known} == {
        ("jwt", jwt),
        ("seed", key.seed),
        ("password", "m0nitor"),
        *(("tls_key", line) for line in client[1].read_text().splitlines()[1:-1]),
    }
    urls = ConnectionOptions(server="nats://a:pass%2Fword@h:1,nats://t0ken@h:2")
    known = known_secrets(resolve(urls, {}, tmp_path))
    assert {(secret.kind, secret.text) for secret in known} == {("password", "pass/word"), ("token", "t0ken")}


# --- hostile archives ---------------------------------------------------------------------------------------------


def _claims(content: bytes, size: int) -> bytes:
    """The archive with another unpacked size of its last member in both places that tell it."""
    archive = bytearray(content)
    listed = archive.rindex(b"PK\x01\x02")
    local = struct.unpack_from("<L", archive, listed + 42)[0]
    struct.pack_into("<L", archive, listed + 24, size)
    struct.pack_into("<L", archive, local + 22, size)
    return bytes(archive)


def _patched(content: bytes, offset: int, value: int) -> bytes:
    """The archive with another half-word in the first entry of its list of members."""
    archive = bytearray(content)
    struct.pack_into("<H", archive, archive.index(b"PK\x01\x02") + offset, value)
    return bytes(archive)


def _duplicate() -> bytes:
    content = io.BytesIO(zipped(members_of()))
    with zipfile.ZipFile(content, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr(MEMBER, b"{}")
    return content.getvalue()


def _set(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(manifest: dict[str, Any]) -> None:
        holder: Any = manifest
        *parents, last = path.split(".")
        for parent in parents:
            holder = holder[int(parent) if parent.isdigit() else parent]
        holder[last] = value

    return change


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty": (lambda: b"", "not a ZIP"),
    "text": (lambda: b"hello" * 100, "not a ZIP"),
    "truncated": (lambda: zipped(members_of())[:-300], "not a ZIP"),
    "cut in the middle": (lambda: zipped(members_of())[2000:], "damaged"),
    "no manifest": (lambda: zipped({"a.json": b"{}"}), "no manifest.json"),
    "absolute name": (lambda: zipped({"/etc/cron.d/x": b"", **members_of()}), "unsafe name"),
    "traversal": (lambda: zipped({"samples/../../x": b"", **members_of()}), "unsafe name"),
    "backslashes": (lambda: zipped({"..\\x": b"", **members_of()}), "unsafe name"),
    "drive": (lambda: zipped({"C:x": b"", **members_of()}), "unsafe name"),
    "duplicate": (_duplicate, "two members"),
    "encrypted": (lambda: _patched(zipped(members_of()), 8, 0x1), "encrypted"),
    "packed with lzma": (lambda: zipped(members_of(), compress_type=zipfile.ZIP_LZMA), "packed"),
    "unknown method": (lambda: _patched(zipped(members_of()), 10, 99), "packed"),
    "bomb": (lambda: zipped({"bomb": b"\0" * (20 << 20), **members_of()}), "times its size"),
    "claims 4 GB": (lambda: _claims(zipped(members_of()), 0xFFFFFFF0), "times its size"),
    "claims less": (lambda: _claims(zipped(members_of()), 10), "not what was written|damaged"),
    "other content": (lambda: zipped(members_of() | {MEMBER: b"{}"}), "not what was written"),
    "other digit": (
        lambda: zipped(members_of() | {MEMBER: members_of()[MEMBER].replace(b"1", b"2", 1)}),
        "not what was",
    ),
    "manifest not JSON": (lambda: zipped(members_of() | {MANIFEST: b"{"}), "cannot be read"),
    "manifest not UTF-8": (lambda: zipped(members_of() | {MANIFEST: b'{"format":"\xff"}'}), "cannot be read"),
    "manifest too deep": (lambda: zipped(members_of() | {MANIFEST: b'{"x":' + b"[" * 100_000}), "cannot be read"),
    "manifest a list": (lambda: zipped(members_of() | {MANIFEST: b"[]"}), "cannot be read"),
    "another program's": (lambda: with_manifest(_set("format", "nats-audit/v1")), "does not say"),
    "newer": (lambda: with_manifest(_set("format", "jsdoctor.bundle/v2")), "newer"),
    "newer by far": (lambda: with_manifest(_set("format", "jsdoctor.bundle/v" + "9" * 5000)), "does not say"),
    "no samples": (lambda: with_manifest(_set("samples", [])), "samples"),
    "sample zero": (lambda: with_manifest(_set("members.0.sample", 0)), "cannot be read"),
    "sample beyond": (lambda: with_manifest(_set("members.0.sample", 77)), "samples"),
    "same member twice": (lambda: with_manifest(_set("members.1.name", MEMBER)), "twice"),
    "wrong types": (lambda: with_manifest(_set("members.0.name", 5)), "cannot be read"),
    "negative size": (lambda: with_manifest(_set("members.0.size", -1)), "cannot be read"),
    "no zone": (lambda: with_manifest(_set("created", "2026-01-01T00:00:00")), "cannot be read"),
    "year one": (lambda: with_manifest(_set("members.0.asked_at", "0001-01-01T00:00:00Z")), "time"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_refused(case: str, bundle: Callable[[bytes], Path], tmp_path: Path) -> None:
    make, message = HOSTILE[case]
    path = bundle(make())
    with pytest.raises(BundleProblem, match=message) as problem:
        read_bundle(path)
    assert str(path) in problem.value.message
    assert problem.value.hint
    assert problem.value.message.isprintable()
    assert [entry.name for entry in tmp_path.iterdir()] == ["bundle.zip"]


def test_a_bomb_that_claims_to_be_small(bundle: Callable[[bytes], Path]) -> None:
    """Zeros shrink to a thousandth. Whatever the list of members says of them, memory stays what it is."""
    members = members_of()
    members[MEMBER] = members.pop(MEMBER)  # the last one, of which the claim is made
    path = bundle(_claims(zipped(members | {MEMBER: b"\0" * (64 << 20)}), 1000))
    tracemalloc.start()
    try:
        with pytest.raises(BundleProblem, match="damaged"):
            read_bundle(path)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_larger_than_the_limit(bundle: Callable[[bytes], Path]) -> None:
    path = bundle(zipped(members_of()))
    with pytest.raises(BundleProblem, match="claims to unpack to more"):
        read_bundle(path, max_bytes=path.stat().st_size)
    with pytest.raises(BundleProblem, match="larger"):
        read_bundle(path, max_bytes=1000)


def test_a_manifest_larger_than_its_limit(bundle: Callable[[bytes], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    path = bundle(zipped(members_of()))
    monkeypatch.setattr(read, "MAX_MANIFEST_BYTES", 100)
    with pytest.raises(BundleProblem, match="unpacks to more than 100 bytes"):
        read_bundle(path)


def test_too_many_members(bundle: Callable[[bytes], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    path = bundle(zipped(members_of()))
    monkeypatch.setattr(container, "MAX_MEMBERS", 2)
    with pytest.raises(BundleProblem, match="members"):
        read_bundle(path)


def test_a_long_list_of_members_is_not_read(bundle: Callable[[bytes], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    path = bundle(zipped({f"m{number}": b"" for number in range(2000)} | members_of()))
    read_bundle(path)
    monkeypatch.setattr(container, "MAX_DIRECTORY_BYTES", 70_000)
    with pytest.raises(BundleProblem, match="list of members"):
        read_bundle(path)


def test_a_missing_member_is_a_gap(bundle: Callable[[bytes], Path]) -> None:
    members = members_of()
    del members[MEMBER]
    _, samples, *_ = read_bundle(bundle(zipped(members)))
    (gap,) = samples[1].gaps
    assert gap.requested
    assert MEMBER in gap.reason
    assert "$SYS.REQ.SERVER.PING.JSZ" in gap.reason


def test_what_a_later_version_may_request_is_a_gap(bundle: Callable[[bytes], Path]) -> None:
    _, samples, *_ = read_bundle(bundle(with_manifest(_set("members.0.endpoint", "TOMORROWZ"))))
    (gap,) = [gap for gap in samples[0].gaps if gap != GAP]
    assert "TOMORROWZ" in gap.reason


def test_no_file(tmp_path: Path) -> None:
    for path in (tmp_path / "none.zip", tmp_path):
        with pytest.raises(UsageProblem, match="cannot read"):
            read_bundle(path)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = threading.Event()

    def read() -> None:
        with pytest.raises(UsageProblem, match="not a file"):
            read_bundle(tmp_path / "pipe")
        done.set()

    threading.Thread(target=read, daemon=True).start()
    assert done.wait(30)


@pytest.mark.parametrize("body", [b"[" * 200_000, b"\xff\xfe", b"", b'{"server":[]}', b"null", b'{"data":{"now":1}}'])
def test_hostile_replies_are_gaps(body: bytes, bundle: Callable[[bytes], Path]) -> None:
    """With the right digest: it is what was captured, so what it says is judged as any reply is."""
    members = members_of()
    manifest = json.loads(members[MANIFEST])
    entry = next(member for member in manifest["members"] if member["name"] == MEMBER)
    entry["size"], entry["sha256"] = len(body), sha256(body).hexdigest()
    _, samples, *_ = read_bundle(bundle(zipped(members | {MANIFEST: json.dumps(manifest).encode(), MEMBER: body})))
    assert any(gap.requested for gap in assemble(samples).gaps)
