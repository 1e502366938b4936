"""Samples as the members of a bundle, and back: the manifest, its checks, and the errors if they fail.

`jsdoctor.sources.bundle` has the container (a ZIP); here are only bytes. See docs/bundles.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Annotated

import msgspec

from jsdoctor.model.exchange import Access, Endpoint, Exchange, Sample
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.reported import Instant
from jsdoctor.model.typed import decode_as
from jsdoctor.replies.decoding import YEARS, Shape

MANIFEST = "manifest.json"
MAJOR = 1
FORMAT = f"jsdoctor.bundle/v{MAJOR}"
_FORMAT = re.compile(r"jsdoctor\.bundle/v(\d{1,9})", re.ASCII)
_LOGIN = re.compile(r"[1-9][0-9]{0,2}", re.ASCII)

_Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 62)]
_AGAIN = "capture again: jsdoctor capture -o FILE.zip"


class BundleError(ValueError):
    """The file is no bundle, or was changed after it was written."""


class NewerFormatError(BundleError):
    """A bundle of a format that came after this version."""


class Member(msgspec.Struct, frozen=True):
    """One reply: the place, digest and size of its bytes, and the request. `sample` counts from 1."""

    name: str
    sha256: str
    size: _Count
    sample: Annotated[int, msgspec.Meta(ge=1, le=1 << 31)]
    access: str
    endpoint: str
    target: str
    asked_at: Instant
    round_trip_ns: _Count


class SampleHeader(msgspec.Struct, frozen=True):
    """One sample without its replies."""

    taken_at: Instant
    gaps: tuple[Gap, ...] = ()


class LogNote(msgspec.Struct, frozen=True):
    """The selected lines of a log: the member with them, where the log was, and how many lines it has in all.

    `kept` lines are in the member; `left_out` are those for which there was no room. `written_us` is when the log was
    last written, in microseconds of Unix time. `problem`: what could not be read of it. `series` is the name of the log
    where its path does not tell which log it is: of one that a service keeps.
    """

    name: str
    sha256: str
    size: _Count
    path: str
    lines: _Count
    kept: _Count
    left_out: _Count = 0
    written_us: _Count = 0
    problem: str = ""
    series: str = ""


class LogServiceNote(msgspec.Struct, frozen=True):
    """A service that logs were read from: its kind and address, when, in words how much, and what was not read.

    `incomplete`: lines that rules search for may be missing, because a limit cut them off or the query filters.
    """

    kind: str
    name: str
    asked_at: Instant
    words: str = ""
    incomplete: bool = False
    gaps: tuple[Gap, ...] = ()


class CapturedLog(msgspec.Struct, frozen=True):
    """A log of a bundle with its text."""

    note: LogNote
    text: bytes


class ServerNote(msgspec.Struct, frozen=True):
    """A server that reported its identity."""

    name: str
    version: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a bundle holds. `redactions` counts what was taken out, by kind.

    `signatures`: searched for in logs. None where lines of logs may be missing, for readers that do not know
    `log_services`.
    """

    format: str
    jsdoctor: str
    created: Instant
    access: tuple[str, ...]
    servers: tuple[ServerNote, ...]
    redactions: dict[str, int]
    samples: tuple[SampleHeader, ...]
    members: tuple[Member, ...]
    logs: tuple[LogNote, ...] = ()
    signatures: tuple[str, ...] = ()
    log_services: tuple[LogServiceNote, ...] = ()


class _Header(msgspec.Struct):
    """The fields that the manifests of all formats have, also of later ones."""

    format: str = ""
    jsdoctor: str = ""


def encode_bundle(
    samples: Sequence[Sample],
    *,
    created: datetime,
    version: str,
    servers: Sequence[ServerNote] = (),
    redactions: Mapping[str, int] | None = None,
    logs: Sequence[CapturedLog] = (),
    signatures: Sequence[str] = (),
    log_services: Sequence[LogServiceNote] = (),
) -> list[tuple[str, bytes]]:
    """The members of a bundle by name, the manifest first. `version` is that of the jsdoctor that writes."""
    members: list[Member] = []
    bodies: list[tuple[str, bytes]] = []
    for number, sample in enumerate(samples, 1):
        for place, exchange in enumerate(sample.exchanges, 1):
            members.append(_member(f"samples/{number:04}/{place:04}-{exchange.endpoint.value}.json", number, exchange))
            bodies.append((members[-1].name, exchange.body))
    manifest = Manifest(
        format=FORMAT,
        jsdoctor=version,
        created=created,
        access=tuple(sorted({member.access for member in members})),
        servers=tuple(servers),
        redactions=dict(redactions or {}),
        samples=tuple(SampleHeader(sample.taken_at, sample.gaps) for sample in samples),
        members=tuple(members),
        logs=tuple(log.note for log in logs),
        signatures=() if any(service.incomplete for service in log_services) else tuple(signatures),
        log_services=tuple(log_services),
    )
    bodies += [(log.note.name, log.text) for log in logs]
    return [(MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=1)), *bodies]


