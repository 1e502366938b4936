"""Which signatures a message has, and what they capture; and whether a signature finds its own examples."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple

import re2

from jsdoctor.logs.lines.builtin import AGGREGATED, BUILTIN, FALLBACKS, FATAL, MARKED, PANIC, searched
from jsdoctor.logs.lines.line import LITERALS, read_line
from jsdoctor.logs.lines.stamp import ANY_YEAR
from jsdoctor.model.duration import parse_duration
from jsdoctor.model.log import SUBJECT_FIELDS
from jsdoctor.model.rule import LineOrigin, Signature

_SHORT_BYTES = 512
"""Texts up to this length are matched by Python's re: faster there, and too short to blow up."""


Finder = Callable[[int, int], int]
"""From and to which offset of a block to look for a literal; where it begins, or -1."""

Search = Callable[[bytes, int], int]
"""A block, and from where to look for one literal in it; where it begins, or -1."""


def single_search(literal: bytes) -> Search:
    """Searches for one literal: RE2 looks for its first and last byte at once, faster than `bytes.find`."""
    search = re2.compile(re.escape(literal), _options()).search
    return lambda block, position: _start(search(block, position))


def _options() -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = 64 << 20
    return options


class LiteralSearch:
    """Finds literals in bytes. Each of its two searches is compiled at first use: a small log needs one, or none."""

    def __init__(self, literals: Sequence[bytes]) -> None:
        self._escaped = [re.escape(literal) for literal in literals]

    @cached_property
    def _any(self) -> Any:
        return re2.compile(b"|".join(self._escaped), _options())

    @cached_property
    def _set(self) -> Any:
        literals = re2.Set.SearchSet(_options())
        for literal in self._escaped:
            literals.Add(literal)
        literals.Compile()
        return literals

    def finder(self, block: bytes) -> Finder:
        """Finds the first literal that stands in a range of the block."""
        inner = getattr(self._any, "_regexp", None)
        if inner is None:  # another version of the wrapper: slower, and as right
            return lambda position, end: _start(self._any.search(block, position, end))
        match, anywhere = inner.Match, re2._re2.RE2.Anchor.UNANCHORED  # noqa: SLF001
        return lambda position, end: match(anywhere, block, position, end)[0][0]

    def present(self, text: bytes) -> Sequence[int]:
        """Which literals stand in this text, by number, ascending."""
        return sorted(self._set.Match(text) or ())


def first_in_lines(block: bytes, search: Search) -> Iterator[int]:
    """Where a literal stands in a block: for each line that has it, or begins with it, the first place."""
    at = search(block, 0)
    while at >= 0:
        yield at
        line_end = block.find(b"\n", at + 1)
        at = search(block, line_end) if line_end >= 0 else -1


def _start(result: Any) -> int:
    return -1 if result is None else int(result.start())


class Pattern:
    """A portable pattern over bytes. Texts longer than `short` go to RE2, whose time is linear.

    It is compiled at first use: most logs have lines of few signatures.
    """

    def __init__(self, pattern: str, short: int = _SHORT_BYTES) -> None:
        self._raw = pattern.encode()
        self._short = short

    def groups(self, text: bytes) -> tuple[bytes | None, ...] | None:
        """The groups of the first match, or None."""
        match = (self._quick if len(text) <= self._short else self._linear).search(text)
        return None if match is None else tuple(match.groups())

    def begins(self, text: bytes, within: int = 0) -> bool:
        """Whether the first match begins in the first bytes of the text: not behind `within`."""
        match = (self._quick if len(text) <= self._short else self._linear).search(text)
        return match is not None and int(match.start()) <= within

    @cached_property
    def _quick(self) -> re.Pattern[bytes]:
        return re.compile(self._raw)

    @cached_property
    def _linear(self) -> Any:
        return re2.compile(self._raw, _options())


