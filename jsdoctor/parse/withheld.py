"""Configurations for plans and journals: texts of users are withheld, because people put secrets into them.

A `description` and the values of `metadata` are free text. No step needs them to decide, so they are replaced as a
whole: a password has no form by which it could be found. What has the shape of a secret goes from all other strings.
"""

from __future__ import annotations

from typing import Any

from jsdoctor.parse.redact import scrub_line

MARK = "[redacted:text]"
_SERVERS_OWN = ("_nats.", "io.nats.")


def withheld(value: Any, key: str = "") -> Any:
    """The same value of a JSON document without texts of users. `key` is the one it stands under."""
    if key == "description":
        return MARK if value else value
    if isinstance(value, dict):
        if key == "metadata":
            return {name: text if name.startswith(_SERVERS_OWN) else MARK for name, text in value.items()}
        about = str(value.get("key", "")) if "before" in value or "after" in value else ""
        sides = {"before": about, "after": about}
        return {name: withheld(inner, sides.get(name) or name) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [withheld(inner) for inner in value]
    return scrub_line(value) if isinstance(value, str) else value


def is_withheld(value: Any) -> bool:
    """Whether anything in it was replaced."""
    if isinstance(value, dict):
        return any(map(is_withheld, value.values()))
    if isinstance(value, list | tuple):
        return any(map(is_withheld, value))
    return bool(value == MARK)


def agree(first: Any, second: Any) -> bool:
    """Whether two values are equal as far as neither is withheld: a text that is withheld is like any text."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(agree(first[key], second[key]) for key in first)
    if MARK in (first, second) and isinstance(first, str) and isinstance(second, str):
        return bool(first and second)
    return bool(first == second)
