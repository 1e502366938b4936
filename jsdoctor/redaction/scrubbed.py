"""The redactor of everything that is written: values of the report, the diagnosis or an event without secrets.

Names of clients, reasons of servers, captured fields of log lines, subjects: whatever came from outside may hold a
login, and every format quotes it. So the redactor takes the values before a format breaks lines or escapes characters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import date, datetime
from typing import Any, TypeVar, cast

import msgspec

from jsdoctor.model.rule import Rule
from jsdoctor.model.symptom import Symptom
from jsdoctor.redaction.redact import scrub_line, secret_finder

_T = TypeVar("_T")
_OWN_PAGES = (Rule, Symptom)
"""Pages of this project: their examples have logins."""
_HOLD_NO_TEXT = frozenset((int, float, bool, type(None), datetime, date))
_REDACTED = "[redacted:key]"


def scrubbed(value: _T) -> _T:
    """The value without recognisable secrets in its texts; the same object if there are none."""
    return cast(_T, _Cleaner().clean(value))


def scrubbed_fields(
    captured: tuple[tuple[str, str], ...], text: str, without_secrets: str
) -> tuple[tuple[str, str], ...]:
    """The captured fields of a line, without secrets: a value that the scrubbed line lacks has one."""
    if text == without_secrets:
        return captured
    return tuple((name, value if value in without_secrets else _clean_value(value)) for name, value in captured)


def _clean_value(value: str) -> str:
    cleaned = scrub_line(value)
    return cleaned if cleaned != value else _REDACTED


class _Cleaner:
    """Cleans one value and all that it holds. An object that occurs several times is cleaned once."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._objects: dict[int, Any] = {}

    def clean(self, value: Any) -> Any:
        kind = type(value)
        if kind is str:
            return self._text(value)
        if kind in _HOLD_NO_TEXT or isinstance(value, str):
            return value
        if isinstance(value, _OWN_PAGES):
            return value
        if isinstance(value, msgspec.Struct):
            return self._clean_once(value, value.__struct_fields__, msgspec.structs.replace)
        if is_dataclass(value) and not isinstance(value, type):
            return self._clean_once(value, tuple(field.name for field in fields(value) if field.init), replace)
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, list | tuple) and type(value) in (list, tuple):
            parts = [self.clean(item) for item in value]
            same = all(item is other for item, other in zip(parts, value, strict=True))
            return value if same else type(value)(parts)
        return value

    def _text(self, text: str) -> str:
        """The text without secrets; the same object if it has none, as callers compare by identity."""
        if text not in self._texts:
            self._texts[text] = scrub_line(text) if _may_hold_a_secret(text) else text
        cleaned = self._texts[text]
        return text if cleaned == text else cleaned

    def _clean_once(self, value: Any, names: tuple[str, ...], with_changes: Any) -> Any:
        """Clean the fields of an object, once: it is known by its id, as objects live until the walk ends."""
        if id(value) not in self._objects:
            changes = {}
            for name in names:
                before = getattr(value, name)
                if type(before) in _HOLD_NO_TEXT:
                    continue
                after = self._text(before) if type(before) is str else self.clean(before)
                if after is not before:
                    changes[name] = after
            self._objects[id(value)] = with_changes(value, **changes) if changes else value
        return self._objects[id(value)]

    def _mapping(self, value: Mapping[Any, Any]) -> Mapping[Any, Any]:
        """Clean a mapping: some secrets are only recognisable together with their key."""
        cleaned = {}
        for key, before in value.items():
            after = self.clean(before)
            if isinstance(key, str) and isinstance(before, str) and after == before and _is_named_secret(key, before):
                after = _REDACTED
            cleaned[self.clean(key)] = after
        same = len(cleaned) == len(value) and all(cleaned.get(key) is item for key, item in value.items())
        return value if same else cleaned


def _is_named_secret(key: str, value: str) -> bool:
    line = f"{key}: {value}"
    return bool(value) and _may_hold_a_secret(key) and scrub_line(line) != line


def _may_hold_a_secret(text: str) -> bool:
    return not secret_finder()(text.encode(errors="surrogatepass"))
