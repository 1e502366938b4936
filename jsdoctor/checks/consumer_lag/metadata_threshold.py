"""JSD415: a consumer past a threshold that its owner wrote into its metadata (`io.nats.monitor.*`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jsdoctor.checks.monitor_metadata import PREFIX, Presets, Thresholds, ValueKind, read_thresholds
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, failed, passed, unknown
from jsdoctor.model.jetstream import SequencePair
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import Consumer, SnapshotSeries
from jsdoctor.model.wording import span

_COUNTS = {
    "outstanding-ack-critical": ("num_ack_pending", "messages are unacknowledged"),
    "waiting-critical": ("num_waiting", "pull requests wait"),
    "unprocessed-critical": ("num_pending", "messages wait"),
    "redelivery-critical": ("num_redelivered", "messages are being sent again"),
}
_TIMES = {"last-delivery-critical": ("delivered", "delivery"), "last-ack-critical": ("ack_floor", "acknowledgement")}
KEYS = dict.fromkeys(_COUNTS, ValueKind.COUNT) | dict.fromkeys(_TIMES, ValueKind.DURATION) | {"pinned": ValueKind.FLAG}

Breach = tuple[str, str, Observation]
"""The key of a threshold, what is wrong in words, and the reading behind it."""


@check("consumer_lag.metadata_threshold")
def metadata_threshold(snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """Compare with thresholds; a value at the threshold is a breach, as in the `nats` CLI (jsm.go monitor/consumer.go).

    Times are measured by the clock of the server that responded, so old captures are judged as of their own time.
    """
    presets = Presets.of(params, KEYS)
    for _, consumer in snapshots.last.led_consumers():
        if (wanted := read_thresholds(consumer.config.metadata, KEYS, presets)) is None:
            continue
        times, unseen = _overdue(consumer, wanted)
        breaches = [*_too_many(consumer, wanted), *times, *_not_pinned(consumer, wanted)]
        if breaches:
            yield failed(
                consumer.subject,
                "; ".join(words for _, words, _ in breaches) + f": critical by {_settings_owner(breaches, wanted)}",
                *(reading for _, _, reading in breaches),
            )
        elif wanted.unreadable:
            key, expected = next(iter(wanted.unreadable.items()))
            yield unknown(consumer.subject, f"its metadata {PREFIX}{key} is not {expected}", "correct the metadata")
        elif unseen:
            yield unknown(consumer.subject, unseen, "run the check again once it has been active")
        else:
            yield passed(consumer.subject)


def _settings_owner(breaches: Sequence[Breach], wanted: Thresholds) -> str:
    own = [key in wanted.own for key, _, _ in breaches]
    settings = "the parameters of this rule"
    return "its own metadata" if all(own) else f"its own metadata and {settings}" if any(own) else settings


def _too_many(consumer: Consumer, wanted: Thresholds) -> Iterator[Breach]:
    for key, limit in wanted.counts.items():
        path, words = _COUNTS[key]
        measured: int = getattr(consumer, path)
        if measured >= limit:
            yield key, f"{measured:,} {words}, its limit is {limit:,}", consumer.observed(path, measured)


def _overdue(consumer: Consumer, wanted: Thresholds) -> tuple[list[Breach], str]:
    """Deliveries or acks that are too long ago, and a reason if the time of one is not known (a restart clears it)."""
    breaches, unseen = [], ""
    for key, limit_ns in wanted.durations_ns.items():
        path, words = _TIMES[key]
        pair: SequencePair = getattr(consumer, path)
        since = pair.last_active or (consumer.created if pair.consumer_seq == 0 else None)
        if since is None:
            unseen = f"when the last {words} was is not known: the server forgets it when it restarts"
        elif (ago_ns := round((consumer.at - since).total_seconds() * 1e9)) >= limit_ns:
            stated = f"the last {words} was {span(ago_ns)} ago" if pair.last_active else f"no {words} in {span(ago_ns)}"
            reading = consumer.observed(f"{path}.last_active", since)
            breaches.append((key, f"{stated}, its limit is {span(limit_ns)}", reading))
    return breaches, unseen


def _not_pinned(consumer: Consumer, wanted: Thresholds) -> Iterator[Breach]:
    if "pinned" not in wanted.flags:
        return
    policy, groups = consumer.config.priority_policy, consumer.config.priority_groups
    if policy != "pinned_client" or not groups:
        if "pinned" in wanted.own:
            yield "pinned", "it pins no client", consumer.observed("config.priority_policy", policy)
        return
    pinned = sum(bool(group.pinned_client_id) for group in consumer.priority_groups)
    if pinned != len(groups):
        words = f"{pinned} of {len(groups)} groups have a pinned client"
        yield "pinned", words, consumer.observed("priority_groups", pinned)
