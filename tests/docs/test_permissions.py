"""docs/permissions.md: with exactly those permissions each command works, and every line of them is used."""

import asyncio
import json
import re
from collections.abc import Iterable
from pathlib import Path

import nats
import pytest

from tests.cli.invoke import jsdoctor
from tests.clock import ShiftClock
from tests.docs.permitted_steps import SINCE, STEPS, Place
from tests.real.wire_trace import Trace
from tests.remedy.asking import plain_api
from tests.servers import DEFAULT_VERSION, ROOT, Cluster, ClusterFactory
from tests.support.deployment import add_consumer, add_stream

pytestmark = pytest.mark.real

_BLOCK = re.compile(r"^```permissions ([\w-]+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SUBJECT = re.compile(r'"([^"]+)"')
BLOCKS: dict[str, str] = dict(_BLOCK.findall((ROOT / "docs" / "permissions.md").read_text()))
QUICK = ("--isolated", "--format", "json", "--interval", "50ms")

SAMPLES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "look-system": (("look-system",), ("check", *QUICK)),
    "look-account": (("look-account",), ("check", *QUICK)),
    "scan-consumer": (("look-account", "scan-consumer"), ("check", *QUICK, "--scan", "ORDERS")),
    "scan-messages": (("look-account", "scan-messages"), ("check", *QUICK, "--scan", "WORK")),
    "probe": (("probe",), ("diagnose", "--isolated", "--format", "json", "--probe", "orders.new")),
    "look-metrics": (("look-account", "look-metrics"), ("check", *QUICK)),
}
"""The blocks that a login has, and the command that it runs, for each block of the page that this is about."""
APPLY = ("fix", "--isolated", "--plan", "plan.json", "--apply", "--yes", "--allow", "destructive", "--format", "json")
IN_CI = ("fix-backup", "fix-restore")


def subjects(block: str, what: str) -> list[str]:
    """The subjects of one direction in a block."""
    match = re.search(rf"^{what}: \[(.*?)\]", BLOCKS[block], re.MULTILINE | re.DOTALL)
    return _SUBJECT.findall(match[1]) if match else []


def permissions(blocks: Iterable[str]) -> str:
    """Several blocks in one, as a server takes them."""
    both = {what: [s for block in blocks for s in subjects(block, what)] for what in ("publish", "subscribe")}
    return "permissions: {" + ", ".join(f"{what}: {json.dumps(patterns)}" for what, patterns in both.items()) + "}"


def matches(pattern: str, subject: str) -> bool:
    """Whether a subject is one of those that the pattern allows."""
    wanted, tokens = pattern.split("."), subject.split(".")
    if wanted[-1] == ">":
        return len(tokens) >= len(wanted) and matches(".".join(wanted[:-1]), ".".join(tokens[: len(wanted) - 1]))
    return len(wanted) == len(tokens) and all(w in ("*", t) for w, t in zip(wanted, tokens, strict=True))


def block_for_samples(block: str) -> str:
    """The block for looking with a login of the same account."""
    return "look-system" if block.endswith("-system") else "look-account"


def accounts() -> str:
    """A user for each block, beside one of each account that may do everything."""
    users = {"SYS": ["{user: sys, password: sys}"], "APP": ["{user: app, password: app}"]}
    logins = {name: blocks for name, (blocks, _) in SAMPLES.items()} | {n: (block_for_samples(n), n) for n in STEPS}
    for name, blocks in logins.items():
        account = "SYS" if name.endswith("-system") else "APP"
        users[account].append(f"{{user: {name}, password: {name}, {permissions(blocks)}}}")
    listed = {name: f"users: [{', '.join(names)}]" for name, names in users.items()}
    return f"accounts: {{ SYS: {{ {listed['SYS']} }}, APP: {{ jetstream: enabled, {listed['APP']} }} }}\ntrace: true\n"


class Traces:
    """What was sent to any server of a cluster, and denied by it."""

    def __init__(self, cluster: Cluster) -> None:
        self._traces = [Trace(cluster.node(node).log_path) for node in cluster.names]

    def require_all(self, block: str) -> None:
        """Nothing was denied, and every line of the block was needed."""
        assert [line for trace in self._traces for line in trace.violations()] == [], block
        sent = set().union(*(trace.published() for trace in self._traces))
        subscribed = set().union(*(trace.subscribed() for trace in self._traces))
        used = {"publish": sent | subscribed, "subscribe": subscribed}  # a trace comes to what was subscribed to
        for what, those in used.items():
            lines = subjects(block, what)
            assert [line for line in lines if not any(matches(line, subject) for subject in those)] == [], block
        assert sent, block


def test_every_block_of_the_page_is_tried() -> None:
    assert SAMPLES.keys() | STEPS.keys() == BLOCKS.keys()


async def furnish(cluster: Cluster) -> None:
    client = await nats.connect(cluster.servers("app"))
    for name, config in {"ORDERS": {}, "WORK": {"retention": "workqueue"}}.items():
        subject = f"{name.lower()}.new"
        await add_stream(client, name, subjects=[subject], num_replicas=len(cluster.names), **config)
        await add_consumer(client, name, "worker")
        for _ in range(20):
            await client.request(subject, b"", timeout=10)
    await client.close()


async def measure(cluster: Cluster) -> None:
    """From now on there is a consumer whose acknowledgements are measured."""
    client = await nats.connect(cluster.servers("app"))
    await add_consumer(client, "ORDERS", "measured", sample_freq="100")
    await client.close()


@pytest.mark.nightly
def test_looking(cluster_factory: ClusterFactory, server_version: str, tmp_path: Path) -> None:
    require_exact(cluster_factory(server_version, 3, extra_config=accounts()), SAMPLES, server_version, tmp_path)


def test_looking_some(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    cluster = cluster_factory(DEFAULT_VERSION, 3, extra_config=accounts())
    require_exact(cluster, ("look-system", "look-account"), DEFAULT_VERSION, tmp_path)


def require_exact(cluster: Cluster, names: Iterable[str], version: str, tmp_path: Path) -> None:
    """Nothing is denied and nothing is missing, with no more than what the page lists, all of which is needed."""
    asyncio.run(furnish(cluster))
    for name in names:
        words = SAMPLES[name][1]
        if name == "look-metrics":
            asyncio.run(measure(cluster))
        traces = Traces(cluster)
        done = jsdoctor(*words, "--server", cluster.url(name), cwd=tmp_path)
        assert done.stdout, done.stderr
        if words[0] == "check":
            assert [gap for gap in json.loads(done.stdout)["gaps"] if gap["requested"]] == [], name
        elif version >= "2.11":  # older servers would store a probe, and are not asked
            assert json.loads(done.stdout)["probe"]["stream"] == "ORDERS"
        else:
            continue
        traces.require_all(name)


async def ready(name: str, cluster: Cluster, directory: Path, shift: ShiftClock) -> None:
    """Make what the step changes, and write the plan that has only this step; then take it."""
    async with plain_api(cluster.url("app")) as to:
        step = await STEPS[name](Place(cluster, to, directory, shift))
        full = {"effect": "as asked", **step}
        plan = {"schema": "jsdoctor.plan/v1", "version": "0", "created": "2026-01-01T00:00:00Z", "steps": [full]}
        (directory / "plan.json").write_text(json.dumps(plan))
        traces = Traces(cluster)
        words = (*APPLY, "--journal", f"{name}.jsonl", "--server", cluster.url(name))
        done = await asyncio.to_thread(jsdoctor, *words, cwd=directory, timeout=120)
        assert done.stdout, (name, done.stderr)
        (ended,) = json.loads(done.stdout)["steps"]
        assert ended["ending"] == "verified", (name, ended)
        traces.require_all(name)


def able(version: str) -> list[str]:
    """Blocks of steps that servers of this version can take."""
    return [name for name in STEPS if tuple(map(int, version.split(".")[:2])) >= SINCE.get(name, (0, 0))]


@pytest.mark.nightly
def test_mending(cluster_factory: ClusterFactory, server_version: str, tmp_path: Path, shift_clock: ShiftClock) -> None:
    cluster = cluster_factory(server_version, 3, extra_config=accounts())
    for name in able(server_version):
        asyncio.run(ready(name, cluster, tmp_path, shift_clock))


def test_mending_some(cluster_factory: ClusterFactory, tmp_path: Path, shift_clock: ShiftClock) -> None:
    cluster = cluster_factory(extra_config=accounts())
    for name in IN_CI:
        asyncio.run(ready(name, cluster, tmp_path, shift_clock))
