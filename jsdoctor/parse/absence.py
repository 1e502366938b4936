"""Why a kind of evidence is not there: what each access cannot show, and how to see it."""

from __future__ import annotations

from collections.abc import Sequence

from jsdoctor.model.evidence import Evidence
from jsdoctor.model.evidence_kinds import DECLARED, NO_CONNECTION, NOTHING_ANSWERED, CollectionFacts
from jsdoctor.model.exchange import Access, Sample
from jsdoctor.model.gap import Gap
from jsdoctor.model.server import ConnectedServer

_OF_NO_ASSETS = {endpoint for kind in DECLARED for endpoint in kind.endpoints}


def why_absent(samples: Sequence[Sample], looks: int) -> dict[type[Evidence], Gap]:
    """For every kind of evidence the reason that fits if it is missing. `looks` is how many snapshots there are."""
    exchanges = [exchange for sample in samples for exchange in sample.exchanges]
    gaps = [gap for sample in samples for gap in sample.gaps]
    seen = {exchange.access for exchange in exchanges}
    collected = CollectionFacts(
        samples=len(samples),
        looks=looks,
        plain=Access.ACCOUNT in seen and not seen & {Access.SYSTEM, Access.MONITOR, Access.PASTED},
        asked_ntp=Access.NTP in seen or any(gap.kind == "ntp" for gap in gaps),
        scanned=any(gap.kind == "scan" for gap in gaps),
    )
    if all(exchange.endpoint in _OF_NO_ASSETS for exchange in exchanges):
        others = [one for one in DECLARED if one.kind is not ConnectedServer]
        absent = {one.kind: NOTHING_ANSWERED if one.of_deployment else one.absent(collected) for one in others}
        return {**absent, ConnectedServer: NO_CONNECTION if seen else NOTHING_ANSWERED}
    said = {gap.kind: gap for gap in gaps if not gap.requested}
    return {
        one.kind: next((said[name] for name in reversed(one.said_by) if name in said), None) or one.absent(collected)
        for one in DECLARED
    }
