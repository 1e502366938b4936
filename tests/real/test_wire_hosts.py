"""Captures of hosts as they are, with offloads, bridges, NAT, tunnels: what is blamed, against what was planted.

Each run carries JetStream traffic of a real client library over one topology, captured in eight places at once, in a
ring of files and from the middle on. What has to be found is declared before the run.
"""

import os
import shutil
from pathlib import Path

import pytest

from jsdoctor.model.finding import Outcome, Severity
from tests.lab import lab_or_skip
from tests.lab.host_views import black_hole_views, views
from tests.lab.hosts import Topology
from tests.lab.plan import Disturbance
from tests.packets.test_robustness import judged
from tests.real.test_wire_clients import built
from tests.support.packet_cases import only_packets
from tests.support.ruleset import run_all

pytestmark = [pytest.mark.real, pytest.mark.nightly]
LIBRARIES = ("nats.go", "nats-py", "nats.js")
LOSS, REORDERING, SIZE, CLOCK, NO_PAIR = "JSD502", "JSD501", "JSD509", "JSD508", "JSD507"
BLAME = frozenset({REORDERING, LOSS, CLOCK, SIZE, NO_PAIR, "JSD506", "JSD510", "JSD521", "JSD522"})
"""Rules that accuse the network, a host or the capture. JSD503 and JSD505 measure: a busy machine is slow indeed."""

OFFLOADS = (("all", "all"), ("all", "none"), ("receiving", "all"), ("sending", "none"))
INNOCENT = [
    *(Topology(kind, host, middle) for kind in ("bridge", "router", "nat", "vxlan") for host, middle in OFFLOADS),
    *(
        Topology(kind)
        for kind in ("plain", "zeroed ids", "vlan", "vlan stack", "geneve", "gre", "gre ethernet", "ipip")
    ),
    *(Topology("bond", offloads=offloads) for offloads in ("all", "none")),
    *(Topology("plain", jitter=20), Topology("plain", jitter=120), Topology("zeroed ids", jitter=60)),
]
_LOST, _LATE = Disturbance(lost=0.03, delay=2), Disturbance(reordered=0.06, delay=2)
PLANTED = [
    *((Topology(kind, disturbance=_LOST), LOSS) for kind in ("plain", "zeroed ids", "gre", "geneve", "vlan")),
    *((Topology(kind, disturbance=_LATE), REORDERING) for kind in ("plain", "zeroed ids", "gre", "geneve", "vlan")),
]


NARROW = [
    *(Topology(kind, disturbance=Disturbance(largest=1200)) for kind in ("plain", "gre", "vlan")),
    Topology("bridge", offloads="none", middle="none", narrow=1300),
]
BEHIND = {True: {"server", "middle, behind"}, False: {"client", "middle", "client, any"}}
"""Where nothing that was too large is seen, by whether it was on its way to the server."""
KILLED = "JSD521"
"""The client is killed at the end, while its connection is in use."""

BEFORE_BRIDGE = {"server", "both ends"}
"""Where it is seen when the server's link drops it before the bridge has it: Linux does so at both ends of the link."""


@pytest.fixture(autouse=True)
def _tools() -> None:
    lab_or_skip()
    for tool in ("tcpdump", "ethtool", "nft", "sysctl"):
        if not shutil.which(tool):
            pytest.skip(f"the hosts need {tool}")
    if not os.access("/dev/net/tun", os.W_OK):
        pytest.skip("paths in user space need /dev/net/tun")


def blamed(paths: list[Path]) -> dict[str, str]:
    """What is blamed in these captures, as a warning or worse."""
    results = run_all(only_packets(judged(*paths))).results
    return {
        result.rule.code: result.finding.message
        for result in results
        if result.rule.code in BLAME
        and result.finding.outcome is Outcome.FAIL
        and result.severity.rank >= Severity.WARNING.rank
    }


def judge(tmp_path: Path, topology: Topology, library: str, planted: set[str]) -> list[str]:
    """Run it, compare every view with what was declared; what was wrong."""
    problems = []
    capture_views = views(tmp_path, topology, built(library))
    for view, paths in capture_views.captures.items():
        expected = planted | ({CLOCK} if view == "clock set" else set())
        if topology.kind == "bond" and view == "both ends":
            expected = {NO_PAIR}  # one link at each end shows one direction, which cannot be matched
        named = blamed(paths)
        if set(named) != expected:
            problems.append(f"{view}: expected {sorted(expected)}, but {named}")
    return problems


@pytest.mark.parametrize("number", range(len(INNOCENT)))
def test_an_innocent_network_is_not_accused(tmp_path: Path, number: int) -> None:
    problems = judge(tmp_path, INNOCENT[number], LIBRARIES[number % 3], set())
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("number", range(len(PLANTED)))
def test_what_was_planted_is_named(tmp_path: Path, number: int) -> None:
    topology, code = PLANTED[number]
    problems = judge(tmp_path, topology, LIBRARIES[number % 3], {code})
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("to_server", [True, False])
@pytest.mark.parametrize("number", range(len(NARROW)))
def test_a_path_that_takes_no_large_packets_is_named(tmp_path: Path, number: int, to_server: bool) -> None:
    """Before the narrow place the size is named; behind it nobody is accused of anything else."""
    library = LIBRARIES[number % 3]
    capture_views = black_hole_views(tmp_path, NARROW[number], built(library), to_server=to_server)
    named = {view: set(blamed(paths)) for view, paths in capture_views.captures.items()}
    seen = named.keys() - BEHIND[to_server]
    if NARROW[number].narrow and not to_server:
        seen = BEFORE_BRIDGE
    for view, codes in named.items():
        assert codes <= {SIZE, LOSS, KILLED}, view
        assert (SIZE in codes) == (view in seen), view


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_bond_that_deals_out_packets_by_turns_is_named_where_all_links_are_seen(tmp_path: Path, library: str) -> None:
    """It changes the order indeed. One link alone shows half of the packets, in order."""
    capture_views = views(tmp_path, Topology("bond by turns"), built(library))
    named = {view: set(blamed(paths)) for view, paths in capture_views.captures.items()}
    for view, codes in named.items():
        assert codes - {CLOCK} <= {REORDERING}, view
        if view in {"client, any", "server, any, cooked v1"}:
            assert REORDERING in codes, view
