"""JSD626: key-value and object buckets whose stream does not have the settings that clients rely on (ADR-8, ADR-20)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed
from jsdoctor.model.jetstream import StreamConfig
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.wording import counted, span

_LEVEL = "_nats.req.level"
"""A key in the metadata of every stream from 2.11 on: these releases have markers for expired values."""
_CHUNK_BYTES = 131_072
"""Size of the chunks that clients write unless another one is set."""


class Flaw(NamedTuple):
    """A wrong setting: the text of the finding, its severity, and the setting with its value."""

    text: str
    severity: Severity
    setting: str
    value: object


@check("stream_limits.bucket_settings")
def bucket_settings(snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """Judge buckets by the settings with which clients create them.

    Mirrors are left out, and streams with other subjects, which only have such a name.
    """
    for stream in snapshots.last.led_streams():
        if stream.config.mirror is not None or not _is_bucket(stream):
            continue
        problems = [*_key_value_flaws(stream)] if stream.is_key_value else [*_object_store_flaws(stream.config)]
        problems += _common_flaws(stream, params)
        if not problems:
            yield passed(stream.subject)
            continue
        yield failed(
            stream.subject,
            "; ".join(problem.text for problem in problems),
            *(stream.observed(f"config.{problem.setting}", problem.value) for problem in problems),
            severity=max((problem.severity for problem in problems), key=lambda severity: severity.rank),
            measured=(len(problems), 0, "count"),
        )


def _is_bucket(stream: Stream) -> bool:
    subjects = stream.config.subjects
    prefix = "$KV." if stream.is_key_value else "$O." if stream.is_object_store else ""
    return bool(prefix) and (not subjects or any(subject.startswith(prefix) for subject in subjects))


def _common_flaws(stream: Stream, params: Params) -> Iterator[Flaw]:
    config = stream.config
    if not config.allow_rollup_hdrs:
        what = "purges of keys" if stream.is_key_value else "writes of objects"
        text = f"rollups are not allowed, so that {what} are refused"
        yield Flaw(text, Severity.WARNING, "allow_rollup_hdrs", False)
    limits = {"max_bytes": config.max_bytes, "max_msgs": config.max_msgs}
    if config.discard == "old" and any(limit > 0 for limit in limits.values()):
        stored = {"max_bytes": stream.state.bytes, "max_msgs": stream.state.messages}
        share = max(stored[key] / limit for key, limit in limits.items() if limit > 0)
        full = share >= params.number("warn_share")
        oldest = "values" if stream.is_key_value else "parts of objects"
        text = f"discard is old, so that it deletes its oldest {oldest} when it is full ({share:.0%} now) instead of"
        severity = Severity.WARNING if full else Severity.INFO
        yield Flaw(f"{text} refusing new ones", severity, "discard", config.discard)


def _object_store_flaws(config: StreamConfig) -> Iterator[Flaw]:
    """Flaws of an object store, in which all chunks of an object have the same subject."""
    if (most := config.max_msgs_per_subject) > 0:
        text = f"max_msgs_per_subject is {most:,}: of an object with more chunks the first ones are deleted"
        yield Flaw(text, Severity.WARNING, "max_msgs_per_subject", most)
    if 0 < (size := config.max_msg_size) < _CHUNK_BYTES:
        text = f"max_msg_size is {size:,} bytes: larger objects are refused, unless their client writes smaller chunks"
        yield Flaw(f"{text} than the usual {_CHUNK_BYTES:,} bytes", Severity.INFO, "max_msg_size", size)


def _key_value_flaws(stream: Stream) -> Iterator[Flaw]:
    config, history = stream.config, stream.config.max_msgs_per_subject
    if history < 1:
        text = "max_msgs_per_subject is not set, so that every value is kept, and clients may refuse it as no bucket"
        yield Flaw(text, Severity.WARNING, "max_msgs_per_subject", history)
    if config.allow_msg_ttl and history > 1:
        text = f"it keeps up to {history} values of a key and allows a time to live for each: when the newest expires,"
        yield Flaw(f"{text} the one before may be the current value again", Severity.INFO, "allow_msg_ttl", True)
    own = f"$KV.{stream.name.removeprefix('KV_')}."
    for source in config.sources:
        for transform in source.subject_transforms:
            if transform.dest and not transform.dest.startswith(own):
                text = f"what it copies from {source.name} is stored as {transform.dest}, which is no key of it"
                text += f": keys begin with {own}"
                yield Flaw(text, Severity.WARNING, "sources.subject_transforms.dest", transform.dest)
    yield from _expiry_without_markers(stream)


def _expiry_without_markers(stream: Stream) -> Iterator[Flaw]:
    """A flaw if values expire without markers while watchers exist: ephemeral push consumers."""
    config = stream.config
    if config.max_age_ns <= 0 or config.subject_delete_marker_ttl_ns > 0 or _LEVEL not in config.metadata:
        return
    watchers = [c for c in stream.consumers if c.config.deliver_subject and not c.config.durable_name]
    if watchers:
        blind = f"{counted(len(watchers), 'watcher')} of it cannot notice"
        text = f"values expire after {span(config.max_age_ns)} without a marker, so that {blind}"
        yield Flaw(text, Severity.INFO, "subject_delete_marker_ttl", 0)
