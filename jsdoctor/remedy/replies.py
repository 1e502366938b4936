"""What servers reply: configurations and dates, compared, and configurations changed by key.

The server omits keys that are zero, and which of them depends on its version (`omitempty`), so an absent key and a zero
are equal here. The server that responds adds `_nats.ver` and `_nats.level` to `metadata`, and the server that handles
an update adds `_nats.req.level`: they are no configuration (2.11+ `jetstream_versioning.go` setDynamicStreamMetadata).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from jsdoctor.model.jetstream import setting_text
from jsdoctor.model.plan import Change, Json
from jsdoctor.redaction.raw_configs import agree, without_user_texts

_SERVERS_OWN = ("_nats.ver", "_nats.level", "_nats.req.level")


def comparable(config: Mapping[str, Any]) -> Json:
    """The configuration without what the server adds by itself and without zeros."""
    metadata = {k: v for k, v in (config.get("metadata") or {}).items() if k not in _SERVERS_OWN}
    return {key: value for key, value in {**config, "metadata": metadata}.items() if not _is_zero(value)}


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Change, ...]:
    """The differences between two configurations, by key."""
    old, new = comparable(before), comparable(after)
    keys = dict.fromkeys((*old, *new))
    return tuple(Change(key, old.get(key), new.get(key)) for key in keys if not agree(old.get(key), new.get(key)))


def changed(config: Mapping[str, Any], changes: Iterable[Change]) -> Json:
    """The whole configuration with these keys changed; all others are kept, also unknown ones."""
    result = dict(config)
    for change in changes:
        if change.after is None:
            result.pop(change.key, None)
        else:
            result[change.key] = change.after
    return result


def restored(config: Mapping[str, Any], changes: Iterable[Change], before: Mapping[str, Any]) -> Json:
    """The configuration with the changed keys as `before` has them."""
    return changed(config, (Change(change.key, None, before.get(change.key)) for change in changes))


def is_set(config: Mapping[str, Any], changes: Iterable[Change]) -> bool:
    """Whether every change is in effect."""
    seen = comparable(config)
    return all(seen.get(change.key) == (None if _is_zero(change.after) else change.after) for change in changes)


def changes_text(changes: Iterable[Change]) -> str:
    """Changes in one line: `max_bytes 1 -> 2`. Texts of users are withheld."""
    return ", ".join(
        f"{change.key} {_shown(change.key, change.before)} -> {_shown(change.key, change.after)}" for change in changes
    )


def _is_zero(value: object) -> bool:
    return value is None or value is False or value in (0, "", [], {})


def _shown(key: str, value: object) -> str:
    return setting_text(key, None if value is None else without_user_texts(value, key))


def date_ns(text: str) -> int:
    """Nanoseconds since 1970 of a date as Go writes it (RFC 3339, up to nine decimals). Raises ValueError."""
    whole, _, rest = text.partition(".")
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    zone = rest[len(digits) :] if rest else ""
    seconds = datetime.fromisoformat(whole + zone)
    return round(seconds.timestamp()) * 1_000_000_000 + int(digits.ljust(9, "0")[:9] or "0")


def same_moment(first: str, second: str) -> bool:
    """Whether two dates are the same to the microsecond: Python's own keep no more, and msgspec rounds to it.

    Texts that are no dates are the same only where they are equal.
    """
    try:
        return abs(date_ns(first) - date_ns(second)) <= 1_000
    except (ValueError, OverflowError):
        return first == second


def behind(peers: Iterable[Json] | None) -> list[str]:
    """The names of replicas or members of a group that are offline, or have not caught up."""
    return [str(peer.get("name")) for peer in peers or () if peer.get("offline") or not peer.get("current")]
