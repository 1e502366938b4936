"""From a pasted or exported text to the lines that servers wrote, oldest first."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from typing import Any

import msgspec

from jsdoctor.logs.lines.builtin import SHOWN
from jsdoctor.logs.lines.line import LINE_CAP, STAMPED, UNSTAMPED, LogLine, read_line
from jsdoctor.logs.lines.matcher import Matcher
from jsdoctor.logs.lines.stamp import LogYear
from jsdoctor.logs.paste.dressing import begins_with_time, plain, undressed
from jsdoctor.model.log import DATED_US

REWRITTEN_BYTES = 32 << 20
"""Maximum size of a file that is rewritten, which takes all of it into memory; a larger one is no paste."""

HEAD_BYTES = 16 << 10
"""Number of first bytes that decide whether a file is an ordinary log."""

_ORDINARY = re.compile(rb"^(?:\[\d{1,10}\] )?(\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{6}) \[", re.MULTILINE)
_ORDINARY_SHARE = 0.9
_DRESSED = (b"\xe2\x80\x98", b"\xe2\x80\x99", b"\xe2\x80\x9c", b"\xc2\xa0", b"&gt;", b"&quot;", b"&#", b" <-")
"""Typographic quotes, HTML and notes: no server writes these (traces have `<<-`)."""


def is_ordinary(head: bytes) -> bool:
    """Whether these first bytes are of a server's log as it was written: most lines have its header, oldest first."""
    stamps: list[bytes] = _ORDINARY.findall(head)
    lines = sum(map(bool, map(bytes.strip, head.split(b"\n"))))
    if len(stamps) < _ORDINARY_SHARE * lines or not stamps or any(sign in head for sign in _DRESSED):
        return False
    return stamps[0] <= stamps[-1] or sum(a > b for a, b in pairwise(stamps)) * 2 < len(stamps)


REWRITTEN_LINES = 250_000
"""Maximum number of lines of a text that is rewritten."""

_SERVER_TEXT = re.compile(r"\[(?:\x1b\[[\d;]*m)?(?:INF|WRN|ERR|FTL|DBG|TRC)|nats-server")
_MAX_VAIN = 5_000
"""After this many lines with server text in an unknown form, at most as many more as were readable are tried."""

_CONTEXT_CHARACTERS = 64 << 10
"""Number of first characters that are read in context to classify a text; the rest is read line by line."""

_MAX_FRUITLESS_JOINS = 2_000
"""After this many lines whose continuation made no known message, at most as many more as did are joined."""

_FENCE = re.compile(r"\s*(?:```|~~~)\s*\w*\s*$")
_MAX_LINE = 4096
_WRAPPED_LINES = 4
_MIN_WRAPPED = 30


