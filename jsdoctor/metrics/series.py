"""Time series as Prometheus has them: from exposition text, and from replies of its HTTP API."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from jsdoctor.model.typed import decode_as
from jsdoctor.replies.decoding import ReplyError

_MAX_LINE_LENGTH = 4_000
_MAX_LINES = 200_000
_MAX_LABEL = 256
_LINE = re.compile(r"^([a-zA-Z_:][\w:]*)\{([^}]*)\} ([-+.\deE]{1,30})(?: \d+)?\s*$")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

Point = tuple[float, float]
"""The time in seconds since 1970, and the value."""


class MetricSeries(msgspec.Struct, frozen=True):
    """One time series: the name of the metric, its labels without that name, and its points, oldest first."""

    name: str
    labels: Mapping[str, str]
    points: tuple[Point, ...]

    def label(self, *names: str) -> str:
        """The value of the first of these labels that is set; empty if none is."""
        return next((value for name in names if (value := self.labels.get(name, ""))), "")


class Answer(msgspec.Struct, frozen=True):
    """The result of one query. `warnings`: it is incomplete, as a store behind Prometheus did not respond."""

    series: tuple[MetricSeries, ...]
    warnings: tuple[str, ...] = ()


class _Result(msgspec.Struct, frozen=True):
    metric: dict[str, str] = {}
    value: tuple[float, str] | None = None
    values: tuple[tuple[float, str], ...] = ()


class _PrometheusData(msgspec.Struct, frozen=True, rename={"kind": "resultType"}):
    kind: str = ""
    result: tuple[_Result, ...] = ()


class _PrometheusReply(msgspec.Struct, frozen=True, rename={"is_partial": "isPartial"}):
    """`is_partial` is of a VictoriaMetrics cluster: some of its stores did not respond."""

    status: str = ""
    data: _PrometheusData | None = None
    error: str = ""
    warnings: tuple[str, ...] = ()
    is_partial: bool = False


def api_answer(body: bytes) -> Answer:
    """The series in a reply of `/api/v1/query` or `/api/v1/query_range`. Raises ReplyError for anything else."""
    try:
        reply = decode_as(body, _PrometheusReply)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ReplyError(f"it is no reply of the Prometheus API: {error}") from None
    if reply.status != "success" or reply.data is None:
        raise ReplyError(reply.error or "it is no reply of the Prometheus API")
    if reply.data.kind not in ("vector", "matrix"):
        raise ReplyError(f"the query gave a {reply.data.kind or 'nameless type'}, not series")
    warnings = (*reply.warnings, "the reply is partial (isPartial)") if reply.is_partial else reply.warnings
    return Answer(tuple(_series(result) for result in reply.data.result), warnings)


def _series(result: _Result) -> MetricSeries:
    raw = [*result.values, *([result.value] if result.value else [])]
    labels = {key: value[:_MAX_LABEL] for key, value in result.metric.items() if key != "__name__"}
    return MetricSeries(result.metric.get("__name__", ""), labels, tuple((at, float(value)) for at, value in raw))


def is_exposition(text: str) -> bool:
    """Whether it has the form of the text that Prometheus scrapes from an exporter of NATS."""
    return bool(re.search(r"^(?:# (?:HELP|TYPE) )?(?:nats_|gnatsd_|jetstream_)\w+[ {]", text, re.MULTILINE))


def exposition_series(text: str, at: float) -> Iterator[MetricSeries]:
    """Every series in exposition text. `at` is when it was scraped: exporters of NATS write no times."""
    for line in text.splitlines()[:_MAX_LINES]:
        match = _LINE.match(line[:_MAX_LINE_LENGTH])
        if match is None:
            continue
        try:
            value = float(match[3])
        except ValueError:
            continue
        labels = {key: value[:_MAX_LABEL] for key, value in _LABEL.findall(match[2])}
        yield MetricSeries(match[1], labels, ((at, value),))
