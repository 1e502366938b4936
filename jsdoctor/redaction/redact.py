"""Taking secrets out of replies before they are kept: those that are known, those that show themselves, their copies.

A pattern of all known texts would take, on runs of one letter, the square of their length. So a pattern finds only the
places where a known text may begin, by its first bytes. There, short texts are looked up in a set. Of a long text,
`bytes.find` gives the next copy, and is called again only behind that copy: its time grows with the text alone.

First everything that is a secret by its place is learnt (the login in a URL, the value of a key named `password`), then
all copies of what is known are replaced, everywhere, by `[redacted:KIND]`; so is what has the shape of a secret: nkey
seeds, JWTs, PEM blocks. Replies stay valid JSON: only the text inside strings is touched. See docs/bundles.md.
"""

from __future__ import annotations

import base64
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import groupby
from typing import Protocol
from urllib.parse import quote, unquote

import msgspec

from jsdoctor.compiled_core import CompiledCore
from jsdoctor.model.exchange import Access, Endpoint, Exchange, Sample
from jsdoctor.model.gap import Gap
from jsdoctor.redaction.secret_forms import (
    BARE_LOGIN,
    LOGIN,
    SHAPES,
    SIGNS,
    WORDS,
    has_no_secret,
    may_name_a_secret_inside,
    without_issued,
    without_named,
)
from jsdoctor.replies.decoding import ReplyError, SystemEnvelope, decode
from jsdoctor.replies.opening import monitor_base
from jsdoctor.replies.user_jwt import redacted_jwt

MIN_KNOWN = 6
"""Shortest text that is searched for."""
_MAX_HASHED = 128


class Copies:
    """Finds copies of known texts of at least `MIN_KNOWN` bytes: from the left, at each place the longest."""

    def __init__(self, known: Iterable[bytes]) -> None:
        longest_first = sorted(set(known), key=lambda text: (-len(text), text))
        starts = {text[:MIN_KNOWN] for text in longest_first}
        self._start = re.compile(_pattern_of(starts)) if starts else None
        self._short = frozenset(text for text in longest_first if len(text) <= _MAX_HASHED)
        self._long: dict[bytes, list[bytes]] = defaultdict(list)
        lengths: dict[bytes, dict[int, None]] = defaultdict(dict)
        for text in longest_first:
            if len(text) > _MAX_HASHED:
                self._long[text[:_MAX_HASHED]].append(text)
            else:
                lengths[text[:MIN_KNOWN]][len(text)] = None
        self._lengths = {start: tuple(lengths_of_start) for start, lengths_of_start in lengths.items()}

    def spans(self, text: bytes) -> Iterator[tuple[int, int]]:
        """The spans of all copies in a text: the first byte, and the first byte after it."""
        if self._start is None:
            return
        upcoming: dict[bytes, int] = {}
        at = 0
        while match := self._start.search(text, at):
            start = match.start()
            if length := self._long_at(text, start, upcoming) or self._short_at(text, start, match[0]):
                yield start, start + length
            at = start + (length or 1)

    def are_in(self, text: bytes) -> bool:
        """Whether there is a copy in a text."""
        return next(self.spans(text), None) is not None

    def _short_at(self, text: bytes, at: int, start: bytes) -> int:
        """The length of the longest short copy at a place; 0 if there is none."""
        for length in self._lengths.get(start, ()):
            copy = text[at : at + length]
            if len(copy) == length and copy in self._short:
                return length
        return 0

    def _long_at(self, text: bytes, at: int, upcoming: dict[bytes, int]) -> int:
        """The length of the longest long copy at a place, or 0. `upcoming`: where the next copy of each text is."""
        for known in self._long.get(text[at : at + _MAX_HASHED], ()):
            if upcoming.get(known, -1) < at:
                position = text.find(known, at)
                upcoming[known] = position if position >= 0 else len(text)
            if upcoming[known] == at:
                return len(known)
        return 0


