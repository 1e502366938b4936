"""How much of a storage limit is taken: used and reserved, of a server or of an account."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jsdoctor.model.server import UNLIMITED, Account, JetStreamStats


class ServerLimitUse(msgspec.Struct, frozen=True):
    """One limit and how much of it is taken. `kind`: whether messages fill it or `max_bytes` of streams does."""

    what: str
    kind: str
    path: str
    value: int
    limit: int

    @property
    def ratio(self) -> float:
        """Share of the limit that is taken."""
        return self.value / self.limit


def _real(limit: int) -> bool:
    """0, -1 and the unsigned -1 of some servers all mean that there is no limit."""
    return 0 < limit < UNLIMITED


def of_server(stats: JetStreamStats) -> Iterator[ServerLimitUse]:
    """The limits of a server: max_file_store, max_memory_store. A sum of reservations that underflowed is skipped."""
    config = stats.config
    if config is None:
        return
    for what, limit, used, reserved, name in (
        ("file storage", config.max_storage, stats.storage, stats.reserved_storage, "storage"),
        ("memory", config.max_memory, stats.memory, stats.reserved_memory, "memory"),
    ):
        if _real(limit):
            yield ServerLimitUse(what, "used", name, used, limit)
            if reserved < UNLIMITED:
                yield ServerLimitUse(what, "reserved", f"reserved_{name}", reserved, limit)


def of_account(account: Account) -> Iterator[ServerLimitUse]:
    """The limits of an account, or of each of its tiers."""
    for tier in account.tiers:
        of_tier = f" of tier {tier.name}" if tier.name else ""
        for what, limit, used, reserved, name in (
            ("file storage", tier.limits.max_storage, tier.storage, tier.reserved_storage, "storage"),
            ("memory", tier.limits.max_memory, tier.memory, tier.reserved_memory, "memory"),
        ):
            if _real(limit):
                yield ServerLimitUse(what + of_tier, "used", name, used, limit)
                if reserved < UNLIMITED:
                    yield ServerLimitUse(what + of_tier, "reserved", f"reserved_{name}", reserved, limit)
