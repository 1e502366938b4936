"""What servers refuse of descriptions and metadata, of streams and consumers alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jsdoctor.checks.declared.refusal import ServerRefusal

_MAX_DESCRIPTION_LENGTH = 4096
_MAX_METADATA = 128 * 1024

_OF_SERVERS = frozenset({"_nats.req.level", "_nats.level", "_nats.ver"})
"""Labels that servers from 2.11 on set themselves, whatever a configuration has."""

_LEVEL_BYTES = len("_nats.req.level") + len("0")
"""Size of the one label that they store, and count."""


def refusals(
    description: str, metadata: Mapping[str, str], description_code: int, metadata_code: int
) -> Iterator[ServerRefusal]:
    """Why servers do not take these, with the error codes that they give."""
    if len(description.encode()) > _MAX_DESCRIPTION_LENGTH:
        text = f"the description is longer than {_MAX_DESCRIPTION_LENGTH:,} bytes"
        yield ServerRefusal("description", text, description_code)
    size = sum(_bytes(*label) for label in metadata.items() if label[0] not in _OF_SERVERS)
    if size > _MAX_METADATA:
        yield ServerRefusal("metadata", f"the metadata is larger than {_MAX_METADATA:,} bytes", metadata_code)
    elif size + _LEVEL_BYTES > _MAX_METADATA:
        text = f"the metadata is larger than {_MAX_METADATA:,} bytes together with the label that servers add"
        yield ServerRefusal("metadata", text, metadata_code, since=(2, 11))


def _bytes(key: str, value: str) -> int:
    return len(key.encode()) + len(value.encode())