def _pattern_of(starts: Collection[bytes]) -> bytes:
    """A pattern for texts of one length. Common beginnings are shared, so it compares no byte twice."""
    branches = []
    for first, group in groupby(sorted(starts), key=lambda start: start[:1]):
        rests = [start[1:] for start in group]
        branches.append(re.escape(first) + (_pattern_of(rests) if rests[0] else b""))
    return branches[0] if len(branches) == 1 else b"(?:" + b"|".join(branches) + b")"


class _Words(Protocol):
    def are_absent(self, text: bytes, /) -> bool: ...


class _WordsCore(Protocol):
    def Words(self, exact: list[bytes], of_any_case: list[bytes], /) -> _Words: ...  # noqa: N802  # a class


_core = CompiledCore[_WordsCore]()


@cache
def secret_finder() -> Callable[[bytes], bool]:
    """`has_no_secret`, or a compiled function that does the same."""
    if _core.found is None:
        return has_no_secret
    words = _core.found.Words(list(SIGNS), list(WORDS))
    return lambda text: words.are_absent(text) and SHAPES["seed"].search(text) is None


MIN_GIVEN = MIN_KNOWN
"""Copies of a shorter password are not searched for: words that short are names of streams and accounts, too."""
_MIN_LEARNT = 8
_MIN_WORD = 16

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"(?P<key>\s*:)?', re.DOTALL)
# Outside of JSON, a string may have no end: each \" in it would begin another search up to the end of the text.
_ESCAPED = re.compile(rb'"[^"\\]*+\\.(?:[^"\\]++|\\.)*+(?:"|\\?\Z)(?P<key>\s*:)?', re.DOTALL)
_KEY_WORDS = tuple(b"pass pwd token secret seed credential jwt api_key apikey api-key private_key private-key".split())
_REST_OF_KEY = re.compile(rb'[^"\\]*+')
_VALUE_OF_KEY = re.compile(rb'"\s*+:\s*+("(?:[^"\\]++|\\.)++"|-?\d[\d.eE+-]*)', re.DOTALL)
_FIELD = re.compile(rb"[a-z_]+")
_NOT_ONLY_TEXT = re.compile(rb"[a-z_]+|[\s\d+\-.,:{}\[\]aeflnrstuE]+")
"""What may also be the name of a field, or stand outside of a string: numbers, true, false, null, brackets."""
_BESIDE_A_NAME = b"[redacted:key]"
_JWT_OF_A_FIELD = re.compile(rb'"eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"')
_WORD = re.compile(r"[a-z_.-]*")


class Secret(msgspec.Struct, frozen=True):
    """Something that must not be kept. `kind` is what stands in its place: password, token, jwt, seed, tls_key…"""

    kind: str
    text: str

    def __repr__(self) -> str:
        return f"Secret({self.kind})"


class Redacted(msgspec.Struct, frozen=True):
    """Samples without secrets, how many were removed, and the kinds of those too short to search for copies of."""

    samples: tuple[Sample, ...]
    counts: dict[str, int]
    too_short: tuple[str, ...] = ()
    texts: tuple[bytes, ...] = ()


def redact(samples: Sequence[Sample], known: Iterable[Secret] = (), texts: Iterable[bytes] = ()) -> Redacted:
    """Remove known and recognisable secrets from samples (replies, targets and gaps) and from texts with lines."""
    samples, shown = hide_shown_tokens(samples)
    given = [secret for secret in known if secret.text]
    long = [secret for secret in given if len(secret.text) >= MIN_GIVEN]
    learnt = [secret for sample in samples for exchange in sample.exchanges for secret in _learn(exchange.body)]
    learnt += [secret for text in _texts(samples) for secret in _learn(text)]
    scrubber = _Scrubber((*long, *(secret for secret in learnt if _is_searchable(secret.text))))
    clean = tuple(map(scrubber.lines, texts))
    return Redacted(
        samples=tuple(_scrubbed_sample(sample, scrubber) for sample in samples),
        texts=clean,
        counts=dict(sorted((+scrubber.counts + Counter(login=shown)).items())),
        too_short=tuple(sorted({secret.kind for secret in given if len(secret.text) < MIN_GIVEN})),
    )


