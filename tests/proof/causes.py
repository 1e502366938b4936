"""Why tests of the proof failed, as `causes.toml` says: written by whoever examined the failure."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

import msgspec

CAUSES = Path(__file__).with_name("causes.toml")


class Cause(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The cause of failures of the tests whose names begin with `test`."""

    test: str
    cause: str


class _Causes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    cause: tuple[Cause, ...] = ()


def load_causes(data: Path = CAUSES) -> tuple[Cause, ...]:
    """All causes. Raises msgspec.ValidationError."""
    return msgspec.convert(tomllib.loads(data.read_text("utf-8")), _Causes).cause


def cause_of(test: str, causes: Sequence[Cause]) -> str:
    """The cause of a test's failure; empty where nobody has found it. The longest beginning counts."""
    fitting = [known for known in causes if test.startswith(known.test)]
    return max(fitting, key=lambda known: len(known.test)).cause if fitting else ""
