"""Publishes of all connections, put together by stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from jsdoctor.checks.packets.views import View, unreadable, views
from jsdoctor.model.finding import CLUSTER, Finding, Subject, unknown
from jsdoctor.model.nats_traffic import RefusedPublishes
from jsdoctor.model.packets import PacketEvidence


class RefusedBy(NamedTuple):
    """A refusal and the connection that it came over."""

    view: View
    refusal: RefusedPublishes


def refused(packets: PacketEvidence, wanted: Callable[[int], bool]) -> dict[Subject, list[RefusedBy]]:
    """Refusals with the wanted error codes, by stream, else by connection. Of two captures of a connection the one is
    taken that shows more of them.
    """
    best: dict[tuple[Subject, Subject], list[RefusedBy]] = {}
    for view in views(packets):
        by_stream: dict[Subject, list[RefusedBy]] = {}
        for refusal in view.nats.publishing.refusals:
            if wanted(refusal.err_code):
                subject = Subject(kind="stream", name=refusal.stream) if refusal.stream else view.subject
                by_stream.setdefault(subject, []).append(RefusedBy(view, refusal))
        for subject, item in by_stream.items():
            known = best.get((subject, view.subject), [])
            if total(item) > total(known):
                best[subject, view.subject] = item
    together: dict[Subject, list[RefusedBy]] = {}
    for (subject, _), item in best.items():
        together.setdefault(subject, []).extend(item)
    return together


def total(refusals: list[RefusedBy]) -> int:
    """How many refusals these are."""
    return sum(refusal.refusal.count for refusal in refusals)


def readable_publishers(packets: PacketEvidence) -> Iterator[View]:
    """Connections whose publishes to JetStream were captured with their acks."""
    return (view for view in views(packets) if view.nats.publishing.acks)


def no_publishes(packets: PacketEvidence) -> Iterator[Finding]:
    """Yield `unknown` if some connection cannot be read; else nothing, as there are no publishes to JetStream."""
    if any(unreadable(view) for view in views(packets)):
        yield unknown(
            CLUSTER,
            "no publish to JetStream was seen in the captures, and some of their connections cannot be read",
            "capture a connection of the publisher from its beginning, whole packets, where it is not encrypted",
        )
