"""A dry run of a publish: headers that make servers from 2.11 on trace a message and store nothing (ADR-41).

Servers before 2.11 do not know these headers and store the message. So nothing is sent before every server that can be
known was seen to be new enough: those that the connected server advertises, and those that hold the stream.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import msgspec
from nats import errors

from jsdoctor.model.probe import Probe
from jsdoctor.model.problems import ConnectProblem
from jsdoctor.model.release import release
from jsdoctor.model.typed import decode_as
from jsdoctor.replies.decoding import ErrorReply, ReplyError, decode
from jsdoctor.sources.connect.connection import Connection, connect
from jsdoctor.sources.connect.server_urls import parse_servers
from jsdoctor.sources.connect.settings import ConnectionSettings
from jsdoctor.sources.scan.stream import StreamInfo
from jsdoctor.sources.servers.ask import Asker, NoReplyError

TRACING_SINCE = (2, 11)
_QUIET_S = 2.0


class _Names(msgspec.Struct, frozen=True):
    streams: tuple[str, ...] | None = None
    error: ErrorReply | None = None


class _Event(msgspec.Struct, frozen=True):
    type: str = ""
    stream: str = ""
    error: str = ""


class _Trace(msgspec.Struct, frozen=True):
    events: tuple[_Event, ...] = ()


class _RefusedError(Exception):
    """Why nothing may be sent, and what to do about it."""


async def probe(settings: ConnectionSettings, subject: str, headers: Mapping[str, str]) -> Probe:
    """What a server would do with a message on `subject`. Raises ConnectProblem where no server takes us."""
    async with connect(settings) as connection:
        servers: dict[str, str] = {}
        stream = ""
        try:
            await _read_versions(connection, settings, servers)
            stream = await _stream_of(connection, settings, subject, servers)
            if not stream:
                return Probe(subject=subject, servers=tuple(sorted(servers.items())))
            event = await _trace_event(connection, subject, headers)
        except _RefusedError as refusal:
            reason, how_to_get = refusal.args
            known = tuple(sorted(servers.items()))
            return Probe(subject=subject, servers=known, stream=stream, refused=reason, how_to_get=how_to_get)
        return Probe(subject=subject, servers=tuple(sorted(servers.items())), stream=event.stream, error=event.error)


async def _read_versions(connection: Connection, settings: ConnectionSettings, servers: dict[str, str]) -> None:
    """Add the versions of the connected server and of all that it advertises. Raises _RefusedError if one is old."""
    _add_version(servers, connection)
    urls = [server.url for url in settings.servers for server in parse_servers(url, "server")]
    logins = dict(zip(urls, settings.server_logins, strict=False))
    login = (logins[connection.url],) if connection.url in logins else ()
    for address in connection.server_info.get("connect_urls") or ():
        scheme = "tls" if connection.encrypted else "nats"
        other = replace(settings, servers=(f"{scheme}://{address}",), server_logins=login)
        try:
            async with connect(other) as visited:
                _add_version(servers, visited)
        except ConnectProblem as problem:
            why = f"the server at {address} did not report its version: {problem.message}"
            raise _RefusedError(why, "make it reachable, or see what versions run with the system account") from None
    for name, version in sorted(servers.items()):
        if not _supports_tracing(version):
            why = f"server {name} runs {version or 'an unknown version'}, which would store the probe"
            raise _RefusedError(why, f"find out without a probe: {_FIND_HINT}")


def _add_version(servers: dict[str, str], connection: Connection) -> None:
    """Add the version of a server; of several with one name the oldest counts."""
    info = connection.server_info
    name, version = str(info.get("server_name", "")), str(info.get("version", ""))
    servers[name] = min(servers.get(name, version), version, key=release)


_FIND_HINT = "nats stream find --subject SUBJECT shows which stream captures a subject"


def _supports_tracing(version: str) -> bool:
    numbers = version.split("-", maxsplit=1)[0].split(".")[:2]
    return len(numbers) == 2 and all(map(str.isdecimal, numbers)) and tuple(map(int, numbers)) >= TRACING_SINCE


async def _stream_of(
    connection: Connection, settings: ConnectionSettings, subject: str, servers: Mapping[str, str]
) -> str:
    """The stream that captures the subject, empty if none does. Raises _RefusedError."""
    asker, prefix = Asker(connection, settings.timeout_s), settings.js_api_prefix
    try:
        request = json.dumps({"subject": subject}).encode()
        names = decode((await asker.one(f"{prefix}.STREAM.NAMES", request)).body, _Names)
        if names.error:
            raise _RefusedError(f"the server did not tell which stream: {names.error.description}", "try again")
        if not names.streams:
            return ""
        info = decode((await asker.one(f"{prefix}.STREAM.INFO.{names.streams[0]}")).body, StreamInfo)
    except (NoReplyError, ReplyError) as error:
        raise _RefusedError(f"the server did not tell which stream: {error}", "use the application's login") from None
    if info.cluster is not None:
        if not info.cluster.leader:
            raise _RefusedError(f"stream {names.streams[0]} has no leader", "it must have one before it can take any")
        holders = set(info.cluster.members)
        if unknown := sorted(holders - set(servers)):
            why = f"the version of {', '.join(unknown)}, where stream {names.streams[0]} lies, is not known"
            raise _RefusedError(why, "it is not advertised to clients: name it with -s and probe again")
    return names.streams[0]


async def _trace_event(connection: Connection, subject: str, headers: Mapping[str, str]) -> _Event:
    """Send the probe, and return what the stream would do with it. Raises _RefusedError where no trace came back."""
    client = connection.client
    inbox = await client.subscribe(client.new_inbox())
    tracing = {**headers, "Nats-Trace-Dest": inbox.subject, "Nats-Trace-Only": "true"}
    try:
        await client.publish(subject, b"", headers=tracing)
        while True:
            message = await inbox.next_msg(timeout=_QUIET_S)
            trace = decode_as(message.data, _Trace)
            for event in trace.events:
                if event.type == "js":
                    return event
    except (TimeoutError, errors.Error, OSError, msgspec.DecodeError):
        denied = next(iter(connection.permission_errors), "")
        why = f"no trace came back{f': {denied}' if denied else ''}"
        raise _RefusedError(why, "the login must be allowed to publish there and to receive on its inbox") from None
    finally:
        await inbox.unsubscribe()
