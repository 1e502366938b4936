"""Large replies are decoded when they arrive; their bodies are only kept where somebody wants them as they came."""

from __future__ import annotations

from collections.abc import Callable

from jsdoctor.engine.planner import CollectionPlan
from jsdoctor.model.exchange import Endpoint, Exchange
from jsdoctor.parse.jsz import read_consumers, read_jsz, read_streams
from jsdoctor.parse.replies import ReplyError

_LARGE: dict[Endpoint, Callable[[Exchange], object]] = {
    Endpoint.JSZ: read_jsz,
    Endpoint.JSZ_AGAIN: read_jsz,
    Endpoint.STREAM_LIST: read_streams,
    Endpoint.CONSUMER_LIST: read_consumers,
    Endpoint.CONSUMER_LIST_AGAIN: read_consumers,
}
"""They grow with streams and consumers: 61 MB of 100,000 consumers."""


def decoded(exchange: Exchange, plan: CollectionPlan) -> Exchange:
    """The exchange, without its body if that is decoded and not wanted. What cannot be read stays as it came."""
    if plan.keep_bodies or exchange.endpoint not in _LARGE:
        return exchange
    try:
        _LARGE[exchange.endpoint](exchange)
    except ReplyError:  # a gap where it is parsed
        return exchange
    return exchange.without_body()