def scrub_lines(texts: Sequence[str]) -> list[str]:
    """`scrub_line` of each text. All are searched at once first, as most have no secret."""
    if secret_finder()("\n".join(texts).encode(errors="surrogatepass")):
        return list(texts)
    return list(map(scrub_line, texts))


@lru_cache(maxsize=256)  # lines of several rows are often the same
def scrub_line(text: str) -> str:
    """Text without recognisable secrets: those with a form, logins in URLs, and values beside the name of a secret."""
    line = text.encode(errors="surrogatepass")
    return text if has_no_secret(line) else _shape_scrubber().line(line).decode(errors="surrogatepass")


@cache
def _shape_scrubber() -> _Scrubber:
    """A scrubber that knows secrets by their shapes alone. It is shared, so its counts mean nothing."""
    return _Scrubber(())


class _Scrubber:
    """Replaces secrets, and counts them by kind. A text that is given with several kinds has the first."""

    def __init__(self, secrets: Sequence[Secret]) -> None:
        self.counts: Counter[str] = Counter()
        self._kinds = {form: secret.kind for secret in reversed(secrets) for form in _forms(secret.text)}
        self._copies = Copies(self._kinds)
        self._verbatim = Copies(form for form in self._kinds if b'"' not in form and b"\\" not in form)
        self._ambiguous = Copies(form for form in self._kinds if _NOT_ONLY_TEXT.fullmatch(form))

    def body(self, body: bytes) -> bytes:
        """A reply without secrets: valid JSON if it was."""
        if not _is_json(body):
            return self.line(body)
        spans = _secret_values(body)
        body = _replaced(body, spans, [b'"' + self._value(body[start:end]) + b'"' for start, end in spans])
        if self._ambiguous.are_in(body) or may_name_a_secret_inside(body):
            return _STRING.sub(self._string, body)
        # Between strings with escapes, a secret can only be inside of strings, and unchanged.
        parts: list[bytes] = []
        end = 0
        for match in _ESCAPED.finditer(body):
            parts += [self.text(body[end : match.start()], self._verbatim), self._string(match)]
            end = match.end()
        return b"".join((*parts, self.text(body[end:], self._verbatim)))

    def text(self, text: bytes, copies: Copies | None = None) -> bytes:
        """A text without secrets. `copies`: which copies are replaced, by default those of all known texts."""
        if spans := list((copies or self._copies).spans(text)):
            text = _replaced(text, spans, [self._mark(self._kinds[text[start:end]]) for start, end in spans])
        for kind, shape in SHAPES.items():
            text = shape.sub(lambda _, kind=kind: self._mark(kind), text)  # type: ignore[misc]
        text, issued = without_issued(text, b"[redacted:token]")
        if issued:
            self.counts["token"] += issued
        text = re.sub(LOGIN, self._login, text)
        return re.sub(BARE_LOGIN, self._login, text) if b"@" in text else text

    def line(self, text: bytes) -> bytes:
        """Any text without secrets and without values beside the name of a secret."""
        text = self.text(text)
        clean = without_named(text, _BESIDE_A_NAME)
        self.counts["key"] += clean.count(_BESIDE_A_NAME) - text.count(_BESIDE_A_NAME)
        return clean

    def lines(self, text: bytes) -> bytes:
        """A text of lines without secrets. Each distinct line is searched once, but counts as often as it occurs."""
        lines = text.split(b"\n")
        clean = {line: self._repeated(line, times) for line, times in Counter(lines).items()}
        return b"\n".join(map(clean.__getitem__, lines))

    def _repeated(self, line: bytes, times: int) -> bytes:
        before = self.counts
        self.counts = Counter()
        clean = self.line(line)
        for kind, replaced in self.counts.items():
            before[kind] += replaced * times
        self.counts = before
        return clean

    def _mark(self, kind: str) -> bytes:
        self.counts[kind] += 1
        return f"[redacted:{kind}]".encode()

    def _value(self, value: bytes) -> bytes:
        """The replacement for the value of a secret's key. Of a user's JWT the account is kept."""
        if not _JWT_OF_A_FIELD.fullmatch(value):
            return self._mark("key")
        self.counts["jwt"] += 1
        return redacted_jwt(value[1:-1].decode()).encode()

    def _login(self, match: re.Match[bytes]) -> bytes:
        if b"[redacted:" in match[0]:
            return match[0]
        secret = _secret_of(match)
        return match[0].removesuffix(secret) + self._mark("url_login")

    def _string(self, match: re.Match[bytes]) -> bytes:
        colon = match["key"] or b""
        quoted = match[0].removesuffix(colon)
        if colon and _FIELD.fullmatch(quoted[1:-1]):
            return match[0]  # the name of a field, whatever the password is
        plain = _unescaped(quoted)
        clean = self.line(plain)
        if clean == plain:
            return match[0]
        return (b'"' + clean + b'"' if plain == quoted[1:-1] else _quoted(clean)) + colon


