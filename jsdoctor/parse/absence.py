"""Why a kind of evidence is not there: what each access cannot show, and how to see it."""

from __future__ import annotations

from collections.abc import Sequence

from jsdoctor.model.evidence import NOTHING_ANSWERED, CollectionFacts, Evidence
from jsdoctor.model.evidence_kinds import KINDS
from jsdoctor.model.exchange import Access, Sample
from jsdoctor.model.gap import Gap
from jsdoctor.model.server import ConnectedServer

_OF_NO_ASSETS = {endpoint for kind in KINDS for endpoint in kind.endpoints}


def why_absent(samples: Sequence[Sample], snapshots: int) -> dict[type[Evidence], Gap]:
    """For every kind of evidence the reason that fits if it is missing. `snapshots` is how many snapshots there are."""
    exchanges = [exchange for sample in samples for exchange in sample.exchanges]
    gaps = [gap for sample in samples for gap in sample.gaps]
    seen = {exchange.access for exchange in exchanges}
    facts = CollectionFacts(
        samples=len(samples),
        snapshots=snapshots,
        plain=Access.ACCOUNT in seen and not seen & {Access.SYSTEM, Access.MONITOR, Access.PASTED},
        asked_ntp=Access.NTP in seen or any(gap.kind == "ntp" for gap in gaps),
        scanned=any(gap.kind == "scan" for gap in gaps),
    )
    if all(exchange.endpoint in _OF_NO_ASSETS for exchange in exchanges):
        absent = {kind: NOTHING_ANSWERED if kind.of_deployment else kind.absent(facts) for kind in KINDS}
        return absent if seen else {**absent, ConnectedServer: NOTHING_ANSWERED}
    own = {gap.kind: gap for gap in gaps if not gap.requested}
    return {
        kind: next((own[name] for name in reversed(kind.said_by) if name in own), None) or kind.absent(facts)
        for kind in KINDS
    }
