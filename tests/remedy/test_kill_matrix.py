"""Every action, killed before and after each of its writes, then resumed or rolled back: never anything between."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jsdoctor.remedy.registry import load_operations
from tests.clock import ShiftClock
from tests.remedy.kill_matrix import ACTIONS, KILLED, Lab, Ran
from tests.servers import DEFAULT_VERSION, VERSIONS, ClusterFactory

pytestmark = pytest.mark.real
Json = dict[str, Any]
_WITHOUT_PLAN = 2
"""At the first two points the journal does not hold the plan yet: nothing was begun."""
MATRIX = [
    pytest.param(name, version, nodes, marks=pytest.mark.nightly)
    for name, action in ACTIONS.items()
    for version in VERSIONS
    for nodes in action.nodes
    if tuple(map(int, version.split(".")[:2])) >= action.since
]


Labs = Callable[[str, str, int], Lab]


@pytest.fixture
def labs(shared_cluster: ClusterFactory, shift_clock: ShiftClock, tmp_path: Path) -> Labs:
    def lab(name: str, version: str, nodes: int) -> Lab:
        cluster = shared_cluster(version, nodes, extra_config="# kill matrix\n")
        return Lab(ACTIONS[name], cluster, tmp_path, shift_clock)

    return lab


def exact(name: str, version: str) -> bool:
    """Whether servers of that version let a rollback put everything back."""
    return tuple(map(int, version.split(".")[:2])) >= ACTIONS[name].exact_since


def wrong(ran: Ran, now: Json, wanted: Json, *, exact: bool) -> str:
    """What is wrong with how a run ended, in words; empty when nothing is."""
    if ran.code == 1 and not exact:
        # It cannot be exact here: what differs is told, and no message and no consumer is lost.
        reported = "still different from before" in ran.output or "cannot put a consumer back" in ran.output
        kept = now["ORDERS"]["messages"] == wanted["ORDERS"]["messages"] and now["ORDERS"]["consumers"].keys()
        return "" if reported and kept else f"exit 1: {ran.output}"
    if ran.code:
        return f"exit {ran.code}: {ran.output}"
    return "" if now == wanted else f"differs: {json.dumps(now)}\nfrom:    {json.dumps(wanted)}"


def figures(what: str, failures: list[str], trials: int) -> None:
    """One line for each test where JSDOCTOR_FIGURES names a file; fails where anything was wrong."""
    if place := os.environ.get("JSDOCTOR_FIGURES"):
        with Path(place).open("a") as file:
            file.write(f"{what}: {trials - len(failures)} of {trials}\n")
    assert not failures, "\n\n".join(failures)


@pytest.mark.parametrize(("name", "version", "nodes"), MATRIX)
def test_killed_at_every_point(labs: Labs, name: str, version: str, nodes: int) -> None:
    lab = labs(name, version, nodes)
    with lab.trial() as cwd:
        before = lab.state()
        done = lab.apply(cwd)
        assert done.code == 0, done.output
        after = lab.state()
    failures: list[str] = []
    for number, point in enumerate(done.points, 1):
        for how in ("resume", "rollback"):
            with lab.trial() as cwd:
                start = lab.state()
                killed = lab.apply(cwd, f"KILL:{number}")
                assert killed.code == KILLED, killed.output
                ended = lab.resume(cwd) if how == "resume" else lab.rollback(cwd)
                where = f"{number} {point}, then {how}"
                if number <= _WITHOUT_PLAN:
                    incident = "" if ended.code == 2 and lab.state() == start else ended.output
                elif how == "resume":
                    incident = wrong(ended, shape(lab.state()), shape(after), exact=True)
                else:
                    incident = wrong(ended, lab.state(), start, exact=exact(name, version))
                if incident:
                    failures.append(f"{where}: {incident}")
    assert shape(before)
    figures(f"{name}, {version}, {nodes} servers, killed", failures, 2 * len(done.points))


@pytest.mark.parametrize(("name", "version", "nodes"), MATRIX)
def test_a_rollback_killed_at_every_point(labs: Labs, name: str, version: str, nodes: int) -> None:
    lab = labs(name, version, nodes)
    with lab.trial() as cwd:
        applied = lab.apply(cwd)
        assert applied.code == 0, applied.output
        points = lab.rollback(cwd).points
    failures: list[str] = []
    for number, point in enumerate(points, 1):
        with lab.trial() as cwd:
            start = lab.state()
            applied = lab.apply(cwd)
            assert applied.code == 0, applied.output
            killed = lab.rollback(cwd, f"KILL:{number}")
            assert killed.code == KILLED, killed.output
            ended = lab.rollback(cwd)
            if incident := wrong(ended, lab.state(), start, exact=exact(name, version)):
                failures.append(f"{number} {point}, then rollback: {incident}")
    figures(f"{name}, {version}, {nodes} servers, rollback killed", failures, len(points))


def shape(seen: Json) -> Json:
    """What two trials have in common: messages are random and dated, so their number counts."""
    return {
        name: {**state, "messages": len(state["messages"]) if name == "ORDERS" else state["messages"]}
        for name, state in seen.items()
    }


def test_every_operation_is_in_the_matrix() -> None:
    """All but those of the system account, which are one write each, as those that step down a leader are."""
    assert {name.split(" ")[0] for name in ACTIONS} == load_operations().keys() - {
        "meta.step_down",
        "server.remove_peer",
    }


HOLES = (
    ("stream.restore", "after $JS.API.STREAM.DELETE.ORDERS"),
    ("message.dead_letters (move)", "after $JS.API.STREAM.MSG.DELETE.ORDERS"),
    ("consumer.recreate", "after $JS.API.CONSUMER.DELETE.ORDERS.worker"),
)


@pytest.mark.parametrize(("name", "point"), HOLES)
def test_neither_a_rollback_nor_a_resumed_fix_leaves_a_hole(labs: Labs, name: str, point: str) -> None:
    """The points after which something is missing until it is restored, or done."""
    lab = labs(name, DEFAULT_VERSION, 1)
    with lab.trial() as cwd:
        done = lab.apply(cwd)
        number, after = done.points.index(point) + 1, lab.state()
    with lab.trial() as cwd:
        start = lab.state()
        assert lab.apply(cwd, f"KILL:{number}").code == KILLED
        assert not wrong(lab.rollback(cwd), lab.state(), start, exact=exact(name, DEFAULT_VERSION))
    with lab.trial() as cwd:
        assert lab.apply(cwd, f"KILL:{number}").code == KILLED
        assert not wrong(lab.resume(cwd), shape(lab.state()), shape(after), exact=True)
