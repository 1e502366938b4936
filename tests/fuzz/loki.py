"""Mutated replies and queries of Loki."""

import json

from jsdoctor.logs.loki import as_text, in_order, log_page, parse_log_query
from jsdoctor.sources.loki.servers import lifted_labels, named_streams

_LABELS = {"app": "nats", "pod": "nats-0", "level": "info"}
_LINE = "[7] 2026/11/21 10:00:00.000000 [WRN] JetStream cluster stream 'APP > ORDERS' has NO quorum, stalled"
_LAST_NS = 4_000_000_000_000_000_000


def replies() -> list[bytes]:
    """Replies of `query_range`, with and without what lines have beside them."""
    values = [["1795255200000000000", _LINE], ["1795255200000000001", "x", {"structuredMetadata": {"pod": "n1"}}]]
    result = [{"stream": _LABELS, "values": values}, {"stream": {}, "values": []}]
    data = {"resultType": "streams", "result": result, "stats": {}}
    whole = {"status": "success", "warnings": ["x"], "data": data}
    return [json.dumps(reply).encode() for reply in (whole, {**whole, "data": {**data, "result": None}})]


def queries() -> list[bytes]:
    """LogQL that selects lines."""
    return [b'{app="nats", pod=~"nats-.+"} | json | line_format "{{.log}}" |= `x`', b'{a="}"} | drop x, y="z"']


def check_reply(content: bytes) -> None:
    """Lines belong to streams, and can be named, ordered and written."""
    page = log_page(content, lifted_labels(["trace"]))
    names = named_streams(dict.fromkeys(page.streams, (0, 1))).names
    assert all(names[page.streams[entry.stream]] for entry in page.entries)
    inside = [entry for entry in page.entries if 0 <= entry.at_ns < _LAST_NS]
    assert sorted(in_order(inside)) == sorted(inside)
    assert all(as_text(entry, with_time=True).endswith(b"\n") for entry in inside)


def check_query(content: bytes) -> None:
    """What is read is what Loki is given."""
    text = content.decode(errors="replace")
    assert parse_log_query(text).text == text.strip()
