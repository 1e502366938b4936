"""What a server refuses of a consumer's configuration, and of a change of it.

(Server: consumer.go checkConsumerCfg, addConsumerWithAssignment, checkNewConsumerConfig.)

Each refusal names the releases that have it; tests try every field on each of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from jsdoctor.checks.declared.refusal import ServerRefusal, later_fields, of_descriptions, of_negative_numbers
from jsdoctor.model.jetstream import ConsumerConfig, StreamConfig
from jsdoctor.model.setting import FieldKind, rows
from jsdoctor.model.subjects import is_subject, subject_contains, subjects_overlap
from jsdoctor.model.wording import counted

_CREATE_FAILED = 10012
"""JSConsumerCreateErrF, which servers give for changes too."""


def of_change(config: ConsumerConfig, current: ConsumerConfig) -> Iterator[ServerRefusal]:
    """Why servers refuse to change the consumer `current` into `config`."""
    if config.is_push != current.is_push:
        before, after = ("pull", "push") if config.is_push else ("push", "pull")
        text = f"a {before} consumer cannot become a {after} consumer"
        yield ServerRefusal("deliver_subject", text, _CREATE_FAILED)
        return
    for row in rows(ConsumerConfig):
        was, wanted = getattr(current, row.attribute), getattr(config, row.attribute)
        if row.setting.fixed_since is not None and was != wanted:
            values = "" if row.kind in (FieldKind.DURATION, FieldKind.MOMENT) else f" from {was!r} to {wanted!r}"
            text = f"{row.name} cannot be changed{values}"
            yield ServerRefusal(row.name, text, _CREATE_FAILED, row.setting.fixed_since)


_FORBIDDEN = frozenset(" \t\r\n\f.*>\\/")
_SEPARATORS = frozenset("/\\")
_MAX_NAME_LENGTH = 255
_SAMPLING = re.compile(r"[-+]?\d+%?", re.ASCII)
_GROUP = re.compile(r"[a-zA-Z0-9/_=-]{1,16}", re.ASCII)
_MS = 1_000_000
_SMALLEST_HEARTBEAT_NS = 100 * _MS
_NOT_NEGATIVE = (2, 11)
"""First release that refuses negative durations, and reads other negative numbers as none."""


def of_consumer(config: ConsumerConfig, asked: ConsumerConfig, stream: StreamConfig | None) -> Iterator[ServerRefusal]:
    """Why servers do not create a consumer like this on such a stream (None: it is not known).

    `config` is as a server would store it, `asked` as the manifest has it: some negative numbers are only refused by
    releases that do not replace them.
    """
    name = config.durable_name or config.name
    if _FORBIDDEN & set(name):
        text = "a consumer's name must not contain white space, '.', '*', '>', '/' or '\\'"
        yield ServerRefusal("durable_name", text, 10127 if _SEPARATORS & set(name) else 0)
    elif len(name) > _MAX_NAME_LENGTH:
        text = f"a consumer's name has {_MAX_NAME_LENGTH} characters at most"
        yield ServerRefusal("durable_name", text, 10102 if config.durable_name else 0)
    yield from of_descriptions(config.description, config.metadata, 10107, 10135)
    yield from _numbers(config, asked)
    yield from (_push(config, asked) if config.is_push else _pull(config, asked))
    yield from _acknowledgement(config, asked)
    yield from _filters(config)
    yield from _start(config)
    yield from _groups(config, asked)
    if stream is not None:
        yield from _on(config, stream)


def dropped_fields(config: ConsumerConfig, release: tuple[int, ...]) -> Iterator[ServerRefusal]:
    """Fields that a server of this release leaves out silently or reads as something else."""
    yield from of_negative_numbers(config)
    if config.durable_name and config.name not in ("", config.durable_name):
        text = f"name {config.name!r} is not the durable_name: servers drop it and call the consumer"
        yield ServerRefusal("name", f"{text} {config.durable_name!r}", 0)
    yield from later_fields(config, release)


def of_work_queue(
    config: ConsumerConfig, others: Iterable[tuple[str, ConsumerConfig]], creating: bool
) -> Iterator[ServerRefusal]:
    """Why a work-queue stream with these other consumers, by name, does not take this one: one reader per subject.

    A change to no filter at all is not compared with them.
    """
    for name, other in others:
        if not config.filters:
            if creating:
                yield ServerRefusal("filter_subject", f"consumer {name} takes messages of the same work queue", 10099)
                return
            continue
        if not other.filters:
            yield ServerRefusal("filter_subject", f"consumer {name} takes all messages of the same work queue", 10100)
            return
        for wanted in config.filters:
            if taken := next((candidate for candidate in other.filters if subjects_overlap(wanted, candidate)), ""):
                text = f"its filter {wanted!r} overlaps with {taken!r} of consumer {name}, on a work-queue stream"
                yield ServerRefusal("filter_subject", text, 10100)
                return


def of_consumer_count(stream: StreamConfig, other_consumers: int, account_limit: int) -> Iterator[ServerRefusal]:
    """Why a stream takes no further consumer: its max_consumers, or the account's limit for each stream, is reached."""
    limits = [limit for limit in (stream.max_consumers, account_limit) if limit > 0]
    if limits and other_consumers >= min(limits):
        text = f"its stream has {counted(other_consumers, 'consumer')}, and may have {min(limits):,}"
        yield ServerRefusal("durable_name", text, 10026)


