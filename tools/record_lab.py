"""Records the captures `fixtures/captures/lab-*` with their truth: `python -m tools.record_lab [DIRECTORY]`, as root.

They are new ones each time: the choices of the forwarder are seeded, the timing of the machine is not.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.lab.network import Lab
from tests.lab.plan import TO_CLIENT, TO_SERVER, Disturbance
from tests.lab.shifted import wrapped
from tests.lab.truth import truth
from tests.servers import ROOT

_MESSAGES = 250
_LONG_WAY = 10.0
_RECORDINGS: dict[str, tuple[Disturbance, Callable[[Lab], str]]] = {
    "lab-reordered-rtt20": (
        Disturbance(reordered=0.06, delay=_LONG_WAY, late=(0.5, 8)),
        lambda lab: lab.publish(_MESSAGES),
    ),
    "lab-lost-rtt20": (Disturbance(lost=0.04, delay=_LONG_WAY), lambda lab: lab.publish(_MESSAGES)),
    "lab-mixed": (
        Disturbance(lost=0.02, reordered=0.05, duplicated=0.03, data_only=False),
        lambda lab: lab.publish(_MESSAGES),
    ),
    "lab-mixed-ipv6": (
        Disturbance(lost=0.02, reordered=0.05, duplicated=0.03),
        lambda lab: lab.publish(_MESSAGES, ipv6=True),
    ),
    "lab-lost-routes": (Disturbance(lost=0.03, delay=2), lambda lab: lab.publish_on_route(_MESSAGES)),
}


def main(directory: Path) -> None:
    """Record all of them, both ends."""
    for name, (plan, traffic) in _RECORDINGS.items():
        with tempfile.TemporaryDirectory() as scratch:
            with Lab.open(Path(scratch), plan) as lab:
                output = traffic(lab)
            for end, path in (("client", lab.client_capture), ("server", lab.server_capture)):
                _write(lab, path, directory / f"{name}.{end}", at_server=end == "server")
            if name == "lab-reordered-rtt20":
                shifted = Path(scratch) / "shifted.pcap"
                wrapped(lab.server_capture, shifted)
                _pack(shifted, directory / "lab-seqwrap.server.pcap.gz")
                (directory / "lab-seqwrap.server.truth.tsv").write_bytes(
                    (directory / f"{name}.server.truth.tsv").read_bytes()
                )
        print(name, output.strip())  # noqa: T201 - who records wants to know


def _write(lab: Lab, capture: Path, to: Path, *, at_server: bool) -> None:
    _pack(capture, to.with_name(f"{to.name}.pcap.gz"))
    judged = truth(lab.report, capture, at_server=at_server)
    lines = [
        f"# dropped on the way: {lab.report.dropped}; in order: {dict(judged.in_order)}; hidden: {dict(judged.hidden)}",
        "frame\tdirection\ttruth",
    ]
    labels = [
        (frame, arrow, label)
        for direction, arrow in ((TO_SERVER, "client->server"), (TO_CLIENT, "server->client"))
        for frame, label in judged.labels[direction].items()
    ]
    lines += [f"{frame}\t{arrow}\t{label}" for frame, arrow, label in sorted(labels)]
    to.with_name(f"{to.name}.truth.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _pack(source: Path, to: Path) -> None:
    to.write_bytes(gzip.compress(source.read_bytes(), 9, mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "fixtures" / "captures")
