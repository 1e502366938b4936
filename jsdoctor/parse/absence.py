"""Why a kind of evidence is not there: what each access cannot show, and how to see it."""

from __future__ import annotations

from collections.abc import Sequence

from jsdoctor.model.evidence import Evidence
from jsdoctor.model.evidence_kinds import DECLARED, NO_CONNECTION, NOTHING_ANSWERED, CollectionFacts
from jsdoctor.model.exchange import Access, Sample
from jsdoctor.model.gap import Gap
from jsdoctor.model.server import ConnectedServer

_OF_NO_ASSETS = {endpoint for kind in DECLARED for endpoint in kind.endpoints}


def why_absent(samples: Sequence[Sample], snapshots: int) -> dict[type[Evidence], Gap]:
    """For every kind of evidence the reason that fits if it is missing. `snapshots` is how many snapshots there are."""
    exchanges = [exchange for sample in samples for exchange in sample.exchanges]
    gaps = [gap for sample in samples for gap in sample.gaps]
    seen = {exchange.access for exchange in exchanges}
    collected = CollectionFacts(
        samples=len(samples),
        snapshots=snapshots,
        plain=Access.ACCOUNT in seen and not seen & {Access.SYSTEM, Access.MONITOR, Access.PASTED},
        asked_ntp=Access.NTP in seen or any(gap.kind == "ntp" for gap in gaps),
        scanned=any(gap.kind == "scan" for gap in gaps),
    )
    if all(exchange.endpoint in _OF_NO_ASSETS for exchange in exchanges):
        others = [kind for kind in DECLARED if kind.kind is not ConnectedServer]
        absent = {entry.kind: NOTHING_ANSWERED if entry.of_deployment else entry.absent(collected) for entry in others}
        return {**absent, ConnectedServer: NO_CONNECTION if seen else NOTHING_ANSWERED}
    own = {gap.kind: gap for gap in gaps if not gap.requested}
    return {
        kind.kind: next((own[name] for name in reversed(kind.said_by) if name in own), None) or kind.absent(collected)
        for kind in DECLARED
    }
