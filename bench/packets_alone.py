"""Reads one capture and nothing else: `python -m bench.packets_alone FILE [nats]`.

Prints its counts: packets, odd ones, and publishes with `nats`.
"""

import sys
from pathlib import Path

from jsdoctor.packets.nats.observer import NatsObserver
from jsdoctor.sources.packets.files import read_capture


def main() -> None:
    """TCP alone, or with what NATS says."""
    read: list[int] = []
    observer = NatsObserver() if "nats" in sys.argv[2:] else None
    analyzed = read_capture(Path(sys.argv[1]), 0, observer)
    if observer is not None:
        read = [
            sum(connection.publishing.messages for connection in traffic.connections) for traffic in observer.traffic()
        ]
    flows = [flow for connection in analyzed.connections for flow in connection.flows]
    odd = sum(flow.reordering.segments + flow.retransmission.segments for flow in flows)
    print(analyzed.capture.tcp, odd, *read)


if __name__ == "__main__":
    main()
