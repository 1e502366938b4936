"""What a team demands of its streams and consumers: conditions on fields of their configuration, as data."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from jsdoctor.model.finding import Severity
from jsdoctor.model.jetstream import ConsumerConfig, StreamConfig


class FieldKind(StrEnum):
    """How the values of a field are written and compared."""

    TEXT = "text"
    TEXTS = "list of texts"
    FLAG = "flag"
    NUMBER = "number"
    BYTES = "bytes"
    DURATION = "duration"


class Condition(msgspec.Struct, frozen=True):
    """What must hold of one field. Durations are nanoseconds, sizes bytes; None is not demanded.

    `required`: it has a value; of a limit: it limits. `pattern` is a regular expression for the whole of a text.
    """

    required: bool = False
    min: int | float | None = None
    max: int | float | None = None
    one_of: tuple[Any, ...] | None = None
    pattern: str = ""


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """One policy of a configuration file. It is judged as a rule with the same code.

    `on` is stream or consumer. `name`, `account` and `stream` are patterns (`*`, `?`) of the assets that it is for, and
    `metadata` values that they must have for it to apply.
    """

    code: str
    title: str
    on: str
    conditions: Mapping[str, Condition]
    severity: Severity = Severity.WARNING
    name: str = "*"
    account: str = "*"
    stream: str = "*"
    metadata: Mapping[str, str] = {}
    url: str = ""
    origin: str = ""
    line: int = 0


LIMITS = frozenset(
    (
        *("max_age", "max_bytes", "max_msgs", "max_msgs_per_subject", "max_msg_size", "max_consumers"),
        *("max_deliver", "max_ack_pending", "max_waiting", "inactive_threshold", "max_batch", "max_expires"),
    )
)
"""Fields of which 0 and -1 mean that nothing is limited."""

_BYTES = frozenset(("max_bytes", "max_msg_size"))
_CONFIGS: dict[str, type[msgspec.Struct]] = {"stream": StreamConfig, "consumer": ConsumerConfig}
METADATA = "metadata."
"""Fields of metadata are written `metadata.KEY`."""


def policy_fields(on: str) -> dict[str, FieldKind]:
    """The fields of a stream or of a consumer that a policy may name, as the API of JetStream calls them."""
    fields_by_name = {}
    for field in msgspec.structs.fields(_CONFIGS[on]):
        kind = _kind(field.encode_name, field.name, field.type)
        if kind is not None:
            fields_by_name[field.encode_name] = kind
    return fields_by_name


def _kind(name: str, attribute: str, type_: Any) -> FieldKind | None:
    if attribute.endswith("_ns"):
        return FieldKind.DURATION if type_ is int else None
    simple = {str: FieldKind.TEXT, bool: FieldKind.FLAG, int: FieldKind.NUMBER, tuple[str, ...]: FieldKind.TEXTS}
    return FieldKind.BYTES if name in _BYTES else simple.get(type_)


def attribute_of(on: str, name: str) -> str:
    """The attribute of the configuration that holds a field."""
    return next(field.name for field in msgspec.structs.fields(_CONFIGS[on]) if field.encode_name == name)
