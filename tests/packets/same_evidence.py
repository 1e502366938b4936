"""The evidence of one capture by both readers of packets: the reference in Python, and the compiled one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

import msgspec

from jsdoctor.collect.packets.files import read_captures
from jsdoctor.collect.packets.native import nats_observer
from jsdoctor.model.packets import PacketEvidence


def evidence(paths: Sequence[Path], *, native: bool) -> PacketEvidence:
    """Everything that these captures show, with what NATS says in them."""
    with mock.patch.dict(os.environ, JSDOCTOR_NATIVE="1" if native else "0"):
        observer = nats_observer()
        packets = read_captures(paths, lambda _: observer)
    return msgspec.structs.replace(packets, nats=observer.traffic())


def differences(value: object, other: object, place: str = "") -> list[str]:
    """Where two pieces of evidence differ, in words."""
    if isinstance(value, msgspec.Struct) and isinstance(other, msgspec.Struct) and type(value) is type(other):
        return [
            line
            for name in value.__struct_fields__
            for line in differences(getattr(value, name), getattr(other, name), f"{place}.{name}")
        ]
    if isinstance(value, tuple) and isinstance(other, tuple) and len(value) == len(other):
        return [
            line
            for number, pair in enumerate(zip(value, other, strict=True))
            for line in differences(*pair, f"{place}[{number}]")
        ]
    return [] if value == other else [f"{place}: {value!r} is {other!r}"]