def why_not_portable(pattern: str) -> str | None:
    """Why a pattern is not portable (Python's re and RE2 must both take it), or None when it is."""
    try:
        re.compile(pattern.encode())
    except re.error as error:
        return f"Python's re refuses it: {error}"
    if re.search(r"\(\?(?!:)", pattern):
        return "only (?:...) groups are portable: no flags, names, lookaround"
    if re.search(r"\\[1-9ZGkRXKupP<>\"]", pattern):
        return "it uses an escape that RE2 or Rust's regex refuse"
    try:
        re2.compile(pattern.encode(), _options())
    except re2.error as error:
        return f"RE2 refuses it: {error}"
    return None


def group_count(pattern: str) -> int:
    """How many groups a pattern has."""
    return re.compile(pattern.encode()).groups


TEXT_CAP = 2048
"""Maximum number of bytes of a message that patterns are applied to."""

VALUE_CAP = 256
_MEMO_BYTES = 8 << 20
_ENTRY_BYTES = 400  # estimated memory of a remembered text beside its bytes
_SUBJECT = frozenset(SUBJECT_FIELDS)
_LOUD = ("INF", "WRN", "ERR", "FTL")
_QUIET = frozenset(("DBG", "TRC"))
_LEVEL = re.compile(rb"(?:\x1b\[[\d;]*m)?(INF|WRN|ERR|FTL|DBG|TRC)(?:\x1b\[0m)?\] ?")
_BEGINS = re.compile(r"\^([A-Za-z ]{7})[A-Za-z ]")  # a quantifier may follow the last one
_DISTINCT_LENGTH = 16  # a literal of this length is not in other texts by chance
_UNSPECIFIC = frozenset((FATAL, PANIC))
"""Signatures that every line of their kind has: another signature is needed to know its subject."""
_CONNECTION = re.compile(rb"[\w.:\[\]-]+ - (?:cid|rid|gid|lid|wid|mid|jid):\S+ - ")
_NUMBERS = re.compile(r"\d+")
_WHOLE = re.compile(r"-?\d{1,18}|\d{1,3}(?:,\d{3}){1,5}", re.ASCII)
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?(B|KB|MB|GB|TB|KiB|MiB|GiB|TiB)", re.ASCII)
_SCALE = {"B": 0, "K": 1, "M": 2, "G": 3, "T": 4}

Fields = tuple[tuple[str, str], ...]


class Match(NamedTuple):
    """One signature found in a message: the fields that identify its subject, all others, and numbers.

    `number` is the same for the same signature and subject, as long as the matcher remembers them. `marked` lines go to
    aggregation one by one, `counted` ones by their number.
    """

    number: int
    signature: Signature
    marked: bool
    counted: bool
    subject: Fields
    others: Fields
    measures: tuple[tuple[str, int], ...]


class LineMatch(NamedTuple):
    """What a server's line contains: its level and the signatures it has."""

    level: str
    matches: tuple[Match, ...]


