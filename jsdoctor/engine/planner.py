"""From the selected rules to what must be collected for them, and no more."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from jsdoctor.checks.registry import Check
from jsdoctor.model.stored import ScanTarget


class CollectionPlan(msgspec.Struct, frozen=True):
    """What to request from a live cluster. Times are seconds. `server_rates`: the variables of servers in every sample.

    `ntp` names the NTP servers to query for true time, `scan` the streams whose stored messages are read; with
    `scan_ids` their ids are compared, with `scan_contents` also the contents of those whose ids are equal.
    `keep_bodies`: replies are kept as they came, for a bundle or for what is sent back.
    `ack_metrics`: listen to the metrics of consumers that have them switched on. `near_subjects`: request the subjects
    of streams where a filter never matched anything. `host`: read this host before the first and after the last sample.
    `interest`: request whether leaders of idle streams listen to their subjects.
    `addresses`: try the addresses that servers give to clients. `subscriptions`: list those of each connection.
    """

    samples: int = 2
    interval_s: float = 2.0
    timeout_s: float = 5.0
    assets: bool = True
    consumers: bool = True
    servers: bool = True
    accounts: bool = True
    server_rates: bool = True
    raft: bool = True
    connections: bool = True
    subscriptions: bool = False
    links: bool = True
    claims: bool = True
    mappings: bool = True
    interest: bool = True
    clocks: bool = True
    ntp: tuple[str, ...] = ()
    scan: tuple[ScanTarget, ...] = ()
    scan_ids: bool = False
    scan_contents: bool = False
    ack_metrics: bool = True
    near_subjects: bool = True
    host: bool = False
    addresses: bool = False
    keep_bodies: bool = True


_SWITCHES = (
    *("assets", "consumers", "servers", "accounts", "server_rates", "raft", "connections", "links", "claims"),
    *("mappings", "interest", "subscriptions", "clocks", "ack_metrics", "near_subjects"),
)
"""The fields of a plan that switch a part of the collection on or off; the other fields have values."""


def plan_collection(
    checks: Iterable[Check],
    samples: int,
    interval_s: float,
    timeout_s: float,
    ntp: Iterable[str] = (),
    *,
    host: bool,
    addresses: bool = False,
) -> CollectionPlan:
    """The plan for everything that the checks declare. There is one sample if none of them compares samples."""
    kinds = {kind for check in checks for kind in check.kinds}
    parts = {part for kind in kinds for part in kind.parts}
    plan = CollectionPlan(
        samples=samples if any(kind.repeated for kind in kinds) else 1,
        interval_s=interval_s,
        timeout_s=timeout_s,
        ntp=tuple(ntp) if "ntp" in parts else (),
        host=host and "host" in parts,
        addresses=addresses and "addresses" in parts,
    )
    return msgspec.structs.replace(plan, **{part: part in parts for part in _SWITCHES})


def plan_scan(
    plan: CollectionPlan, checks: Iterable[Check], targets: Iterable[ScanTarget], contents: bool
) -> CollectionPlan:
    """The plan with the streams whose stored messages are to be read, if any check judges them."""
    if not any("scan" in kind.parts for check in checks for kind in check.kinds):
        return plan
    return msgspec.structs.replace(plan, scan=tuple(targets), scan_ids=True, scan_contents=contents)


def plan_of_login(plan: CollectionPlan, number: int) -> CollectionPlan:
    """The plan for login `number`, from 0: only the first reads clocks, true time and addresses."""
    return msgspec.structs.replace(plan, clocks=False, ntp=(), addresses=False) if number else plan
