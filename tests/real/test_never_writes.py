"""What only looks never writes: by the servers' own record of every API request, and by their protocol trace."""

import asyncio
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nats
import pytest

from jsdoctor.cli.app import commands
from tests.cli.invoke import jsdoctor
from tests.real.wire_trace import Trace
from tests.servers import Cluster, ClusterFactory, wait_until
from tests.support.deployment import api, furnish

pytestmark = pytest.mark.real

QUICK = ("--isolated", "--interval", "50ms")
PROBED = "orders.probed"
"""Published to by a probe; servers since 2.11 only trace it, older ones are not asked."""
SCAN = ("--scan", "ORDERS", "--scan", "WORK", "--scan", "KV_config")
LIVE: dict[str, tuple[str, ...]] = {
    "check": ("check", *QUICK, "--server", "{sys}"),
    "check, plain account": ("check", *QUICK, "--server", "{app}"),
    "check, monitoring": ("check", *QUICK, "--monitor", "{monitor}"),
    "check, scan": ("check", *QUICK, "--server", "{app}", *SCAN),
    "capture": ("capture", *QUICK, "--server", "{sys}", "--output", "sys.zip"),
    "capture, scan": ("capture", *QUICK, "--server", "{app}", *SCAN, "--output", "app.zip"),
    "audit": ("audit", "--isolated", "--engine", "local", "{log}"),
    "baseline write": ("baseline", "write", *QUICK, "--server", "{app}", "base.json"),
    "baseline prune": ("baseline", "prune", *QUICK, "--server", "{app}", "base.json"),
    "diagnose": ("diagnose", *QUICK, "--server", "{app}", "--symptom", "consumer-stalled", "--stream", "ORDERS"),
    "diagnose, scan": ("diagnose", *QUICK, "--server", "{app}", "--symptom", "duplicate-messages", *SCAN),
    "diagnose, probe": ("diagnose", *QUICK, "--server", "{app}", "--probe", PROBED),
    "watch": ("watch", *QUICK, "--server", "{app}", "--for", "1s"),
    "preflight": ("preflight", *QUICK, "--server", "{sys}", "--each"),
    "where": ("where", "ORDERS", "--isolated", "--server", "{app}"),
    "capacity": ("capacity", *QUICK, "--server", "{sys}", "--size", "1GiB"),
    "fix, without --apply": ("fix", *QUICK, "--server", "{app}"),
    "fix, without --apply, system account": ("fix", *QUICK, "--server", "{sys}"),
}
"""Every way to look at a deployment."""
IN_CI = ("check", "watch", "capture, scan", "preflight", "fix, without --apply")
OFFLINE = {"compare", "explain", "rules", "config"}
"""Commands that have no option for a server."""
WRITERS = {"rollback", "demo"}
"""Commands that are there to change something; `demo` does in a server of its own."""
STARTERS = {"mcp", "serve"}
"""Commands that do what others of these do: tests/mcp shows that they are only `check`, `diagnose` and offline ones."""

READS = re.compile(
    r"\$JS\.API\.(INFO|STREAM\.(INFO\.[^.]+|LIST|NAMES|MSG\.GET\.[^.]+)|DIRECT\.GET\.[^.]+"
    r"|CONSUMER\.(LIST|NAMES)\.[^.]+|CONSUMER\.INFO\.[^.]+\.[^.]+)"
    r"|\$SYS\.REQ\.(USER\.INFO|SERVER\.PING(\.[A-Z]+)?)"
)
OWN_CONSUMER = re.compile(r"\$JS\.API\.CONSUMER\.(CREATE|INFO|MSG\.NEXT|DELETE)\.(\w+)\.(jsdoctor-\w+)")


def test_every_command_is_proven_or_known_to_contact_no_server() -> None:
    known = set(commands().commands)
    assert known - OFFLINE - WRITERS - STARTERS <= {words[0] for words in LIVE.values()}


def test_nothing_is_written_by_some(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    require_reading_only(cluster_factory(extra_config="trace: true\n"), IN_CI, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("nodes", [1, 3])
def test_nothing_is_written(cluster_factory: ClusterFactory, server_version: str, nodes: int, tmp_path: Path) -> None:
    require_reading_only(cluster_factory(server_version, nodes, extra_config="trace: true\n"), LIVE, tmp_path)


def require_reading_only(cluster: Cluster, names: Iterable[str], tmp_path: Path) -> None:
    asyncio.run(furnish(cluster.url("app"), len(cluster.names)))
    before = asyncio.run(assets(cluster))
    for name in names:
        words = LIVE[name]
        traces = [Trace(cluster.node(node).log_path) for node in cluster.names]
        asked = asyncio.run(advised(cluster, words, tmp_path))
        scans, asked_for = "--scan" in words or "--stream" in words, {PROBED} if "--probe" in words else set()
        for subject in (asked | set().union(*(trace.published() for trace in traces))) - asked_for:
            own = OWN_CONSUMER.fullmatch(subject)
            assert READS.fullmatch(subject) or (scans and own and own[2] in words), (name, subject)
        # The record is not empty for want of looking: a plain account's requests are in it.
        if "--probe" not in words:  # which servers before 2.11 are not asked
            assert bool(asked) == ("{app}" in words), name
    assert asyncio.run(assets(cluster)) == before


async def advised(cluster: Cluster, words: tuple[str, ...], directory: Path) -> set[str]:
    """Run the command; the subject of every API request that servers told of meanwhile, in both accounts."""
    subjects: set[str] = set()
    ended: set[str] = set()

    async def note(message: Any) -> None:
        event = json.loads(message.data)
        # Servers make consumers for mirrors and sources themselves; such a request has no client's name.
        {"end": ended, "jsdoctor": subjects}.get(event["client"].get("name"), set()).add(event["subject"])

    clients = [await nats.connect(cluster.servers(user), name="end") for user in ("app", "sys")]
    for client in clients:
        await client.subscribe("$JS.EVENT.ADVISORY.API", cb=note)
        await client.flush()
    places = {
        "sys": cluster.url("sys"),
        "app": cluster.url("app"),
        "monitor": cluster.monitor_urls[0],
        "log": str(cluster.node("n1").log_path),
    }
    done = await asyncio.to_thread(jsdoctor, *(word.format(**places) for word in words), cwd=directory)
    assert done.returncode in (0, 1, 3), done.stderr
    # Advisories of one server come in order: when our own request shows, so have all of before.
    await clients[0].request("$JS.API.STREAM.NAMES", timeout=10)
    await asyncio.to_thread(wait_until, lambda: "$JS.API.STREAM.NAMES" in ended, "the advisory of the last request")
    await asyncio.sleep(0.2 if len(cluster.names) > 1 else 0)  # those of other servers come by way of routes
    for client in clients:
        await client.close()
    return subjects


async def assets(cluster: Cluster) -> list[Any]:
    """Configuration and content of every stream and consumer, without what time alone changes."""
    client = await nats.connect(cluster.servers("app"))
    streams = (await api(client, "STREAM.LIST"))["streams"]
    kept: list[Any] = []
    for stream in sorted(streams, key=lambda s: str(s["config"]["name"])):
        kept.append((stream["config"], stream["created"], stream["state"]))
        consumers = (await api(client, f"CONSUMER.LIST.{stream['config']['name']}"))["consumers"]
        consumers.sort(key=lambda c: str(c["name"]))
        kept += [{key: c[key] for key in ("name", "config", "created", "delivered", "ack_floor")} for c in consumers]
    await client.close()
    return kept
