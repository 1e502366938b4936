"""Series cut into moments: what was known of every server at one time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime

import msgspec

from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.exchange import Endpoint
from jsdoctor.model.finding import CLUSTER, Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.trend import Trend
from jsdoctor.parse.assemble import assemble
from jsdoctor.parse.metrics.assets import Asset
from jsdoctor.parse.metrics.names import HEALTH, known_name
from jsdoctor.parse.metrics.replies import UNREACHABLE, names_by_id, replies_in
from jsdoctor.parse.metrics.series import MetricSeries
from jsdoctor.parse.pasted.found import RecognisedDocument
from jsdoctor.parse.pasted.partial import with_unseen
from jsdoctor.parse.pasted.sample import Pasted, pasted_sample

_LOGIN = "look at the deployment with a login of the system account: --context NAME or -s URL"
NOT_IN_METRICS = tuple(
    Gap(kind=kind, subject=CLUSTER, reason=f"no metric shows {words}", how_to_get=how, requested=False)
    for kind, words, how in (
        ("assets", "streams", "run the exporter with -jsz=all, or surveyor with --jsz all"),
        ("servers", "servers", "run the exporter with -varz -healthz -jsz=all"),
        ("accounts", "the storage of each account", "run the exporter with -jsz=all"),
        ("raft", "Raft groups", _LOGIN),
        ("connections", "connections one by one", _LOGIN),
        ("links", "gateways, leaf nodes or routes", "run the exporter with -gatewayz -leafz -routez"),
        ("claims", "claims of an account", _LOGIN),
        ("samples", "a second scrape, and a rate needs two", "run again after the next scrape"),
    )
)
"""Kinds of evidence that a sample from metrics does not have."""
_NO_ASSETS = NOT_IN_METRICS[0]


class Moment(msgspec.Struct, frozen=True):
    """The series at one time (seconds since 1970), each with one point."""

    at: float
    series: tuple[MetricSeries, ...]

    @property
    def time(self) -> datetime:
        """That time."""
        return datetime.fromtimestamp(self.at, UTC)


def moment_of(series: Iterable[MetricSeries], at: float, scraped: Mapping[str, float]) -> Moment:
    """The values of an instant query, dated by when their exporter was scraped: Prometheus dates them by the query."""
    dated = (
        msgspec.structs.replace(one, points=((scraped.get(one.label("instance"), at), one.points[-1][1]),))
        for one in series
        if one.points
    )
    return Moment(at, tuple(dated))


def moments_of(series: Iterable[MetricSeries]) -> tuple[Moment, ...]:
    """The values of a range query, by time, the oldest first."""
    by_time: dict[float, list[MetricSeries]] = defaultdict(list)
    for one in series:
        for point in one.points:
            by_time[point[0]].append(msgspec.structs.replace(one, points=(point,)))
    return tuple(Moment(at, tuple(by_time[at])) for at in sorted(by_time))


def look_at(moment: Moment) -> Pasted:
    """The replies of the servers at that moment, as far as metrics show them."""
    return pasted_sample(replies_in(moment.series), moment.time, NOT_IN_METRICS)


def unreachable_servers(earlier: Iterable[Moment], now: Moment) -> list[Gap]:
    """Servers whose exporter is scraped and does not reach them, by the names that they had earlier."""
    known = names_by_id(one for moment in earlier for one in moment.series)
    found = {
        (one.label("instance"), one.label("server_id"))
        for one in now.series
        if known_name(one.name) == HEALTH and one.label("value") == UNREACHABLE
    }
    named = ((instance, known.get((instance, server_id), server_id)) for instance, server_id in sorted(found))
    return [
        Gap(
            kind="server",
            subject=Subject(kind="server", name=name),
            reason=f"the exporter at {instance} does not reach server {name}",
            how_to_get="start the server, or correct the URL that its exporter has",
        )
        for instance, name in named
    ]


def evidence_of(looks: Sequence[Pasted]) -> EvidenceSet:
    """The evidence of some samples, oldest first."""
    looks = _with_deliveries(looks)
    evidence = with_unseen(assemble([look.sample for look in looks]), looks)
    if not looks or _shows_assets(looks[-1]):
        return evidence
    return evidence.without(SnapshotSeries, _NO_ASSETS).without(Trend, _NO_ASSETS)


def _shows_assets(look: Pasted) -> bool:
    """Whether it shows streams, or that there are none."""
    of_servers = [one.value for one in look.found if one.endpoint is Endpoint.JSZ]
    shown = any(account.get("stream_detail") for value in of_servers for account in value.get("account_details") or ())
    return shown or (bool(of_servers) and all(value.get("streams") == 0 for value in of_servers))


def _with_deliveries(looks: Sequence[Pasted]) -> Sequence[Pasted]:
    """A consumer that delivered a message between the samples is not paused, though no metric shows that."""
    if len(looks) < 2:
        return looks
    first, last = (_deliveries(look) for look in (looks[0], looks[-1]))
    moved = {key for key, delivered in last.items() if 0 <= first.get(key, delivered) < delivered}
    return [msgspec.structs.replace(look, found=tuple(_not_paused(one, moved) for one in look.found)) for look in looks]


def _deliveries(look: Pasted) -> dict[Asset, int]:
    """The highest consumer sequence that any server shows of each consumer."""
    found: dict[Asset, int] = {}
    for reply in look.found:
        for account in reply.value.get("account_details") or ():
            for stream in account.get("stream_detail") or ():
                for consumer in stream.get("consumer_detail") or ():
                    key = (account["name"], consumer["stream_name"], consumer["name"])
                    delivered = (consumer.get("delivered") or {}).get("consumer_seq", 0)
                    found[key] = max(found.get(key, 0), delivered)
    return found


def _not_paused(reply: RecognisedDocument, moved: Collection[Asset]) -> RecognisedDocument:
    if reply.inside is None:
        return reply
    inside = {
        key: unseen - {"paused", "pause_remaining_ns"} if key in moved else unseen
        for key, unseen in reply.inside.items()
    }
    return msgspec.structs.replace(reply, inside=inside)


def lost_servers(earlier: Sequence[Pasted], now: Pasted) -> list[Gap]:
    """Servers that had metrics a while ago and have none now: they, or their exporters, are down."""
    if not earlier:
        return []
    known = {one.server for one in earlier[-1].found} - {one.server for one in now.found} - {""}
    return [
        Gap(
            kind="server",
            subject=Subject(kind="server", name=name),
            reason=f"server {name} had metrics at {earlier[-1].sample.taken_at:%Y-%m-%d %H:%M}Z and has none now",
            how_to_get="start the server or its exporter; if it was removed, give a shorter --prometheus-since",
        )
        for name in sorted(known)
    ]
