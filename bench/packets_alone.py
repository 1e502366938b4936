"""Reads one capture and nothing else: `python -m bench.packets_alone FILE [nats]`. Prints what it counted."""

import sys
from pathlib import Path

from jsdoctor.collect.packets.files import read_capture
from jsdoctor.parse.packets.nats.observer import NatsObserver


def main() -> None:
    """TCP alone, or with what NATS says."""
    observer = NatsObserver() if "nats" in sys.argv[2:] else None
    analyzed = read_capture(Path(sys.argv[1]), 0, observer)
    if observer is not None:
        observer.traffic()
    flows = [flow for connection in analyzed.connections for flow in connection.flows]
    odd = sum(flow.reordering.segments + flow.retransmission.segments for flow in flows)
    print(analyzed.capture.tcp, odd)


if __name__ == "__main__":
    main()
