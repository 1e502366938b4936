"""Reads a report that was written with `--format json`."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from jsdoctor.model.report import SCHEMA
from jsdoctor.model.saved_report import SavedReport
from jsdoctor.model.typed import decode_as


class SavedReportError(ValueError):
    """A file that is no report."""


class _Schema(msgspec.Struct):
    schema: str = ""


def parse_saved_report(origin: str, body: bytes) -> SavedReport:
    """Read one. Raises `SavedReportError` with what is wrong with it."""
    try:
        schema = decode_as(body, _Schema).schema
        if schema != SCHEMA:
            problem = f"its schema is {schema[:60]!r}, not {SCHEMA!r}" if schema else "it names no schema"
            raise SavedReportError(f"{origin} is not a JSON report of jsdoctor: {problem}")
        return replace(decode_as(body, SavedReport), origin=origin)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SavedReportError(f"{origin} is not a JSON report of jsdoctor: {error}") from error
