"""Series cut into moments: what was known of every server at one time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime

import msgspec

from jsdoctor.metrics.names import HEALTH, known_name
from jsdoctor.metrics.replies import UNREACHABLE, Asset, names_by_id, replies_in
from jsdoctor.metrics.series import MetricSeries
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.exchange import Endpoint
from jsdoctor.model.finding import CLUSTER, Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.trend import Trend
from jsdoctor.pasted.found import RecognisedDocument
from jsdoctor.pasted.sample import Pasted, pasted_sample, with_unseen
from jsdoctor.replies.assemble import assemble

_LOGIN_HINT = "look at the deployment with a login of the system account: --context NAME or -s URL"
NOT_IN_METRICS = tuple(
    Gap(kind=kind, subject=CLUSTER, reason=f"no metric shows {words}", how_to_get=how, requested=False)
    for kind, words, how in (
        ("assets", "streams", "run the exporter with -jsz=all, or surveyor with --jsz all"),
        ("servers", "servers", "run the exporter with -varz -healthz -jsz=all"),
        ("accounts", "the storage of each account", "run the exporter with -jsz=all"),
        ("raft", "Raft groups", _LOGIN_HINT),
        ("connections", "connections one by one", _LOGIN_HINT),
        ("links", "gateways, leaf nodes or routes", "run the exporter with -gatewayz -leafz -routez"),
        ("claims", "claims of an account", _LOGIN_HINT),
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
        """The time as a datetime in UTC."""
        return datetime.fromtimestamp(self.at, UTC)


def moment_of(series: Iterable[MetricSeries], at: float, scraped: Mapping[str, float]) -> Moment:
    """The values of an instant query with the time of the scrape, in place of that of the query."""
    dated = (
        msgspec.structs.replace(
            metric_series, points=((scraped.get(metric_series.label("instance"), at), metric_series.points[-1][1]),)
        )
        for metric_series in series
        if metric_series.points
    )
    return Moment(at, tuple(dated))


def moments_of(series: Iterable[MetricSeries]) -> tuple[Moment, ...]:
    """The values of a range query, by time, the oldest first."""
    by_time: dict[float, list[MetricSeries]] = defaultdict(list)
    for metric_series in series:
        for point in metric_series.points:
            by_time[point[0]].append(msgspec.structs.replace(metric_series, points=(point,)))
    return tuple(Moment(at, tuple(by_time[at])) for at in sorted(by_time))


def sample_at(moment: Moment) -> Pasted:
    """The replies of the servers at that moment, as far as metrics show them."""
    return pasted_sample(replies_in(moment.series), moment.time, NOT_IN_METRICS)


def unreachable_servers(earlier: Iterable[Moment], now: Moment) -> list[Gap]:
    """Gaps for servers that their exporter does not reach, by the names that they had earlier."""
    known = names_by_id(item for moment in earlier for item in moment.series)
    unreachable = {
        (item.label("instance"), item.label("server_id"))
        for item in now.series
        if known_name(item.name) == HEALTH and item.label("value") == UNREACHABLE
    }
    named = ((instance, known.get((instance, server_id), server_id)) for instance, server_id in sorted(unreachable))
    return [
        Gap(
            kind="server",
            subject=Subject(kind="server", name=name),
            reason=f"the exporter at {instance} does not reach server {name}",
            how_to_get="start the server, or correct the URL that its exporter has",
        )
        for instance, name in named
    ]


def evidence_of(samples: Sequence[Pasted]) -> EvidenceSet:
    """The evidence of some samples, oldest first."""
    samples = _with_deliveries(samples)
    evidence = with_unseen(assemble([sample.sample for sample in samples]), samples)
    if not samples or _shows_assets(samples[-1]):
        return evidence
    return evidence.without(SnapshotSeries, _NO_ASSETS).without(Trend, _NO_ASSETS)


def _shows_assets(sample: Pasted) -> bool:
    """Whether it shows streams, or that there are none."""
    of_servers = [item.value for item in sample.found if item.endpoint is Endpoint.JSZ]
    shown = any(account.get("stream_detail") for value in of_servers for account in value.get("account_details") or ())
    return shown or (bool(of_servers) and all(value.get("streams") == 0 for value in of_servers))


def _with_deliveries(samples: Sequence[Pasted]) -> Sequence[Pasted]:
    """The samples, with the consumers that delivered between them as not paused, which no metric shows."""
    if len(samples) < 2:
        return samples
    first, last = (_delivered_sequences(sample) for sample in (samples[0], samples[-1]))
    moved = {key for key, delivered in last.items() if 0 <= first.get(key, delivered) < delivered}
    return [
        msgspec.structs.replace(sample, found=tuple(_not_paused(item, moved) for item in sample.found))
        for sample in samples
    ]


def _delivered_sequences(sample: Pasted) -> dict[Asset, int]:
    """The highest consumer sequence that any server shows of each consumer."""
    deliveries: dict[Asset, int] = {}
    for reply in sample.found:
        for account in reply.value.get("account_details") or ():
            for stream in account.get("stream_detail") or ():
                for consumer in stream.get("consumer_detail") or ():
                    key = (account["name"], consumer["stream_name"], consumer["name"])
                    delivered = (consumer.get("delivered") or {}).get("consumer_seq", 0)
                    deliveries[key] = max(deliveries.get(key, 0), delivered)
    return deliveries


def _not_paused(reply: RecognisedDocument, moved: Collection[Asset]) -> RecognisedDocument:
    if reply.inside is None:
        return reply
    inside = {
        key: unseen - {"paused", "pause_remaining_ns"} if key in moved else unseen
        for key, unseen in reply.inside.items()
    }
    return msgspec.structs.replace(reply, inside=inside)


def lost_servers(earlier: Sequence[Pasted], now: Pasted) -> list[Gap]:
    """Gaps for servers that had metrics earlier and have none now: they, or their exporters, are down."""
    if not earlier:
        return []
    known = {item.server for item in earlier[-1].found} - {item.server for item in now.found} - {""}
    return [
        Gap(
            kind="server",
            subject=Subject(kind="server", name=name),
            reason=f"server {name} had metrics at {earlier[-1].sample.taken_at:%Y-%m-%d %H:%M}Z and has none now",
            how_to_get="start the server or its exporter; if it was removed, give a shorter --prometheus-since",
        )
        for name in sorted(known)
    ]