class Matcher:
    """All signatures of an audit, ready to search. The same message always gives the same result."""

    def __init__(self, signatures: Iterable[Signature]) -> None:
        self.signatures = (*BUILTIN, *signatures)
        literals = list(dict.fromkeys(signature.contains for signature in self.signatures))
        self._by_literal: dict[int, list[tuple[Signature, Pattern]]] = {number: [] for number in range(len(literals))}
        numbers = {literal: number for number, literal in enumerate(literals)}
        for signature in self.signatures:
            self._by_literal[numbers[signature.contains]].append((signature, Pattern(signature.pattern)))
        self._fatal = [(s, pattern) for s, pattern in self._by_literal[numbers["[FTL]"]] if s.name == FATAL]
        self.literals = tuple(literal.encode() for literal in literals)
        self._fallbacks = [(signature, Pattern(signature.pattern)) for signature in FALLBACKS]
        self.searched = (
            *searched(self.literals),
            *searched(dict.fromkeys(signature.contains.encode() for signature in FALLBACKS)),
            *LITERALS,
        )
        """What to look for in blocks."""
        self._search = LiteralSearch(self.literals)
        self._lines = LiteralSearch(self.searched)
        quiet_signatures = [signature for signature in self.signatures if _QUIET & {*signature.levels}]
        self.quiet_literals = tuple(
            dict.fromkeys(signature.contains.encode() for signature in quiet_signatures if not _opening(signature))
        )
        self.quiet = tuple(single_search(literal) for literal in self.quiet_literals)
        """Searches for literals that count in a server's DBG and TRC. No other does: those quote what clients send."""
        self.openings = tuple(dict.fromkeys(filter(None, map(_opening, quiet_signatures))))
        """How messages of other signatures of these levels begin: the space before them and seven bytes."""
        self._memo: dict[tuple[bool, str, bytes], tuple[Match, ...]] = {}
        self._memo_bytes = 0
        self.known: dict[bytes, LineMatch] = {}
        """The results of `match_native`, by text."""
        self._subjects: dict[tuple[str, Fields], int] = {}
        self._numbers = count()

    def ordered(self) -> list[Signature]:
        """All signatures in the order in which a message gets them."""
        return [signature for pairs in self._by_literal.values() for signature, _ in pairs]

    def finder(self, block: bytes) -> Finder:
        """Finds literals of signatures and section headers in a block."""
        return self._lines.finder(block)

    def match_native(self, text: bytes) -> LineMatch | None:
        """Every signature in a server's line, from its level on (`INF] text`); None when that is no level."""
        level = _LEVEL.match(text)
        if level is None:
            return None
        message = text[level.end() :][:TEXT_CAP].rstrip(b"\r")
        name = level[1].decode()
        line_match = LineMatch(name, tuple(self._matches(True, name, message)))
        self._remember(len(text))
        self.known[text] = line_match
        return line_match

    def match(self, server: bool, level: str, text: bytes) -> tuple[Match, ...]:
        """Every signature in a message. `server`: a nats-server logged it; `level` as it wrote it, or empty."""
        text = text[:TEXT_CAP]
        key = (server, level, text)
        known = self._memo.get(key)
        if known is None:
            known = tuple(self._matches(server, level, text))
            self._remember(len(text))
            self._memo[key] = known
        return known

    def holds_literal(self, text: bytes) -> bool:
        """Whether the words of any signature stand anywhere in a text. Without them, nothing matches it."""
        return bool(self._search.present(text))

    def opening(self, text: bytes) -> bool:
        """Whether a message begins as one of a server's does, so that it needs no header to be known as one."""
        text = text[:TEXT_CAP]
        connection = _CONNECTION.match(text)
        # A pattern may begin with the connection, within it, or behind it.
        texts = ((text, connection.end()), (text[connection.end() :], 0)) if connection else ((text, 0),)
        return any(
            signature.source is LineOrigin.SERVER
            and signature.name != FATAL
            and any(pattern.begins(raw, within) for raw, within in texts)
            for number in self._search.present(text)
            for signature, pattern in self._by_literal[number]
        )

    def quoted(self, text: bytes) -> bool:
        """Whether words that only a server writes stand anywhere in a text."""
        return any(
            signature.source is LineOrigin.SERVER
            and len(signature.contains) >= _DISTINCT_LENGTH
            and signature.name not in MARKED
            for number in self._search.present(text[:TEXT_CAP])
            for signature, _ in self._by_literal[number]
        )

    def _remember(self, size: int) -> None:
        """Account for one more text. When there are too many, all are forgotten: lines repeat within a few thousand."""
        self._memo_bytes += size + _ENTRY_BYTES
        if self._memo_bytes > _MEMO_BYTES:
            self._memo.clear()
            self.known.clear()
            self._subjects.clear()
            self._memo_bytes = size + _ENTRY_BYTES

    def _matches(self, server: bool, level: str, text: bytes) -> Iterator[Match]:
        known = (pair for number in self._search.present(text) for pair in self._by_literal[number])
        pairs = [(signature, pattern) for signature, pattern in known if signature.name != FATAL]
        if level == "FTL":
            pairs.extend(self._fatal)
        found = list(self._captured(pairs, server, level, text))
        if not any(match.signature.name not in _UNSPECIFIC for match in found):
            # The words of a server in a form that is not known are no error of a client: see `quoted`.
            unknown = [] if not server and self.quoted(text) else self._fallbacks
            fallbacks = [(s, pattern) for s, pattern in unknown if server or s.contains.encode() in text]
            found += list(self._captured(fallbacks, server, level, text))[:1]
        return iter(found)

    def _captured(
        self, pairs: Iterable[tuple[Signature, Pattern]], server: bool, level: str, text: bytes
    ) -> Iterator[Match]:
        for signature, pattern in pairs:
            groups = pattern.groups(text) if wants(signature, server, level) else None
            if groups is not None:
                values = [(group or b"")[:VALUE_CAP].decode(errors="replace") for group in groups]
                subject, others, measures = captured(signature, values)
                known = (signature.name, subject)
                number = self._subjects.get(known)
                if number is None:
                    number = self._subjects[known] = next(self._numbers)
                name = signature.name
                counted = name not in MARKED or name in AGGREGATED
                yield Match(number, signature, name in MARKED, counted, subject, others, measures)