def captured_log(number: int, text: bytes, note: LogNote) -> CapturedLog:
    """The member for a log: its name has the number and the last part of its path."""
    last = re.sub(r"[^A-Za-z0-9._-]", "_", note.path.replace("\\", "/").rpartition("/")[2])[-60:].lstrip(".")
    name = f"logs/{number:04}-{last or 'log'}"
    digest = sha256(text).hexdigest()
    return CapturedLog(msgspec.structs.replace(note, name=name, sha256=digest, size=len(text)), text)


def decode_logs(manifest: Manifest, bodies: Mapping[str, bytes]) -> tuple[CapturedLog, ...]:
    """The logs of a bundle. If a member is missing, its note has the problem.

    Raises `BundleError` if a member was changed after it was written.
    """
    logs = []
    for note in manifest.logs:
        text = bodies.get(note.name)
        if text is None:
            missing = msgspec.structs.replace(note, problem=f"{note.name[:80]} is missing from the bundle")
            logs.append(CapturedLog(missing, b""))
        elif len(text) != note.size or sha256(text).hexdigest() != note.sha256:
            raise BundleError(f"{note.name[:80]} is not what was written: it does not have the digest in {MANIFEST}")
        else:
            logs.append(CapturedLog(note, text))
    return tuple(logs)


def decode_manifest(raw: bytes) -> Manifest:
    """The manifest of a bundle. Raises `NewerFormatError`, or `BundleError` for what is not one."""
    header = _decode(raw, _Header)
    match = _FORMAT.fullmatch(header.format)
    if not match:
        raise BundleError(f"{MANIFEST} does not say that this is a bundle of jsdoctor (format {header.format[:60]!r})")
    if int(match[1]) > MAJOR:
        raise NewerFormatError(f"its format {header.format} is newer than {FORMAT}, the newest that can be read here")
    manifest = _decode(raw, Manifest)
    names = [*(member.name for member in manifest.members), *(log.name for log in manifest.logs)]
    if len(set(names)) < len(names):
        raise BundleError(f"{MANIFEST} lists a member twice")
    if not manifest.samples or any(member.sample > len(manifest.samples) for member in manifest.members):
        raise BundleError(f"{MANIFEST} lists members of samples that it does not describe, or describes none")
    times = [
        manifest.created,
        *(sample.taken_at for sample in manifest.samples),
        *(m.asked_at for m in manifest.members),
    ]
    times += [service.asked_at for service in manifest.log_services]
    if any(time.year not in YEARS for time in times):
        raise BundleError(f"{MANIFEST} holds a time that cannot be right")
    return manifest


def decode_samples(manifest: Manifest, bodies: Mapping[str, bytes]) -> tuple[Sample, ...]:
    """The samples of a bundle, with gaps for missing members and those that only a later version can read.

    Raises `BundleError` if a member was changed after it was written.
    """
    exchanges: list[list[Exchange]] = [[] for _ in manifest.samples]
    gaps = [list(sample.gaps) for sample in manifest.samples]
    for member in manifest.members:
        body = bodies.get(member.name)
        if body is None:
            gaps[member.sample - 1].append(_gap(member, "is missing from the bundle", _AGAIN))
        elif len(body) != member.size or sha256(body).hexdigest() != member.sha256:
            raise BundleError(f"{member.name} is not what was written: it does not have the digest in {MANIFEST}")
        elif exchange := _exchange(member, body):
            exchanges[member.sample - 1].append(exchange)
        else:
            reason = f"is of a kind that this version does not know ({member.access} {member.endpoint})"
            gaps[member.sample - 1].append(_gap(member, reason, f"read it with jsdoctor {manifest.jsdoctor} or newer"))
    parts = zip(manifest.samples, exchanges, gaps, strict=True)
    return tuple(Sample(sample.taken_at, tuple(exchanges), tuple(missing)) for sample, exchanges, missing in parts)


def _member(name: str, sample: int, exchange: Exchange) -> Member:
    return Member(
        name=name,
        sha256=sha256(exchange.body).hexdigest(),
        size=len(exchange.body),
        sample=sample,
        access=_access(exchange),
        endpoint=exchange.endpoint.value,
        target=exchange.target,
        asked_at=exchange.asked_at,
        round_trip_ns=exchange.round_trip_ns,
    )


def _access(exchange: Exchange) -> str:
    """`account`, or `account#1` of a second login: versions that know one login skip it as unknown."""
    return f"{exchange.access.value}#{exchange.login}" if exchange.login else exchange.access.value


def _exchange(member: Member, body: bytes) -> Exchange | None:
    name, _, number = member.access.partition("#")
    try:
        access, endpoint = Access(name), Endpoint(member.endpoint)
    except ValueError:
        return None
    if number and not _LOGIN.fullmatch(number):
        return None
    return Exchange(access, endpoint, member.target, member.asked_at, member.round_trip_ns, body, int(number or 0))


def _gap(member: Member, reason: str, how_to_get: str) -> Gap:
    subject = Subject(kind="cluster", name=member.name)  # one gap for each: of one subject only one would be kept
    return Gap("reply", subject, f"{member.name}, the reply to {member.target}, {reason}", how_to_get)


def _decode(raw: bytes, shape: type[Shape]) -> Shape:
    try:
        return decode_as(raw, shape)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BundleError(f"{MANIFEST} cannot be read: {error}") from error