def _scrubbed_sample(sample: Sample, scrubber: _Scrubber) -> Sample:
    def clean(text: str) -> str:
        return scrubber.line(text.encode(errors="surrogatepass")).decode(errors="surrogatepass")

    def gap(raw: Gap) -> Gap:
        names = {name: clean(getattr(raw.subject, name)) for name in ("name", "account", "stream")}
        subject = msgspec.structs.replace(raw.subject, **names)
        reason, how_to_get = clean(raw.reason), clean(raw.how_to_get)
        return msgspec.structs.replace(raw, subject=subject, reason=reason, how_to_get=how_to_get)

    def exchange(raw: Exchange) -> Exchange:
        return msgspec.structs.replace(raw, target=clean(raw.target), body=scrubber.body(raw.body))

    return Sample(sample.taken_at, tuple(map(exchange, sample.exchanges)), tuple(map(gap, sample.gaps)))


def _texts(samples: Iterable[Sample]) -> Iterator[bytes]:
    for sample in samples:
        words = [exchange.target for exchange in sample.exchanges]
        words += [word for gap in sample.gaps for word in (gap.reason, gap.how_to_get)]
        yield "\n".join(words).encode(errors="surrogatepass")


def _learn(body: bytes) -> Iterator[Secret]:
    """Secrets by their place: behind the key of a secret, and before the @ of a URL."""
    for start, end in _secret_values(body):
        value = body[start:end]
        plain = _unescaped(value) if value.startswith(b'"') else value
        yield Secret("key", plain.decode(errors="replace"))
    for text in _with_urls(body):
        for match in re.finditer(LOGIN, text):
            login = _secret_of(match).decode(errors="replace")
            yield from (Secret("url_login", form) for form in {login, unquote(login)})


def _secret_of(match: re.Match[bytes]) -> bytes:
    groups = match.groupdict()
    return bytes(groups["secret"] or groups.get("secret_") or b"")


def _with_urls(body: bytes) -> Iterator[bytes]:
    if b"://" in body:
        yield body
    for match in _ESCAPED.finditer(body):
        plain = _unescaped(match[0].removesuffix(match["key"] or b""))
        if b"://" in plain:
            yield plain


def _secret_values(body: bytes) -> list[tuple[int, int]]:
    """The spans of the values whose key has the name of a secret, in order. Searching words first is fast."""
    lower = body.lower()
    spans: set[tuple[int, int]] = set()
    for word in _KEY_WORDS:
        at = lower.find(word)
        while at >= 0:
            end = _end_of_match(_REST_OF_KEY, body, at)
            if match := _VALUE_OF_KEY.match(body, end):
                spans.add(match.span(1))
            at = lower.find(word, end)  # of another such word in the same key, the value is the same
    return sorted(spans)


def _end_of_match(pattern: re.Pattern[bytes], body: bytes, at: int) -> int:
    match = pattern.match(body, at)
    return match.end() if match else at