class Rewriter:
    """Rewrites texts. `matcher` decides which messages are known."""

    def __init__(self, matcher: Matcher, year: LogYear) -> None:
        self._matcher, self._year = matcher, year
        self._knows = lru_cache(maxsize=4096)(self._is_known)
        self._readable = self._fruitless = 0
        self._joined = self._fruitless_joins = 0

    def lines(self, head: bytes, whole: Callable[[], bytes]) -> bytes | None:
        """See `rewritten`. `head` are the first `HEAD_BYTES`, `whole` reads all.

        For a large text the first lines decide, as rewriting takes far longer than a scan; unless they begin one
        document, which may be a single line.
        """
        if not head or is_ordinary(head):
            return None
        if len(head) >= HEAD_BYTES and self.rewritten(head[: head.rfind(b"\n") + 1]) is None:
            text = head.decode(errors="replace")
            decides = not is_document(text) or one_record_a_line(text.split("\n")[:-1])
            if decides:
                return None
        data = whole()
        return None if len(data) > REWRITTEN_BYTES else self.rewritten(data)

    def rewritten(self, data: bytes) -> bytes | None:
        """The lines of a text as servers wrote them; None when it is better read as it is."""
        if data.count(b"\n") > REWRITTEN_LINES:
            return None
        changed = "\n".join(self.lines_of(data.decode(errors="replace"))).encode(errors="replace") + b"\n"
        return None if changed.rstrip() == data.rstrip() else changed

    def lines_of(self, text: str) -> list[str]:
        """The lines of a text as servers wrote them, oldest first. A line that is not known stays as it is."""
        given = [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")]
        self._readable = self._fruitless = 0
        self._joined = self._fruitless_joins = 0
        lines = given if one_record_a_line(given) else None
        lines = lines or document_lines(text) or table_lines(text) or self._pasted(given)
        return oldest_first(lines, self._time) or lines

    def is_log(self, text: str) -> bool:
        """Whether there is a line of a server in a text, or a message that some signature knows, in whatever form."""
        if self._any_known(self.lines_of(text[:_CONTEXT_CHARACTERS])):
            return True
        rest = text[_CONTEXT_CHARACTERS:]
        if not (_SERVER_TEXT.search(rest) or self._has_words(rest)):
            return False
        candidates = (
            line for line in rest.splitlines() if _SERVER_TEXT.search(line, 0, _MAX_LINE) or self._has_words(line)
        )
        return self._any_known(self._undressed(plain(line)) for line in islice(candidates, _MAX_VAIN))

    def _any_known(self, lines: Iterable[str]) -> bool:
        for line in lines:
            read = self._parse(line)
            if read.server or any(self._is_known_to_rules(server, "", read.text) for server in (True, False)):
                return True
        return False

    def _parse(self, line: str) -> LogLine:
        return read_line(line[:_MAX_LINE].encode(errors="replace"), self._year)

    def _is_known(self, line: str) -> bool:
        read = self._parse(line)
        return read.server or bool(self._matcher.opening(read.text))

    def _time(self, line: str) -> int | None:
        us = self._parse(line).us
        return None if us is None or us < DATED_US else us

    def _pasted(self, lines: Sequence[str]) -> list[str]:
        """Each line without what is around it; the pieces of a wrapped one joined, and an empty line for each piece."""
        clean = ["" if _FENCE.match(line) else self._undressed(plain(line)) for line in lines]
        at = 0
        while at < len(clean):
            at += self._join(clean, lines, at)
        return clean

    def _undressed(self, line: str) -> str:
        """See `undressed`. Lines without any known word stay as they are: in many texts these are most lines."""
        front = line[:LINE_CAP]
        if self._fruitless > _MAX_VAIN + self._readable or not (_SERVER_TEXT.search(front) or self._has_words(front)):
            return line
        bare = undressed(front, self._year, self._knows)
        if not self._knows(bare):
            self._fruitless += 1
            return line
        self._readable += 1
        # A long line stays whole unless something was removed.
        return bare if len(line) <= LINE_CAP or bare != front else line

    def _has_words(self, line: str) -> bool:
        return self._matcher.holds_literal(line.encode(errors="replace"))

    def _join(self, clean: list[str], lines: Sequence[str], at: int) -> int:
        """Join a line with those that continue it, if that makes a known message. Returns the number of lines used."""
        first = clean[at]
        known = self._knows(first) or begins_with_time(first, self._year)
        if len(first) < _MIN_WRAPPED or not known or self._matches_rule(first):
            return 1
        if self._fruitless_joins > _MAX_FRUITLESS_JOINS + self._joined:
            return 1
        for spaced in (False, True):
            text = plain(lines[at])
            following = map(plain, lines[at : at + _WRAPPED_LINES])
            if not self._has_words(" ".join(map(str.strip, following)) if spaced else "".join(following)):
                continue
            for count in range(1, _WRAPPED_LINES):
                if at + count >= len(lines) or not lines[at + count].strip() or self._begins_line(clean[at + count]):
                    break
                more = plain(lines[at + count])
                text = f"{text.rstrip()} {more.strip()}" if spaced else text + more
                message = self._undressed(text)
                if self._matches_rule(message):
                    clean[at] = message
                    clean[at + 1 : at + count + 1] = [""] * count
                    self._joined += 1
                    return count + 1
        self._fruitless_joins += 1
        return 1

    def _matches_rule(self, line: str) -> bool:
        """Whether a rule knows the message of a line."""
        read = self._parse(line)
        return self._is_known_to_rules(True, read.level, read.text)

    def _is_known_to_rules(self, server: bool, level: str, text: bytes) -> bool:
        """Whether a rule has a signature for a message. `SHOWN` ones do not count: they match any message."""
        return any(match.signature.name not in SHOWN for match in self._matcher.match(server, level, text))

    def _begins_line(self, line: str) -> bool:
        read = self._parse(line)
        return read.server or read.us is not None


_MIN_TIMES = 3
_SAMPLE = 4000
"""Number of first lines from which the order is taken: reading the time of each line of a large export takes long."""

_FALLING_SHARE = 0.8


def oldest_first(lines: Sequence[str], time_of: Callable[[str], int | None]) -> list[str] | None:
    """The lines in the order in which they were written, or None when they are in it already.

    A line without a time stays behind the one that it follows.
    """
    times = [time_of(line) for line in lines[:_SAMPLE]]
    known = [us for us in times if us is not None]
    falls = sum(later < earlier for earlier, later in pairwise(known))
    rises = sum(later > earlier for earlier, later in pairwise(known))
    if len(known) < _MIN_TIMES or falls < _FALLING_SHARE * (falls + rises) or falls < _MIN_TIMES - 1:
        return None
    times.extend(map(time_of, lines[_SAMPLE:]))
    groups: list[list[str]] = [[]]
    for line, us in zip(lines, times, strict=True):
        if us is not None and groups[-1]:
            groups.append([])
        groups[-1].append(line)
    return [line for group in reversed(groups) for line in group]


_COLUMNS = re.compile(
    r"(?i)(@?timestamp|_?time|date|datetime|timegenerated.*|@?message|_raw|line|log|logentry|textpayload|body|content"
    r"|event|host|pod|level|severity|source|service|labels?|stream|tsns|id|_source|container.*|@?log.*|k8s.*|kubernetes.*)"
)
_RULE = re.compile(r"[\s|+\-=:│┌┐└┘├┤┬┴┼─═╭╮╰╯╪╡╞]+")
_MARKDOWN_RULE = re.compile(r"\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)+")
_MAX_CELL = 1 << 20


def table_lines(text: str) -> list[str] | None:
    """One JSON object a line for each row of a table; None when the text is none."""
    return _csv_lines(text) or _drawn_lines(text) or _markdown_lines(text)


def _csv_lines(text: str) -> list[str] | None:
    first, _, rest = text.lstrip("\ufeff").partition("\n")
    for delimiter in (",", "\t", ";"):
        names = next(iter(_csv_rows(first, delimiter)), [])
        if len(names) < 2 or not all(_COLUMNS.fullmatch(name.strip()) for name in names):
            continue
        return [_json_row(names, cells) for cells in _csv_rows(rest, delimiter) if any(cells)] or None
    cells = next(iter(_csv_rows(first, ",")), [])
    if len(cells) > 1 and first.lstrip().startswith('"') and any(_has_header(cell) for cell in cells):
        return [_json_row([], row) for row in _csv_rows(text, ",") if any(row)]
    return None


def _csv_rows(text: str, delimiter: str) -> Iterator[list[str]]:
    csv.field_size_limit(_MAX_CELL)
    try:
        yield from csv.reader(io.StringIO(text.replace("\0", "")), delimiter=delimiter)
    except csv.Error:
        return


def _drawn_lines(text: str) -> list[str] | None:
    """Rows between bars: `| time | message |`, or of box drawing. A cell that goes on in the next row is joined."""
    lines = text.splitlines()
    drawn = [line for line in lines if _is_row(line)]
    if len(drawn) < 2 or len(drawn) * 2 < sum(bool(line.strip()) for line in lines):
        return None
    rows = [_cells(line) for line in drawn if not _RULE.fullmatch(line)]
    names = rows[0] if rows and all(_COLUMNS.fullmatch(cell) for cell in rows[0] if cell) else []
    result: list[list[str]] = []
    for cells in rows[bool(names) :]:
        if result and len(cells) == len(result[-1]) and not cells[0] and any(cells):
            result[-1] = [f"{item} {more}".strip() for item, more in zip(result[-1], cells, strict=True)]
        else:
            result.append(cells)
    return [_json_row(names, cells) for cells in result] or None


def _markdown_lines(text: str) -> list[str] | None:
    """Rows of a Markdown table without bars at its sides: a line of names, `-- | --`, and one line for each row."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 3 or not _MARKDOWN_RULE.fullmatch(lines[1]):
        return None
    columns = lines[1].count("|") + 1
    rows = [[cell.strip() for cell in line.split("|", columns - 1)] for line in (lines[0], *lines[2:])]
    if any(len(row) != columns for row in rows):
        return None
    names = rows[0] if all(_COLUMNS.fullmatch(cell) for cell in rows[0]) else []
    return [_json_row(names, row) for row in rows[1:]]


def _is_row(line: str) -> bool:
    stripped = line.strip()
    return len(stripped) > 1 and stripped[0] in "|│+├┌╭╰└" and stripped[-1] in "|│+┤┐╮╯┘"


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"[|│]", line.strip().strip("|│"))]


def _json_row(names: Sequence[str], cells: Sequence[str]) -> str:
    """A row as an object. Without names the cell with a server's header is the message."""
    if names:
        return _encoded({name.strip(): cell for name, cell in zip(names, cells, strict=False)})
    message = next((cell for cell in cells if _has_header(cell)), max(cells, key=len, default=""))
    time = next((cell for cell in cells if cell is not message and cell[:4].strip('"').isdigit()), "")
    return _encoded({"time": time, "message": message})


def _encoded(row: Mapping[str, str]) -> str:
    return msgspec.json.encode(row).decode()


def _has_header(cell: str) -> bool:
    raw = cell[:200].encode(errors="replace")
    return bool(STAMPED.search(raw) or UNSTAMPED.match(raw))


_DEPTH = 12
_SPACE = " \t\r\n,"
_decoder = json.JSONDecoder()


def is_document(text: str) -> bool:
    """Whether a text begins as a JSON document, so that its first lines do not show how to read it."""
    return text.lstrip("\ufeff" + _SPACE).startswith(("{", "[{", "[\n", "[ ", "[\r", "[["))


def document_lines(text: str) -> list[str] | None:
    """One JSON object a line for each record of the documents in a text; None when it is not made of JSON.

    A text of which only the end is missing gives the records before that.
    """
    if not is_document(text):
        return None
    stripped = text.lstrip("\ufeff" + _SPACE)
    records: list[Mapping[str, Any]] = []
    try:
        for document in _documents(stripped):
            records.extend(_records(document, {}, 0))
    except ValueError:
        return None
    return [json.dumps(record, ensure_ascii=False) for record in records] or None


def one_record_a_line(lines: Sequence[str]) -> bool:
    """Whether each line is an object that is one record: such a text needs no change."""
    return all(_is_record(line) for line in lines if line.strip()) and any(lines)


def _is_record(line: str) -> bool:
    if not (line.startswith("{") and line.rstrip().endswith("}")) or ('"MESSAGE"' in line and "[" in line):
        return False
    try:
        node = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return False
    if not isinstance(node, dict) or "values" in node:
        return False
    return not any(_holds_records(value, 0) for value in node.values())


def _documents(text: str) -> Iterator[object]:
    """The documents of a text. Raises `ValueError` where there is something else between or behind them."""
    at = 0
    while at < len(text):
        while at < len(text) and text[at] in _SPACE:
            at += 1
        if at >= len(text):
            return
        try:
            document, at = _decoder.raw_decode(text, at)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
        except ValueError:
            if text[at] in "[]":  # an array that is cut short: its objects one by one
                at += 1
                continue
            if text[at] != "{" or "\n{" in text[at:]:
                raise
            return
        yield document


def _records(node: object, labels: Mapping[str, Any], depth: int) -> Iterator[Mapping[str, Any]]:
    """The objects that are one record each. `labels` are the names that the objects around them have."""
    if depth > _DEPTH:
        return
    if isinstance(node, list):
        for item in node:
            yield from _records(item, labels, depth + 1)
        return
    if isinstance(node, str):
        yield from ({**labels, "message": line} for line in node.splitlines())
        return
    if not isinstance(node, dict):
        return
    pairs = node.get("values")
    if isinstance(pairs, list) and all(isinstance(pair, list) and len(pair) > 1 for pair in pairs):  # Loki
        named = _string_fields(node.get("stream"))
        for pair in pairs:
            yield {**labels, **named, "timestamp": str(pair[0]), "line": str(pair[1])}
        return
    inner = [value for value in node.values() if _holds_records(value, 0)]
    if not inner:
        yield {**labels, **{name: _readable(value) for name, value in node.items()}}
        return
    named = {**labels, **_string_fields(node.get("resource")), **_string_fields(node)}
    for value in inner:
        yield from _records(value, named, depth + 1)


def _holds_records(value: object, depth: int) -> bool:
    if depth > _DEPTH:
        return False
    if isinstance(value, list):
        # OpenTelemetry writes attributes as a list of names and values.
        return any(isinstance(item, dict) and not set(item) <= {"key", "value", "name"} for item in value)
    return isinstance(value, dict) and any(_holds_records(inner, depth + 1) for inner in value.values())


def _string_fields(node: object) -> dict[str, Any]:
    """The texts of an object, and attributes of OpenTelemetry among them."""
    if not isinstance(node, dict):
        return {}
    result = {name: value for name, value in node.items() if isinstance(value, str)}
    attributes = node.get("attributes")
    for item in attributes if isinstance(attributes, list) else []:
        value = item.get("value") if isinstance(item, dict) else None
        if isinstance(value, dict) and isinstance(value.get("stringValue"), str):
            result[str(item.get("key"))] = value["stringValue"]
    return result


def _readable(value: object) -> object:
    """The value; a list of bytes, as the journal writes messages that are no UTF-8, as text."""
    if isinstance(value, list) and value and all(isinstance(item, int) and 0 <= item < 256 for item in value):
        return bytes(value).decode(errors="replace")
    return value
