"""A server with Loki's HTTP API as its documentation and source have it, on loopback.

`query_range`: start inclusive, end exclusive, times as nanoseconds in text, at most `limit` lines of all streams
together, from the newest or the oldest on, streams with their labels. Lines of one time are in no reliable order, as a
real Loki exchanges them. A limit above `max_entries_limit_per_query` is refused with Loki's words. `series`: the
streams of a selector. `tests/loki/test_real.py` compares it with a real Loki.
"""

import json
import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit
from zlib import crc32

from tests.support import http_server
from tests.support.http_server import QuietHandler

Line = tuple[int, str]
Streams = dict[tuple[tuple[str, str], ...], list[Line]]
_MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"')


class Refused(Exception):  # noqa: N818
    """What Loki answers instead of lines."""

    def __init__(self, status: int, body: str, kind: str = "text/plain; charset=utf-8", **headers: str) -> None:
        super().__init__(status, body)
        self.status, self.body, self.kind, self.headers = status, body, kind, headers


@dataclass
class DocumentedLoki:
    """The lines, and what was requested. `before` is called with each request and may raise Refused."""

    streams: Streams = field(default_factory=dict)
    metadata: dict[tuple[tuple[tuple[str, str], ...], Line], dict[str, str]] = field(default_factory=dict)
    max_entries: int = 5_000
    warnings: tuple[str, ...] = ()
    before: Callable[[int, str, Mapping[str, str]], None] = lambda *_: None
    requests: list[tuple[str, dict[str, str], dict[str, str]]] = field(default_factory=list)

    def push(self, labels: Mapping[str, str], lines: list[Line], metadata: Mapping[str, str] | None = None) -> None:
        """Store lines. One that is there with the same time and text is dropped, as Loki does."""
        for line in lines if metadata else ():
            self.metadata[tuple(sorted(labels.items())), line] = dict(metadata or {})
        stream = self.streams.setdefault(tuple(sorted(labels.items())), [])
        stream += [line for line in dict.fromkeys(lines) if line not in stream]

    def reply(self, path: str, form: dict[str, str], headers: dict[str, str]) -> object:
        """The reply to one request."""
        self.requests.append((path, form, headers))
        self.before(len(self.requests), path, form)
        if path == "/loki/api/v1/series":
            return {"status": "success", "data": [dict(labels) for labels in self._selected(form["match[]"])]}
        if path != "/loki/api/v1/query_range":
            raise Refused(404, "404 page not found\n")
        limit = int(form.get("limit", "100"))
        if limit > self.max_entries:
            words = "max entries limit per query exceeded, limit > max_entries_limit_per_query"
            raise Refused(400, f"{words} ({limit} > {self.max_entries})")
        start, end = int(form["start"]), int(form["end"])
        backward = form.get("direction", "backward") == "backward"
        entries = [
            (at, labels, line)
            for labels in self._selected(form["query"])
            for at, line in self.streams[labels]
            if start <= at < end
        ]
        entries.sort(key=lambda entry: (entry[0], entry[1], crc32(entry[2].encode())), reverse=backward)
        result: dict[tuple[tuple[str, str], ...], list[list[object]]] = {}
        categorized = headers.get("x-loki-response-encoding-flags") == "categorize-labels"
        for at, labels, line in entries[:limit]:
            beside = {"structuredMetadata": self.metadata.get((labels, (at, line)), {})}
            result.setdefault(labels, []).append([str(at), line, *([beside] if categorized else [])])
        streams = [{"stream": dict(labels), "values": values} for labels, values in result.items()]
        data = {"resultType": "streams", "result": streams, "stats": {}}
        return {"status": "success", "data": data} | ({"warnings": list(self.warnings)} if self.warnings else {})

    def _selected(self, query: str) -> list[tuple[tuple[str, str], ...]]:
        selector = query.partition("}")[0]
        if not query.startswith("{") or not (matchers := _MATCHER.findall(selector)):
            raise Refused(400, "parse error at line 1, col 1: syntax error: unexpected IDENTIFIER")
        return [labels for labels in self.streams if all(_fits(dict(labels), matcher) for matcher in matchers)]


def _fits(labels: Mapping[str, str], matcher: tuple[str, str, str]) -> bool:
    name, operator, quoted = matcher
    value, wanted = labels.get(name, ""), json.loads(f'"{quoted}"')
    matched = bool(re.fullmatch(wanted, value)) if "~" in operator else value == wanted
    return matched != operator.startswith("!")


@contextmanager
def serving(loki: DocumentedLoki, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """The URL of the server while the context lasts."""

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            form = {name: values[0] for name, values in parse_qs(parts.query).items()}
            more: dict[str, str] = {}
            try:
                headers = {name.lower(): value for name, value in self.headers.items()}
                status, kind = 200, "application/json; charset=UTF-8"
                content = json.dumps(loki.reply(parts.path, form, headers)).encode()
            except Refused as refused:
                status, kind, content, more = refused.status, refused.kind, refused.body.encode(), refused.headers
            self.respond(status, content, Content_Type=kind, **more)

    with http_server.serving(Handler, tls=tls) as port:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{port}"