def _replaced(text: bytes, spans: Sequence[tuple[int, int]], marks: Sequence[bytes]) -> bytes:
    """The text with each mark in place of what is at its span. Spans are in order and apart."""
    parts: list[bytes] = []
    end = 0
    for (start, after), mark in zip(spans, marks, strict=True):
        parts += (text[end:start], mark)
        end = after
    return b"".join((*parts, text[end:]))


def _is_searchable(text: str) -> bool:
    """Whether copies of a learnt secret are searched for. A short word of small letters, as `required`, is ordinary."""
    return len(text) >= _MIN_WORD or (len(text) >= _MIN_LEARNT and not _WORD.fullmatch(text))


def _forms(secret: str) -> Iterator[bytes]:
    """A secret as it is, as it stands in a URL, and in base64."""
    raw = secret.encode(errors="surrogatepass")
    yield from (raw, quote(secret, safe="", errors="replace").encode(), base64.b64encode(raw))


def _is_json(body: bytes) -> bool:
    try:
        msgspec.json.decode(body, type=msgspec.Raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _unescaped(quoted: bytes) -> bytes:
    """The text of a JSON string; if it is not valid, the bytes between its quotes."""
    if b"\\" not in quoted:
        return quoted[1:-1]
    try:
        return str(json.loads(quoted)).encode(errors="surrogatepass")
    except ValueError:
        return quoted[1:-1]


def _quoted(text: bytes) -> bytes:
    return json.dumps(text.decode(errors="surrogatepass"), ensure_ascii=True).encode()


# Tokens that servers show as the name of a user: before 2.11.2, CONNZ gives the token of a login by token there.
#
# Names and tokens cannot be distinguished there, so on those versions all of them are removed. Measured on 2.10.26;
# 2.11.2 shows none.

_FIXED_IN = (2, 11, 2)
_LISTS = (Endpoint.CONNZ, Endpoint.CONNZ_CLOSED)
_USER = re.compile(rb'("authorized_user"\s*:\s*)"(?:[^"\\]|\\.)*"')
_LOGIN_MARK = rb'\1"[redacted:login]"'
_NUMBERS = re.compile(r"(\d+)\.(\d+)\.(\d+)")


class _Version(msgspec.Struct, frozen=True):
    version: str = ""


def hide_shown_tokens(samples: Sequence[Sample]) -> tuple[tuple[Sample, ...], int]:
    """The samples without the users of connections to servers before 2.11.2, and how many were removed."""
    versions = _monitored_versions(samples)
    hidden = 0

    def clean(exchange: Exchange) -> Exchange:
        nonlocal hidden
        if exchange.endpoint not in _LISTS or _is_fixed(_version(exchange, versions)):
            return exchange
        body, count = _USER.subn(_LOGIN_MARK, exchange.body)
        hidden += count
        return msgspec.structs.replace(exchange, body=body)

    kept = tuple(msgspec.structs.replace(s, exchanges=tuple(map(clean, s.exchanges))) for s in samples)
    return kept, hidden


def _version(exchange: Exchange, monitored: dict[str, str]) -> str:
    if exchange.access is Access.MONITOR:
        return monitored.get(monitor_base(exchange.target), "")
    try:
        return decode(exchange.body, SystemEnvelope).server.ver
    except ReplyError:
        return ""


def _monitored_versions(samples: Iterable[Sample]) -> dict[str, str]:
    versions: dict[str, str] = {}
    for exchange in (exchange for sample in samples for exchange in sample.exchanges):
        if exchange.access is Access.MONITOR and exchange.endpoint is Endpoint.VARZ:
            try:
                versions.setdefault(monitor_base(exchange.target), decode(exchange.body, _Version).version)
            except ReplyError:
                continue
    return versions


def _is_fixed(version: str) -> bool:
    numbers = _NUMBERS.match(version)
    return numbers is not None and tuple(map(int, numbers.groups())) >= _FIXED_IN
