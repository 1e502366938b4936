"""Packet evidence for rule tests: captures of real traffic, and small edits of what they show.

In `fixtures/rules/<CODE>/cases.toml` these are the tables `packet_case`:

    [[packet_case]]
    kind = "fires"                     # fires | silent | below | above | fixed | unknown
    about = "one in ten publishes is lost on its way"
    like = "..."                       # an earlier case by its `about`: this has all of it, and more
    captures = ["nats-loss.server"]    # below fixtures/captures, without .pcap.gz; several are one run
    params = { warn = 0.5 }            # optional overrides, in the parameter's unit (durations as text)
    [[packet_case.edit]]                      # edits of the evidence, in order
    where = "connections"              # a list in it: captures, connections, nats.0.connections, nats.0.consumers...
    match = { number = 1 }             # those with these values; all by default
    set = { "to_server.retransmission.segments" = 12 }   # "none" for None
    add = { "to_server.distinct_segments" = 1000 }
    drop = true                        # take them away
    [[packet_case.expect]]                    # exactly the failures of this rule; none for silent, below, fixed
    subject = "ORDERS/PULL"            # the label's parts joined by "/"; files by their name only
    severity = "error"                 # default: the rule's own
    outcome = "fail"                   # fail (default) | not_evaluated

Only the checks of packet evidence run on these cases: there is no other evidence.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.evidence_kinds import KINDS as EVIDENCE_KINDS
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.packets.nats.observer import NatsObserver
from jsdoctor.sources.packets.files import read_captures
from tests.support.ruleset import checks

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
CAPTURES = FIXTURES / "captures"
CLEAN = (
    "nats-clean.client",
    "nats-clean.server",
    "nats-ackv2-domain.client",
    "nats-vlan.client",
    "nats-tls.client",
    "nats-any-dup-sll2",
    "nats-two-interfaces",
    "nats-lo-tso-nano-snap96",
    "nats-captureloss.server",
    "own-healthy",
    "lab-offload-bridge.client",
    "lab-offload-bridge.any1",
    "lab-offload-vxlan.any2",
    "lab-offload-nat.any1",
)
"""Captures of networks and programs that nothing was wrong with, whatever was done to the captures."""

Json = dict[str, Any]


def takes_packets(name: str) -> bool:
    """Whether this check works on packet evidence."""
    return PacketEvidence in checks()[name].required.values()


def capture_path(name: str) -> Path:
    """The file of a capture that is named as in cases."""
    (capture,) = (path for path in CAPTURES.glob(f"{name}.pcap*.gz") if path.name.startswith(f"{name}.pcap"))
    return capture


@cache
def captured(names: tuple[str, ...]) -> PacketEvidence:
    """What these captures show."""
    observer = NatsObserver()
    evidence = read_captures([capture_path(name) for name in names], lambda _: observer)
    return msgspec.structs.replace(evidence, nats=observer.traffic())


def packet_evidence_of(case: Json) -> EvidenceSet:
    """What a run with `--pcap` alone has."""
    evidence = captured(tuple(case["captures"]))
    if "edit" in case:
        tree = msgspec.json.decode(msgspec.json.encode(evidence))
        for edit in case["edit"]:
            _apply(tree, edit)
        evidence = msgspec.convert(tree, PacketEvidence)
    return only_packets(evidence)


def only_packets(packets: PacketEvidence) -> EvidenceSet:
    """Packet evidence and nothing else."""
    gap = Gap(kind="access", subject=CLUSTER, reason="only packets were read", how_to_get="name a server")
    return EvidenceSet({PacketEvidence: packets}, {kind: gap for kind in EVIDENCE_KINDS if kind is not PacketEvidence})


def _apply(tree: Json, edit: Json) -> None:
    entries = _list(tree, edit["where"])
    chosen = [entry for entry in entries if all(entry[name] == value for name, value in edit.get("match", {}).items())]
    assert chosen, f"the edit touches nothing: {edit}"
    for entry in chosen:
        if edit.get("drop"):
            entries.remove(entry)
        for holder, name, value in _places(entry, edit.get("set", {})):
            assert name in holder, f"no such field: {name}"
            holder[name] = None if value == "none" else value
        for holder, name, value in _places(entry, edit.get("add", {})):
            holder[name] += value


def _list(tree: Any, path: str) -> list[Json]:
    for part in path.split("."):
        tree = tree[int(part)] if isinstance(tree, list) else tree[part]
    entries: list[Json] = tree
    return entries


def _places(entry: Json, values: Json) -> Iterator[tuple[Json, str, Any]]:
    for path, value in values.items():
        holder: Any = entry
        *parents, last = path.split(".")
        for parent in parents:
            holder = holder[int(parent)] if isinstance(holder, list) else holder[parent]
        yield holder, last, value


def file_name(label: str) -> str:
    """A subject's label as cases write it: files by name only."""
    return Path(label).name if label.startswith("/") else label
