"""JSD622: a copy that keeps its messages for another time than its origin, or another number of them."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, failed, passed
from jsdoctor.model.jetstream import SourceConfig, StreamConfig
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.wording import counted, span

_NUMBERS = ("max_msgs", "max_msgs_per_subject", "max_bytes")


@check("stream_limits.copy_limits")
def copy_limits(snapshots: SnapshotSeries) -> Iterator[Finding]:
    """Compare the limits of copies with those of their origins: a copy only applies its own (server: stream.go)."""
    streams = snapshots.last.led_by_key
    for copy in streams.values():
        origins = [
            (source, origin)
            for source in copy.config.origins
            if source.takes_all and source.external is None and (origin := streams.get((copy.account, source.name)))
        ]
        differences = [text for source, origin in origins for text in _differences(copy, source, origin)]
        if differences:
            yield _finding(copy, [origin for _, origin in origins], differences)
        elif origins:
            yield passed(copy.subject)


def _differences(copy: Stream, source: SourceConfig, origin: Stream) -> Iterator[str]:
    """Differences in limits. Of size and number only for mirrors: several sources share the limits of their copy."""
    own, of_origin, is_mirror = copy.config, origin.config, copy.config.mirror is not None
    if own.max_age_ns != of_origin.max_age_ns:
        yield f"max_age is {_age(own)}, that of {source.name} {_age(of_origin)}"
    if of_origin.allow_msg_ttl and not own.allow_msg_ttl:
        yield f"messages that expire in {source.name} by their Nats-TTL stay, as the copy does not have allow_msg_ttl"
    for key in _NUMBERS if is_mirror else ():
        mine, theirs = getattr(own, key), getattr(of_origin, key)
        if mine > 0 and (theirs <= 0 or mine < theirs):
            yield f"{key} is {mine:,}, that of {source.name} {f'{theirs:,}' if theirs > 0 else 'unlimited'}"


def _age(config: StreamConfig) -> str:
    return span(config.max_age_ns) if config.max_age_ns > 0 else "unlimited"


def _finding(copy: Stream, origins: list[Stream], differences: list[str]) -> Finding:
    held = ", ".join(f"{counted(origin.state.messages, 'message')} in {origin.name}" for origin in origins)
    return failed(
        copy.subject,
        f"it keeps other messages than what it copies: {'; '.join(differences)}. Now it has"
        f" {counted(copy.state.messages, 'message')}, with {held}",
        *_limits(copy),
        *(seen for origin in origins for seen in _limits(origin)),
        measured=(len(differences), 0, "count"),
    )


def _limits(stream: Stream) -> Iterator[Observation]:
    yield stream.observed(f"{stream.name}.config.max_age", stream.config.max_age_ns)
    for key in _NUMBERS:
        yield stream.observed(f"{stream.name}.config.{key}", getattr(stream.config, key))
    yield stream.observed(f"{stream.name}.state.messages", stream.state.messages)
