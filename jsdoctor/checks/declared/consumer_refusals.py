"""What a server refuses of a consumer's configuration, new or changed (server: consumer.go checkConsumerCfg,
checkNewConsumerConfig, addConsumerWithAssignment).

Only what servers of all supported versions refuse alike; tests ask them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jsdoctor.checks.declared.stream_refusals import Refusal, is_subject
from jsdoctor.model.jetstream import ConsumerConfig, StreamConfig
from jsdoctor.model.subjects import subjects_overlap
from jsdoctor.model.wording import counted

_FORBIDDEN = frozenset(" \t\r\n\f.*>\\/")
_FIXED = (
    ("deliver_policy", "deliver_policy", "the deliver policy"),
    ("opt_start_seq", "opt_start_seq", "the start sequence"),
    ("opt_start_time", "opt_start_time", "the start time"),
    ("ack_policy", "ack_policy", "the acknowledgement policy"),
    ("replay_policy", "replay_policy", "the replay policy"),
    ("idle_heartbeat_ns", "idle_heartbeat", "the heartbeat"),
    ("flow_control", "flow_control", "flow control"),
    ("max_waiting", "max_waiting", "max_waiting"),
    ("mem_storage", "mem_storage", "mem_storage"),
)
"""Attribute, field and words of what a consumer keeps from its creation on."""


def of_consumer(config: ConsumerConfig, stream: StreamConfig | None) -> Iterator[Refusal]:
    """Why no server creates a consumer like this on such a stream (None: it is not known)."""
    yield from _alone(config)
    yield from _filters(config)
    yield from _start(config)
    if stream is not None:
        yield from _on(config, stream)


def of_change(config: ConsumerConfig, current: ConsumerConfig) -> Iterator[Refusal]:
    """Why a server does not change a consumer into this."""
    if config.is_push != current.is_push:
        kinds = ("pull", "push")
        says = f"a {kinds[current.is_push]} consumer cannot become a {kinds[config.is_push]} consumer"
        yield Refusal("deliver_subject", says, 10012)
        return
    for attribute, field, words in _FIXED:
        was, wanted = getattr(current, attribute), getattr(config, attribute)
        if was != wanted:
            yield Refusal(field, f"{words} cannot be changed{_values(attribute, was, wanted)}", 10012)


def of_work_queue(config: ConsumerConfig, others: Iterable[tuple[str, ConsumerConfig]]) -> Iterator[Refusal]:
    """Why a work-queue stream with these other consumers, by name, does not take this one: one reader per subject."""
    for name, other in others:
        if not config.filters or not other.filters:
            both = not config.filters and not other.filters
            says = f"consumer {name} takes messages of the same work queue" + (
                ", and neither has a filter" if both else ""
            )
            yield Refusal("filter_subject", says, 10099 if both else 10100)
            return
        for wanted in config.filters:
            if taken := next((one for one in other.filters if subjects_overlap(wanted, one)), ""):
                says = f"its filter {wanted!r} overlaps with {taken!r} of consumer {name}, on a work-queue stream"
                yield Refusal("filter_subject", says, 10100)
                return


def _alone(config: ConsumerConfig) -> Iterator[Refusal]:
    name = config.durable_name or config.name
    if _FORBIDDEN & set(name):
        yield Refusal("durable_name", "a consumer's name must not contain white space, '.', '*', '>', '/' or '\\'")
    steps = len(config.backoff_ns)
    if steps and config.max_deliver != -1 and steps > config.max_deliver:
        says = f"its backoff has {counted(steps, 'step')} and max_deliver is {config.max_deliver}: it must be as many"
        yield Refusal("max_deliver", says, 10116)
    if config.is_push:
        if not is_subject(config.deliver_subject) or {"*", ">"} & set(config.deliver_subject.split(".")):
            yield Refusal("deliver_subject", "the deliver subject must be a subject without wildcards", 10079)
        if config.max_waiting:
            yield Refusal("max_waiting", "a push consumer has no max_waiting", 10080)
    else:
        for field, value in (("idle_heartbeat", config.idle_heartbeat_ns), ("flow_control", config.flow_control)):
            if value:
                yield Refusal(field, f"{field} is for push consumers, and it has no deliver_subject", 10088)
        if config.rate_limit_bps:
            yield Refusal("rate_limit_bps", "a pull consumer has no rate limit", 10086)
    if config.is_push and config.flow_control and not config.idle_heartbeat_ns:
        yield Refusal("flow_control", "flow control needs a heartbeat", 10108)


def _filters(config: ConsumerConfig) -> Iterator[Refusal]:
    if config.filter_subject and config.filter_subjects:
        yield Refusal("filter_subjects", "it has both filter_subject and filter_subjects", 10136)
        return
    for number, wanted in enumerate(config.filters):
        if not is_subject(wanted):
            yield Refusal("filter_subject", f"its filter {wanted!r} is not a subject")
        for other in config.filters[number + 1 :]:
            if _contains(wanted, other) or _contains(other, wanted):
                yield Refusal("filter_subjects", f"its filters {wanted!r} and {other!r} overlap", 10138)


def _contains(wide: str, narrow: str) -> bool:
    """Whether every subject of `narrow` is one of `wide` (server: subjectIsSubsetMatch)."""
    left, right = wide.split("."), narrow.split(".")
    for number, token in enumerate(left):
        if token == ">":
            return len(right) > number
        if number >= len(right) or right[number] == ">" or (token not in ("*", right[number])):
            return False
    return len(left) == len(right)


def _start(config: ConsumerConfig) -> Iterator[Refusal]:
    policy, by_seq, by_time = config.deliver_policy, config.opt_start_seq > 0, config.opt_start_time is not None
    if by_seq != (policy == "by_start_sequence"):
        says = "has a start sequence" if by_seq else "has no start sequence"
        yield Refusal("deliver_policy", f"deliver policy {policy} {says}", 10094)
    if by_time != (policy == "by_start_time"):
        says = "has a start time" if by_time else "has no start time"
        yield Refusal("deliver_policy", f"deliver policy {policy} {says}", 10094)
    if policy == "last_per_subject" and not config.filters:
        yield Refusal("deliver_policy", "deliver policy last_per_subject needs a filter", 10094)


def _on(config: ConsumerConfig, stream: StreamConfig) -> Iterator[Refusal]:
    if stream.mirror is None and stream.retention == "workqueue":
        if config.ack_policy != "explicit":
            code = 10098 if config.is_push or config.ack_policy == "all" else 10084
            yield Refusal("ack_policy", "a work queue needs ack policy explicit", code)
        if config.deliver_policy != "all":
            yield Refusal("deliver_policy", "a work queue takes deliver policy all only", 10101)
    if stream.retention != "limits" and config.num_replicas not in (0, stream.num_replicas):
        says = f"R{config.num_replicas} on a stream of R{stream.num_replicas}: with {stream.retention} retention"
        yield Refusal("num_replicas", f"{says} both must be equal", 10134)
    elif config.num_replicas > stream.num_replicas:
        says = f"R{config.num_replicas} is more than the R{stream.num_replicas} of its stream"
        yield Refusal("num_replicas", says, 0)
    most = stream.consumer_limits.max_ack_pending
    if 0 < most < config.max_ack_pending:
        yield Refusal("max_ack_pending", f"max_ack_pending is above the {most:,} that its stream allows", 10121)
    if config.is_push and any(subjects_overlap(config.deliver_subject, subject) for subject in stream.subjects):
        yield Refusal("deliver_subject", "it would deliver into its own stream", 10081)


def _values(attribute: str, was: object, wanted: object) -> str:
    return "" if attribute.endswith("_ns") else f" from {was!r} to {wanted!r}"
