"""Where the consumers of a stream stood when its backup was taken, as the backup itself says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from jsdoctor.model.typed import decode_plain
from jsdoctor.remedy.backup.archive import entries
from jsdoctor.remedy.backup.place import data_file, read_meta
from jsdoctor.remedy.backup.unpack import opened, starts_archive, tar_files

Json = dict[str, Any]
_IN_ARCHIVE = "consumers/"
_CONSUMER_FILE = re.compile(r"obs/([^/]+)/(o\.dat|meta\.inf)")
_PLACES = ("delivered", "ack_floor")
_MAGIC, _VERSION = 22, 2


def consumers_in(directory: Path) -> Json:
    """`durable`, `delivered` and `ack_floor` by consumer; the last two with `stream_seq` and `consumer_seq`.

    Consumers whose state cannot be read are left out. Raises BackupProblem.
    """
    if not read_meta(directory)["state"].get("consumer_count"):
        return {}
    with opened(data_file(directory)) as unpacked:
        return dict(_archived(unpacked) if starts_archive(unpacked) else _in_tar(unpacked))


def _archived(unpacked: BinaryIO) -> Iterator[tuple[str, Json]]:
    for entry in entries(unpacked):
        if entry.stream_seq:
            return  # consumers come first
        name = entry.name.decode(errors="replace")
        if name.startswith(_IN_ARCHIVE):
            decoded = _decoded(entry.payload)
            with suppress(KeyError, TypeError, ValueError, AttributeError):
                state = decoded["state"]
                yield (
                    name.removeprefix(_IN_ARCHIVE),
                    {"durable": _is_durable(decoded["config"]), **{key: _pair(state[key]) for key in _PLACES}},
                )


def _in_tar(unpacked: BinaryIO) -> Iterator[tuple[str, Json]]:
    """The server's encodeConsumerState: two bytes, then acknowledged and delivered, each as consumer and stream."""
    durable: dict[str, bool] = {}
    states: dict[str, list[int]] = {}
    for path, content in tar_files(unpacked):
        if not (named := _CONSUMER_FILE.fullmatch(path)):
            continue
        name, file = named.groups()
        if file == "meta.inf":
            durable[name] = _is_durable(_decoded(content.read(1 << 20)))
        elif (start := content.read(64))[:2] == bytes((_MAGIC, _VERSION)):
            states[name] = _uvarints(start[2:], 4)
    keys = ("consumer_seq", "stream_seq")
    for name, numbers in states.items():
        if len(numbers) == len(keys) * len(_PLACES):
            floor, delivered = (dict(zip(keys, numbers[at : at + 2], strict=True)) for at in (0, 2))
            yield name, {"durable": durable.get(name, False), "delivered": delivered, "ack_floor": floor}


def _decoded(content: bytes) -> Json:
    try:
        result = decode_plain(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return result if isinstance(result, dict) else {}


def _is_durable(config: Json) -> bool:
    return bool(config.get("durable_name"))


def _pair(result: Json) -> Json:
    return {key: int(result.get(key, 0)) for key in ("stream_seq", "consumer_seq")}


def _uvarints(encoded: bytes, count: int) -> list[int]:
    numbers: list[int] = []
    value = shift = 0
    for byte in encoded:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(value)
            value = shift = 0
        if len(numbers) == count:
            break
    return numbers
