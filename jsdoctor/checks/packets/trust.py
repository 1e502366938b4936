"""How far a capture can be trusted: what it lost itself, and what was captured twice."""

from __future__ import annotations

from jsdoctor.checks.packets.views import View
from jsdoctor.model.packets import Capture, Flow
from jsdoctor.model.share import Share

HOW_TO_CAPTURE = (
    "capture on one interface, not on `any`, with a large buffer:"
    " tcpdump -i IFACE --immediate-mode -B 65536 -s 256 -w FILE 'tcp port 4222'"
)
_DOUBTFUL = 0.01
"""Share of what was sent that the capture itself lost, from which it proves no loss in the network."""
_USELESS = 0.1
"""The same, from which nothing is said (Zeek's too_much_loss)."""


def missed(flow: Flow) -> Share:
    """Bytes that the receiver got and the capture did not, of all bytes."""
    return Share(flow.missed_bytes, flow.distinct_bytes + flow.missed_bytes)


def dropped(capture: Capture) -> Share:
    """Packets that the capturing host says it lost, of all packets."""
    drops = capture.kernel_drops or 0
    return Share(drops, capture.packets + drops)


def why_not(view: View) -> str:
    """Why nothing can be said of the network from this capture; empty when something can."""
    if view.tcp.captured_twice:
        return (
            "its packets were captured twice, so that copies cannot be distinguished from packets that were sent again"
        )
    lost = max(dropped(view.capture).ratio, *(missed(flow).ratio for flow in view.tcp.flows))
    if lost >= _USELESS:
        return f"the capture itself lost {lost:.0%} of it"
    return ""


def proves_no_loss(view: View, flow: Flow) -> bool:
    """Whether the capture lost so much itself that loss in the network does not follow."""
    return max(dropped(view.capture).ratio, missed(flow).ratio) >= _DOUBTFUL


def lower_bound(view: View, flow: Flow) -> str:
    """A remark for figures of a capture that is not whole; empty otherwise."""
    if missed(flow).events or dropped(view.capture).events:
        return "; the capture is not whole, so this is a lower bound"
    return ""
