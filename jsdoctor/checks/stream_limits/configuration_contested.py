"""JSD624: a stream or consumer whose configuration is changed and changed back while samples are taken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed, suspected
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import Consumer, Stream
from jsdoctor.model.trend import ConsumerHistory, StreamHistory, Trend
from jsdoctor.model.wording import counted, span

_SERVER_PREFIX = "_nats."
"""Prefix of metadata that servers set, which differs with the leader's version (server: jetstream_versioning.go)."""
_VALUES_SHOWN = 3
_IGNORED_FIELDS = frozenset({"pause_until"})
"""Operators pause and resume a consumer; JSD414 reports that."""
_MORE_SAMPLES = "run with --samples 8 --interval 2s"

Fields = dict[str, Any]


@check("stream_limits.configuration_contested")
def configuration_contested(trend: Trend, params: Params) -> Iterator[Finding]:
    """Find configurations that change and return to an earlier state between samples."""
    for stream in trend.streams():
        yield _judged(stream, params)
    for consumer in trend.consumers():
        yield _judged(consumer, params)


def _judged(history: StreamHistory | ConsumerHistory, params: Params) -> Finding:
    readings, last = history.readings, history.last
    if all(reading.config == last.config for reading in readings):
        return passed(last.subject)
    states = [_fields(reading) for reading in readings]
    changes = [index for index, (before, after) in enumerate(pairwise(states), 1) if before != after]
    returns = [index for index in changes if states[index] in states[: index - 1]]
    if not changes:
        return passed(last.subject)
    names = sorted({name for index in changes for name in _changed_fields(states[index - 1], states[index])})
    if not returns:
        if len(readings) > 2:
            return passed(last.subject)
        text = f"its configuration ({', '.join(names)}) differs between the two samples"
        return suspected(last.subject, f"{text}: whether it is changed back shows in more of them", _MORE_SAMPLES)
    values = "; ".join(f"{name}: {_values(states, name)}" for name in names)
    often = len(changes) >= params.integer("min_changes")
    return failed(
        last.subject,
        f"its configuration was changed {counted(len(changes), 'time')} within"
        f" {span(int(history.elapsed_s * 1e9))} and returned to what it was ({values}): "
        + (
            "two deployers that do not agree take back what the other one sets"
            if often
            else "a change that was taken back, or the first of several"
        ),
        *(last.observed(f"config.{name}", states[-1].get(name)) for name in names),
        severity=None if often else Severity.INFO,
        measured=(len(changes), params.integer("min_changes"), "count"),
    )


def _fields(reading: Stream | Consumer) -> Fields:
    fields = msgspec.to_builtins(reading.config)
    kept = {key: value for key, value in fields.items() if key not in _IGNORED_FIELDS}
    own = {key: value for key, value in fields.get("metadata", {}).items() if not key.startswith(_SERVER_PREFIX)}
    return {**kept, "metadata": own}


def _changed_fields(before: Fields, after: Fields) -> Iterator[str]:
    return (name for name, value in before.items() if value != after[name])


def _values(states: Sequence[Fields], name: str) -> str:
    seen: list[str] = []
    for state in states:
        text = msgspec.json.encode(state.get(name)).decode()
        if text not in seen:
            seen.append(text)
    return " and ".join(seen[:_VALUES_SHOWN])
