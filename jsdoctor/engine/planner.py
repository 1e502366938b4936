"""From the selected rules to what must be collected for them, and no more."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from jsdoctor.checks.registry import Check
from jsdoctor.model.server import Accounts, Servers
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.trend import Trend


class CollectionPlan(msgspec.Struct, frozen=True):
    """What to ask a live cluster for. Times are seconds."""

    samples: int = 2
    interval_s: float = 2.0
    timeout_s: float = 5.0
    assets: bool = True
    consumers: bool = True
    servers: bool = True
    accounts: bool = True


def plan_collection(checks: Iterable[Check], samples: int, interval_s: float, timeout_s: float) -> CollectionPlan:
    """The union of what the checks declare. A second sample is taken only when one of them judges a trend."""
    kinds = {kind for check in checks for kind in check.kinds}
    return CollectionPlan(
        samples=samples if Trend in kinds else 1,
        interval_s=interval_s,
        timeout_s=timeout_s,
        assets=bool(kinds & {SnapshotSeries, Trend}),
        consumers=bool(kinds & {SnapshotSeries, Trend}),
        servers=Servers in kinds,
        accounts=Accounts in kinds,
    )
