"""What a team demands of its streams and consumers: conditions on fields of their configuration, as data."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from jsdoctor.model.finding import Severity
from jsdoctor.model.jetstream import ConsumerConfig, StreamConfig
from jsdoctor.model.setting import FieldKind, row, rows


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


_CONFIGS: dict[str, type[msgspec.Struct]] = {"stream": StreamConfig, "consumer": ConsumerConfig}
_JUDGED = (FieldKind.TEXT, FieldKind.TEXTS, FieldKind.FLAG, FieldKind.NUMBER, FieldKind.BYTES, FieldKind.DURATION)
METADATA = "metadata."
"""Fields of metadata are written `metadata.KEY`."""


def policy_fields(on: str) -> dict[str, FieldKind]:
    """The fields of a stream or of a consumer that a policy may name, as the API of JetStream calls them."""
    return {row.name: row.kind for row in rows(_CONFIGS[on]) if row.kind in _JUDGED}


@cache
def limits() -> frozenset[str]:
    """Fields of which 0 and -1 mean that nothing is limited."""
    return frozenset(row.name for config in _CONFIGS.values() for row in rows(config) if row.setting.limit is not None)


def attribute_of(on: str, name: str) -> str:
    """The attribute of the configuration that holds a field."""
    return row(_CONFIGS[on], name).attribute
