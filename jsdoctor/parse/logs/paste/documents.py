"""JSON documents with log records in them: arrays, pretty-printed objects, replies of log services."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

_DEPTH = 12
_SPACE = " \t\r\n,"
_decoder = json.JSONDecoder()


def is_document(text: str) -> bool:
    """Whether a text begins as a JSON document. Then its first lines show nothing of how it is to be read."""
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
        named = _plain(node.get("stream"))
        for pair in pairs:
            yield {**labels, **named, "timestamp": str(pair[0]), "line": str(pair[1])}
        return
    inner = [value for value in node.values() if _holds_records(value, 0)]
    if not inner:
        yield {**labels, **{name: _text(value) for name, value in node.items()}}
        return
    named = {**labels, **_plain(node.get("resource")), **_plain(node)}
    for value in inner:
        yield from _records(value, named, depth + 1)


def _holds_records(value: object, depth: int) -> bool:
    if depth > _DEPTH:
        return False
    if isinstance(value, list):
        return any(isinstance(item, dict) and not _is_attribute(item) for item in value)
    return isinstance(value, dict) and any(_holds_records(inner, depth + 1) for inner in value.values())


def _is_attribute(item: Mapping[str, Any]) -> bool:
    """OpenTelemetry writes attributes as a list of names and values."""
    return set(item) <= {"key", "value", "name"}


def _plain(node: object) -> dict[str, Any]:
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


def _text(value: object) -> object:
    """The journal writes a message with odd bytes as a list of numbers."""
    if isinstance(value, list) and value and all(isinstance(item, int) and 0 <= item < 256 for item in value):
        return bytes(value).decode(errors="replace")
    return value