def _opening(signature: Signature) -> bytes:
    """How each line of a signature begins, in eight bytes with the space before it; empty when that is not fixed."""
    match = _BEGINS.match(signature.pattern)
    return b" " + match[1].encode() if match else b""


def wants(signature: Signature, server: bool, level: str) -> bool:
    """Whether a line of this origin and level may carry the signature."""
    if signature.source is LineOrigin.SERVER and not server:
        return False
    if signature.source is LineOrigin.CLIENT and server:
        return False
    return not server or not level or level in (signature.levels or _LOUD)


def captured(signature: Signature, values: Sequence[str]) -> tuple[Fields, Fields, tuple[tuple[str, int], ...]]:
    """The values of a signature's groups: fields of the subject, the others, and those that are numbers."""
    subject, others, measures = [], [], []
    for field, value in zip(signature.fields, values, strict=False):
        if field in _SUBJECT:
            subject.append((field, _NUMBERS.sub("N", value) if field == "reason" else value))
        if field not in _SUBJECT or field == "reason":
            others.append((field, value))
        number = None if field in _SUBJECT else measured(value)
        if number is not None:
            measures.append((field, number))
    return tuple(subject), tuple(others), tuple(measures)


def measured(value: str) -> int | None:
    """A whole number, a duration in nanoseconds or a size in bytes; None for anything else."""
    if not value[:1].isdigit() and value[:1] != "-":
        return None
    if _WHOLE.fullmatch(value):
        return int(value.replace(",", ""))
    size = _SIZE.fullmatch(value)
    if size:
        return round(float(size[1]) * float(1024 ** _SCALE[size[2][0]]))
    try:
        duration = parse_duration(value)
    except ValueError:
        return None
    return duration if duration < 2**62 else None


def signature_problems(signature: Signature) -> Iterator[str]:
    """Everything wrong with a signature that shows only when it is run."""
    reason = why_not_portable(signature.pattern)
    if reason is not None:
        yield f"signature {signature.name!r}: its pattern is not portable: {reason}"
        return
    groups = group_count(signature.pattern)
    if groups != len(signature.fields):
        yield f"signature {signature.name!r} has {groups} groups and {len(signature.fields)} fields"
    for example in signature.examples:
        problem = _example_problem(signature, example.encode())
        if problem:
            yield f"signature {signature.name!r}: {problem}: {example[:100]}"


def _example_problem(signature: Signature, example: bytes) -> str:
    line = read_line(example, ANY_YEAR)
    text = line.text[:TEXT_CAP]
    if not wants(signature, line.server, line.level):
        who = "a server's" if line.server else "not a server's"
        return f"its source and levels leave out this example, which is {who} line of level {line.level or 'none'}"
    if signature.contains.encode() not in text:
        return f"this example does not contain {signature.contains!r}"
    groups = Pattern(signature.pattern, short=len(text)).groups(text)
    if groups is None:
        return "its pattern does not match this example"
    if Pattern(signature.pattern, short=-1).groups(text) != groups:
        return "Python's re and RE2 read this example differently"
    return ""