def of_new_on_work_queue(config: ConsumerConfig) -> Iterator[ServerRefusal]:
    """What a work-queue stream asks of a new consumer."""
    if config.ack_policy not in ("explicit", "flow_control"):
        code = 10098 if config.is_push or config.ack_policy == "all" else 10084
        yield ServerRefusal("ack_policy", "a work queue needs ack policy explicit", code)
    if config.deliver_policy != "all":
        yield ServerRefusal("deliver_policy", "a work queue takes deliver policy all only", 10101)


def _numbers(config: ConsumerConfig, asked: ConsumerConfig) -> Iterator[ServerRefusal]:
    steps = len(config.backoff_ns)
    if steps and config.max_deliver != -1 and steps > config.max_deliver:
        text = f"its backoff has {counted(steps, 'step')} and max_deliver is {config.max_deliver}: it must be as many"
        yield ServerRefusal("max_deliver", text, 10116)
    elif steps and asked.max_deliver < -1:
        yield ServerRefusal("max_deliver", "max_deliver is below the steps of the backoff", 10116, before=_NOT_NEGATIVE)
    if any(step < 0 for step in config.backoff_ns):
        yield ServerRefusal("backoff", "a step of the backoff is negative", 10184, since=_NOT_NEGATIVE)
    elif config.ack_wait_ns < 0 or (asked.ack_wait_ns < 0 and not steps):
        yield ServerRefusal("ack_wait", "ack_wait is negative", 10183, since=_NOT_NEGATIVE)
    if config.num_replicas < 0:
        yield ServerRefusal("num_replicas", "the number of replicas is negative", 10133)
    if config.sample_freq:
        number = config.sample_freq.removesuffix("%")
        if not _SAMPLING.fullmatch(config.sample_freq) or int(number) < 0:
            yield ServerRefusal(
                "sample_freq", f"sample_freq {config.sample_freq!r} is no percentage, such as '100'", 10095
            )
    if config.direct:
        yield ServerRefusal("direct", "direct is for consumers of servers themselves, which are not durable", 0)


def _push(config: ConsumerConfig, asked: ConsumerConfig) -> Iterator[ServerRefusal]:
    subject = config.deliver_subject
    if {"*", ">"} & set(subject.split(".")):
        yield ServerRefusal("deliver_subject", "the deliver subject must be a subject without wildcards", 10079)
    elif not is_subject(subject):
        yield ServerRefusal("deliver_subject", f"the deliver subject {subject!r} is not a subject", 10112)
    if config.max_waiting > 0:
        yield ServerRefusal("max_waiting", "a push consumer has no max_waiting", 10080)
    elif asked.max_waiting < 0:
        yield ServerRefusal("max_waiting", "a push consumer has no max_waiting", 10080, before=_NOT_NEGATIVE)
    if config.max_ack_pending > 0 and config.ack_policy == "none":
        yield ServerRefusal("max_ack_pending", "max_ack_pending needs acknowledgements", 10082)
    if 0 < config.idle_heartbeat_ns < _SMALLEST_HEARTBEAT_NS:
        yield ServerRefusal("idle_heartbeat", "the heartbeat is shorter than 100ms", 10083)
    if config.flow_control and config.idle_heartbeat_ns == 0:
        negative = asked.idle_heartbeat_ns < 0
        yield ServerRefusal(
            "flow_control", "flow control needs a heartbeat", 10108, _NOT_NEGATIVE if negative else (2, 10)
        )


def _pull(config: ConsumerConfig, asked: ConsumerConfig) -> Iterator[ServerRefusal]:
    if config.rate_limit_bps:
        yield ServerRefusal("rate_limit_bps", "a pull consumer has no rate limit", 10086)
    if asked.max_waiting < 0:
        yield ServerRefusal("max_waiting", "max_waiting is negative", 10087, before=_NOT_NEGATIVE)
    if config.ack_policy != "flow_control":
        why = "is for push consumers, and it has no deliver_subject"
        if config.idle_heartbeat_ns > 0:
            yield ServerRefusal("idle_heartbeat", f"idle_heartbeat {why}", 10088)
        if config.flow_control:
            yield ServerRefusal("flow_control", f"flow_control {why}", 10089)
    if asked.max_batch < 0:
        yield ServerRefusal("max_batch", "max_batch is negative", 10114, before=_NOT_NEGATIVE)
    if 0 < config.max_expires_ns < _MS:
        yield ServerRefusal("max_expires", "max_expires is shorter than 1ms", 10115)
    elif asked.max_expires_ns < 0:
        yield ServerRefusal("max_expires", "max_expires is negative", 10115, before=_NOT_NEGATIVE)


