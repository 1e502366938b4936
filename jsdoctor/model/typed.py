"""Values of declared types, made of JSON or of plain values, in as many threads as you like.

msgspec works out the fields of a Struct when it first meets it. Two threads that do that at the same time end the
process with a segmentation fault (msgspec 0.22.0): one takes the fields before the other has all of them. So this is
done once for each type, by one thread at a time; what is known may be used by all.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar, cast

import msgspec

Shape = TypeVar("Shape")

_FIRST_USE_LOCK = threading.Lock()
_decoders: dict[tuple[Any, bool], msgspec.json.Decoder[Any]] = {}


def decode_as(body: bytes | str | msgspec.Raw, shape: type[Shape], *, strict: bool = True) -> Shape:
    """JSON as that type; without *strict*, text that looks like a number is one. Raises `msgspec.MsgspecError`."""
    try:
        return cast("Shape", _decoder(shape, strict).decode(body))
    except RecursionError:
        raise msgspec.DecodeError("JSON is nested too deeply") from None


def decode_plain(body: bytes | str) -> Any:
    """JSON of any shape. Raises `msgspec.DecodeError`, also for what is nested deeper than anybody means."""
    return decode_as(body, object)


def convert_to(value: object, shape: type[Shape]) -> Shape:
    """A value of dicts, lists and scalars as that type. Raises `msgspec.ValidationError`."""
    _decoder(shape, strict=True)
    return msgspec.convert(value, shape)


def _decoder(shape: object, strict: bool) -> msgspec.json.Decoder[Any]:
    decoder = _decoders.get((shape, strict))
    if decoder is None:
        with _FIRST_USE_LOCK:
            decoder = _decoders[shape, strict] = msgspec.json.Decoder(cast("Any", shape), strict=strict)
    return decoder
