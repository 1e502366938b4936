"""A baseline file: findings that were accepted, as JSON that two people can merge."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from jsdoctor.model.suppression import BASELINE_SCHEMA, Accepted, Baseline
from jsdoctor.model.typed import decode_as


class BaselineError(ValueError):
    """A file that is no baseline."""


class _File(msgspec.Struct):
    schema: str
    findings: list[Accepted] = []


def parse_baseline(origin: str, body: bytes) -> Baseline:
    """Read a baseline. Raises `BaselineError` with what is wrong with it."""
    try:
        file = decode_as(body, _File)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BaselineError(f"{origin} is no baseline: {error}") from error
    if file.schema != BASELINE_SCHEMA:
        raise BaselineError(f"{origin} is no baseline: its schema is {file.schema!r}, not {BASELINE_SCHEMA!r}")
    return Baseline(origin, {accepted.fingerprint: accepted for accepted in file.findings})


def encode_baseline(accepted: Iterable[Accepted]) -> bytes:
    """The content of a baseline file: one finding on a line, by code and subject, so that changes merge well."""
    lines = [
        msgspec.json.encode(candidate).decode()
        for candidate in sorted(accepted, key=lambda accepted: (accepted.code, accepted.subject, accepted.fingerprint))
    ]
    findings = ",\n    ".join(lines)
    inside = f"\n    {findings}\n  " if lines else ""
    return f'{{\n  "schema": "{BASELINE_SCHEMA}",\n  "findings": [{inside}]\n}}\n'.encode()