def _acknowledgement(config: ConsumerConfig, asked: ConsumerConfig) -> Iterator[ServerRefusal]:
    """Acknowledgements by flow control, which servers have from 2.14 on."""
    if config.ack_policy != "flow_control":
        return
    since = (2, 14)
    yield ServerRefusal("ack_policy", "servers before 2.14 have no ack policy flow_control", 10025, before=since)
    if not config.is_push:
        yield ServerRefusal("deliver_subject", "ack policy flow_control needs a deliver subject", 10218, since)
    if config.max_ack_pending <= 0:
        yield ServerRefusal("max_ack_pending", "ack policy flow_control needs max_ack_pending", 10220, since)
    if asked.ack_wait_ns or asked.backoff_ns:
        yield ServerRefusal("ack_wait", "ack policy flow_control has neither ack_wait nor backoff", 10221, since)
    if config.max_deliver > 0:
        yield ServerRefusal("max_deliver", "ack policy flow_control has no max_deliver", 10222, since)


def _filters(config: ConsumerConfig) -> Iterator[ServerRefusal]:
    if config.filter_subject and config.filter_subjects:
        yield ServerRefusal("filter_subjects", "it has both filter_subject and filter_subjects", 10136)
        return
    if "" in config.filter_subjects:
        yield ServerRefusal("filter_subjects", "one of its filters is empty", 10139)
        return
    for number, wanted in enumerate(config.filters):
        if not is_subject(wanted):
            yield ServerRefusal("filter_subject", f"its filter {wanted!r} is not a subject")
            continue
        for other in config.filters[number + 1 :]:
            inside = subject_contains(wanted, other) or subject_contains(other, wanted)
            if inside or subjects_overlap(wanted, other):
                text = f"its filters {wanted!r} and {other!r} overlap"
                yield ServerRefusal("filter_subjects", text, 10138, before=None if inside else (2, 11))


def _start(config: ConsumerConfig) -> Iterator[ServerRefusal]:
    policy, by_seq, by_time = config.deliver_policy, config.opt_start_seq > 0, config.opt_start_time is not None
    if by_seq != (policy == "by_start_sequence"):
        text = "has a start sequence" if by_seq else "has no start sequence"
        yield ServerRefusal("deliver_policy", f"deliver policy {policy} {text}", 10094)
    if by_time != (policy == "by_start_time"):
        text = "has a start time" if by_time else "has no start time"
        yield ServerRefusal("deliver_policy", f"deliver policy {policy} {text}", 10094)
    if policy == "last_per_subject" and not config.filters:
        yield ServerRefusal("deliver_policy", "deliver policy last_per_subject needs a filter", 10094)


def _groups(config: ConsumerConfig, asked: ConsumerConfig) -> Iterator[ServerRefusal]:
    since = (2, 11)
    if config.priority_policy in ("", "none"):
        if config.priority_groups:
            yield ServerRefusal("priority_groups", "priority_groups need a priority_policy", 10196, since)
        if asked.priority_timeout_ns > 0:
            yield ServerRefusal("priority_timeout", "priority_timeout needs a priority_policy", 10197, since)
        return
    if config.priority_policy == "prioritized":
        text = "servers before 2.12 have no priority policy prioritized"
        yield ServerRefusal("priority_policy", text, 10025, since, before=(2, 12))
    if config.is_push:
        yield ServerRefusal("priority_policy", "a push consumer has no priority policy", 10178, since)
    if not config.priority_groups:
        yield ServerRefusal("priority_groups", "a priority policy needs priority_groups", 10159, since)
    for group in config.priority_groups:
        if not group:
            yield ServerRefusal("priority_groups", "the name of a priority group is empty", 10161, since)
        elif not _GROUP.fullmatch(group):
            text = f"priority group {group!r}: a name has 1 to 16 letters, digits, '-', '_', '/' or '='"
            yield ServerRefusal("priority_groups", text, 10162, since)


def _on(config: ConsumerConfig, stream: StreamConfig) -> Iterator[ServerRefusal]:
    if config.num_replicas > stream.num_replicas:
        text = f"R{config.num_replicas} is more than the R{stream.num_replicas} of its stream"
        yield ServerRefusal("num_replicas", text, 0)
    elif stream.retention != "limits" and config.num_replicas not in (0, stream.num_replicas):
        text = f"R{config.num_replicas} on a stream of R{stream.num_replicas}: with {stream.retention} retention"
        yield ServerRefusal("num_replicas", f"{text} both must be equal", 10134)
    if stream.retention == "workqueue" and config.ack_policy == "none" and not config.is_push:
        yield ServerRefusal("ack_policy", "a work queue needs acknowledgements", 10084)
    limits = stream.consumer_limits
    if 0 < limits.max_ack_pending < config.max_ack_pending:
        text = f"max_ack_pending is above the {limits.max_ack_pending:,} that its stream allows"
        yield ServerRefusal("max_ack_pending", text, 10121)
    if 0 < limits.inactive_threshold_ns < config.inactive_threshold_ns:
        yield ServerRefusal("inactive_threshold", "inactive_threshold is above the one that its stream allows", 10153)
    if config.is_push and any(subject_contains(subject, config.deliver_subject) for subject in stream.subjects):
        yield ServerRefusal("deliver_subject", "it would deliver into its own stream", 10081)
