"""JSD510: attempts to connect that led to nothing."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.packets.views import PORTS, period, views
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, Severity, Subject, failed, passed
from jsdoctor.model.packets import Attempts, PacketEvidence, SocketAddress
from jsdoctor.model.params import Params
from jsdoctor.model.share import Share

_MAX_COUNTED = 1000
"""No more client addresses than this are counted."""


@check("packet_reordering.connections_refused")
def connections_refused(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """Judge each server that uses NATS or one of its ports; of several captures the one with most attempts counts."""
    nats_servers: dict[SocketAddress, str] = {}
    for view in views(packets):
        end = view.tcp.client if view.nats.swapped else view.tcp.server
        nats_servers.setdefault(end, view.capture.name)
    worst: dict[SocketAddress, tuple[Attempts, str]] = {}
    for capture in packets.captures:
        for attempt in capture.attempts:
            wanted = attempt.server in nats_servers or attempt.server.port in PORTS
            if wanted and (attempt.server not in worst or attempt.failed > worst[attempt.server][0].failed):
                worst[attempt.server] = (attempt, capture.name)
    for attempts, name in worst.values():
        yield _finding(attempts, name, params)
    yield from (passed(_subject(end)) for end in nats_servers if end not in worst)


def _subject(end: SocketAddress) -> Subject:
    return Subject(kind="server", name=str(end))


def _finding(attempts: Attempts, capture: str, params: Params) -> Finding:
    share = Share(attempts.failed, attempts.tried)
    often = share.reaches(params.number("warn"), params.integer("enough"))
    without_end = attempts.unanswered + attempts.unfinished
    flood = without_end >= params.integer("flood")
    many = "1,000 or more" if attempts.clients >= _MAX_COUNTED else f"{attempts.clients:,}"
    return failed(
        _subject(attempts.server),
        f"{attempts.failed:,} of {attempts.tried:,} attempts to connect failed: "
        f"{'; '.join(_how(attempts))}{f'; from {many} addresses, which is how a flood of SYNs looks' if flood else ''}",
        *(
            Observation(capture, f"{attempts.server}: {name}", value)
            for name, value in (
                ("attempts", attempts.tried),
                ("refused", attempts.refused),
                ("unanswered", attempts.unanswered),
                ("unfinished", attempts.unfinished),
                ("clients", attempts.clients),
            )
        ),
        severity=Severity.ERROR if flood else None if often else Severity.INFO,
        measured=(without_end, params.integer("flood"), "count")
        if flood
        else (attempts.failed, params.integer("enough"), "count"),
        between=period(attempts),
    )


def _how(attempts: Attempts) -> Iterator[str]:
    if attempts.refused:
        yield f"{attempts.refused:,} were refused (RST): nothing listens there, or a firewall rejects them"
    if attempts.unanswered:
        yield f"{attempts.unanswered:,} got no response: the host is down, a firewall drops them, or a queue is full"
    if attempts.unfinished:
        yield f"{attempts.unfinished:,} got a response and were not finished by the client"
