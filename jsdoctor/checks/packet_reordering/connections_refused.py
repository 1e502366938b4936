"""JSD510: attempts to connect that led to nothing."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.packets.views import PORTS, moment, views
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, Severity, Subject, passed
from jsdoctor.model.packets import Attempts, PacketEvidence, SocketAddress
from jsdoctor.model.params import Params
from jsdoctor.model.share import Share


@check("packet_reordering.connections_refused")
def connections_refused(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """Judge each server that uses NATS or one of its ports; of several captures the one with most attempts counts."""
    known: dict[SocketAddress, str] = {}
    for view in views(packets):
        end = view.tcp.client if view.nats.swapped else view.tcp.server
        known.setdefault(end, view.capture.name)
    worst: dict[SocketAddress, tuple[Attempts, str]] = {}
    for capture in packets.captures:
        for one in capture.attempts:
            wanted = one.server in known or one.server.port in PORTS
            if wanted and (one.server not in worst or one.failed > worst[one.server][0].failed):
                worst[one.server] = (one, capture.name)
    for one, name in worst.values():
        yield _finding(one, name, params)
    yield from (passed(_subject(end)) for end in known if end not in worst)


def _subject(end: SocketAddress) -> Subject:
    return Subject(kind="server", name=str(end))


def _finding(one: Attempts, capture: str, params: Params) -> Finding:
    share = Share(one.failed, one.tried)
    often = share.reaches(params.number("warn"), params.integer("enough"))
    flood = one.unanswered + one.unfinished >= params.integer("flood")
    return Finding(
        subject=_subject(one.server),
        severity=Severity.ERROR if flood else None if often else Severity.INFO,
        message=(
            f"{one.failed:,} of {one.tried:,} attempts to connect failed: {_how(one)}{_flood(one) if flood else ''}"
        ),
        measured=one.failed,
        threshold=params.integer("flood") if flood else params.integer("enough"),
        unit="count",
        evidence=tuple(
            Observation(capture, f"{one.server}: {name}", value)
            for name, value in (
                ("attempts", one.tried),
                ("refused", one.refused),
                ("unanswered", one.unanswered),
                ("unfinished", one.unfinished),
                ("clients", one.clients),
            )
        ),
        first_seen=moment(one.first_ns),
        last_seen=moment(one.last_ns),
    )


def _how(one: Attempts) -> str:
    parts = []
    if one.refused:
        parts.append(f"{one.refused:,} were refused (RST): nothing listens there, or a firewall rejects them")
    if one.unanswered:
        parts.append(f"{one.unanswered:,} got no response: the host is down, a firewall drops them, or a queue is full")
    if one.unfinished:
        parts.append(f"{one.unfinished:,} got a response and were not finished by the client")
    return "; ".join(parts)


def _flood(one: Attempts) -> str:
    many = "1,000 or more" if one.clients >= 1000 else f"{one.clients:,}"
    return f"; from {many} addresses, which is how a flood of SYNs looks"
