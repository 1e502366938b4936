"""The two operations of the system account, killed before and after each of their writes on three nodes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jsdoctor.remedy.api import NoResponseError
from tests.docs.permitted_steps import CLUSTER, step
from tests.remedy.asking import PlainApi, with_api
from tests.remedy.kill_matrix import KILLED, Ran, run, seen
from tests.remedy.test_kill_matrix import figures
from tests.servers import VERSIONS, Cluster, ClusterFactory, wait_until
from tests.support.deployment import HOUR_NS, add_consumer, add_stream

pytestmark = [pytest.mark.real, pytest.mark.nightly]
Json = dict[str, Any]
WITHOUT_PLAN = 2
GONE = "was removed: under a new server_name and with an empty store it joins again at once"


async def furnish(to: PlainApi) -> None:
    await add_stream(to.client, "ORDERS", subjects=["orders"], num_replicas=3, max_age=HOUR_NS)
    await add_consumer(to.client, "ORDERS", "worker")
    for number in range(20):
        await to.client.request("orders", str(number).encode(), timeout=10)


class SystemLab:
    """A cluster, and runs on it with a login of the system account."""

    def __init__(self, cluster: Cluster, top: Path) -> None:
        self.cluster, self._top, self._trials = cluster, top, 0
        with_api(cluster.url(), furnish)

    def begun(self, planned: Json) -> Path:
        """A directory with a plan of that step."""
        self._trials += 1
        cwd = self._top / f"trial-{self._trials}"
        cwd.mkdir()
        plan = {"schema": "jsdoctor.plan/v1", "version": "0", "created": "2026-01-01T00:00:00Z"}
        (cwd / "plan.json").write_text(json.dumps({**plan, "steps": [{**planned, "effect": "as asked"}]}))
        return cwd

    def apply(self, cwd: Path, point: str = "NONE") -> Ran:
        words = ("fix", "--isolated", "--plan", "plan.json", "--apply", "--yes", "--allow", "destructive")
        return run(cwd, point, *words, "--journal", "j.jsonl", "--server", self.reachable("sys"))

    def end(self, cwd: Path, how: str) -> Ran:
        words = (
            ("fix", "--isolated", "--resume", "--journal", "j.jsonl") if how == "resume" else ("rollback", "j.jsonl")
        )
        given = words if how == "resume" else (*words, "--isolated")
        return run(cwd, "NONE", *given, "--yes", "--server", self.reachable("sys"))

    def reachable(self, user: str) -> str:
        there = self.cluster._running()
        urls = zip(self.cluster.names, self.cluster.servers(user), strict=True)
        return ",".join(url for name, url in urls if name in there)

    def state(self) -> Json:
        """What is there, once there is a leader again: one that was stopped may have led."""
        state: Json = {}

        def responds() -> bool:
            try:
                state.update(with_api(self.reachable("app"), seen))
            except NoResponseError:
                return False
            return True

        wait_until(responds, "the stream and its consumer to have leaders", timeout=60)
        return state

    def members(self) -> set[str]:
        """The meta group as its leader lists it, itself included."""
        leader = self.cluster.meta_leader()
        if not leader:
            return set()
        peers = self.cluster.monitor(leader, "/jsz")["meta_cluster"].get("replicas", [])
        return {leader, *(peer["name"] for peer in peers)}


def trial(lab: SystemLab, planned: Json, number: int, how: str, wrong: Callable[[Ran, str], str]) -> str:
    """One kill, and how it ended: what is wrong, in words."""
    before, cwd = lab.state(), lab.begun(planned)
    killed = lab.apply(cwd, f"KILL:{number}")
    assert killed.code == KILLED, killed.output
    ended = lab.end(cwd, how)
    incident = ("" if ended.code == 2 else ended.output) if number <= WITHOUT_PLAN else wrong(ended, how)
    now = lab.state()
    return incident or ("" if now == before else f"differs: {json.dumps(now)}\nfrom:    {json.dumps(before)}")


@pytest.mark.parametrize("version", VERSIONS)
def test_meta_step_down(cluster_factory: ClusterFactory, version: str, tmp_path: Path) -> None:
    lab = SystemLab(cluster_factory(version, nodes=3), tmp_path)

    def planned() -> Json:
        wait_until(lambda: bool(lab.cluster.meta_leader()), "a meta leader")
        return step("meta.step_down", CLUSTER, base={"cluster": {"leader": lab.cluster.meta_leader()}})

    done = lab.apply(lab.begun(planned()))
    assert done.code == 0, done.output
    failures = []
    for number, point in enumerate(done.points, 1):
        for how in ("resume", "rollback"):
            now = planned()
            first = now["base"]["cluster"]["leader"]

            def wrong(ended: Ran, how: str, first: str = first) -> str:
                wait_until(lambda: bool(lab.cluster.meta_leader()), "a meta leader")
                moved = lab.cluster.meta_leader() != first
                return "" if ended.code == 0 and (moved or how == "rollback") else f"exit {ended.code}: {ended.output}"

            if incident := trial(lab, now, number, how, wrong):
                failures.append(f"{number} {point}, then {how}: {incident}")
    figures(f"meta.step_down, {version}, 3 servers, killed", failures, 2 * len(done.points))


@pytest.mark.parametrize("version", VERSIONS)
def test_remove_peer(cluster_factory: ClusterFactory, version: str, tmp_path: Path) -> None:
    """Only the points around its write, each on a cluster of its own: a server that was removed does not come back."""

    def fresh(number: int) -> tuple[SystemLab, str, Json]:
        top = tmp_path / str(number)
        top.mkdir()
        lab = SystemLab(cluster_factory(version, nodes=3), top)
        victim = next(name for name in lab.cluster.names if name != lab.cluster.meta_leader())
        lab.cluster.stop(victim)
        return lab, victim, step("server.remove_peer", {"kind": "server", "name": victim})

    lab, _, planned = fresh(0)
    done = lab.apply(lab.begun(planned))
    assert done.code == 0, done.output
    write = next(number for number, point in enumerate(done.points, 1) if "SERVER.REMOVE" in point)
    trials = [(number, how) for number in range(write - 1, write + 3) for how in ("resume", "rollback")]
    failures = []
    for count, (number, how) in enumerate(trials, 1):
        lab.cluster.close()
        lab, victim, planned = fresh(count)

        def wrong(ended: Ran, how: str, lab: SystemLab = lab, victim: str = victim) -> str:
            left = victim in lab.members()
            reported = ended.code == 1 and GONE in " ".join(ended.output.split())
            kept_or_reported = (ended.code == 0 and left) or (reported and not left)
            good = (ended.code == 0 and not left) if how == "resume" else kept_or_reported
            return "" if good else f"exit {ended.code}, still a member: {left}: {ended.output}"

        if incident := trial(lab, planned, number, how, wrong):
            failures.append(f"{number} {done.points[number - 1]}, then {how}: {incident}")
    figures(f"server.remove_peer, {version}, 3 servers, killed", failures, len(trials))
