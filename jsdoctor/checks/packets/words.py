"""Figures of captures in words."""

from __future__ import annotations

from jsdoctor.checks.packets.views import View
from jsdoctor.model.finding import Confidence, Observation
from jsdoctor.model.packets import OrderProof

CONFIDENCE = {
    OrderProof.IP_ID: Confidence.HIGH,
    OrderProof.TIMESTAMPS: Confidence.HIGH,
    OrderProof.TIME: Confidence.LOW,
}
"""Right in 99.7 %, 97 % and 72 % of the segments whose true label was known."""

ORDER_IS_SAFE = "TCP puts the bytes in order again, so no message of a connection changes its place"


def percent(ratio: float) -> str:
    """`0.12 %`, `3.4 %`, `12 %`."""
    value = ratio * 100
    return f"{value:.2g} %" if value < 10 else f"{value:.0f} %"


def observed(view: View, **values: object) -> tuple[Observation, ...]:
    """Figures of a connection as evidence: from which capture, under which name."""
    return tuple(
        Observation(source=view.capture.name, path=f"{view.tcp.subject.name}: {name.replace('_', ' ')}", value=value)
        for name, value in values.items()
    )
