"""JSON as jsdoctor writes it: indented, and harmless on a terminal, because what does not print is escaped."""

from __future__ import annotations

import json
import re
import struct

import msgspec

from jsdoctor.render.plain import plain

_UNUSUAL = re.compile(r"[^\x20-\x7e]")


def dumps(document: object, ascii_only: bool = False) -> str:
    """Indented JSON and a newline. What does not print, or with `ascii_only` is not ASCII, is escaped as JSON does."""
    return indented(raw_json(document, ascii_only))


def compact(document: object) -> str:
    """JSON on one line, in ASCII: for scripts of a page."""
    return msgspec.json.format(msgspec.json.encode(raw_json(document, ascii_only=True)), indent=-1).decode()


def raw_json(value: object, ascii_only: bool) -> msgspec.Raw:
    """The JSON of one value, to be placed in a larger document."""
    text = json.dumps(plain(value), ensure_ascii=False, allow_nan=False)
    return msgspec.Raw(_UNUSUAL.sub(lambda match: _escaped(match[0], ascii_only), text).encode())


def raw_struct(document: msgspec.Struct, ascii_only: bool) -> msgspec.Raw:
    """The JSON of a struct whose fields are JSON types, in a third of the time of `raw_json`."""
    try:
        text = msgspec.json.encode(document).decode()
    except (ValueError, OverflowError):  # half of a character, or a number with too many digits
        return raw_json(document, ascii_only)
    return msgspec.Raw(_UNUSUAL.sub(lambda match: _escaped(match[0], ascii_only), text).encode())


def indented(document: object) -> str:
    """A document of JSON types and raw parts, indented, and a newline."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def _escaped(character: str, ascii_only: bool) -> str:
    if character.isprintable() and not ascii_only:
        return character
    return "".join(f"\\u{unit:04x}" for (unit,) in struct.iter_unpack(">H", character.encode("utf-16-be")))
