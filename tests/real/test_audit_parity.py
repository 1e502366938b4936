"""What `nats audit analyze` finds in an archive is found here in the same archive, with the thing it is about named."""

import asyncio
import contextlib
import json
import re
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import nats
import pytest

from jsdoctor.demo.server import NatsServer, free_ports
from tests.docs.test_peers import section
from tests.servers import Cluster, ClusterFactory, cluster_factories, server_binary, wait_until
from tests.servers.http import get
from tests.servers.landscape import ACCOUNTS
from tests.sources.certificates import Certificates
from tests.support.deployment import HOUR_NS, add_consumer, add_stream
from tests.support.reports import Json, run_check
from tests.support.ruleset import rules
from tests.support.stored import store
from tools.record_archives import gather

pytestmark = [pytest.mark.real, pytest.mark.nightly]
STATES = ("misconfigured", "worn", "overloaded", "of yesterday", "one server down", "no quorum")

FALSE = [
    ("JETSTREAM_003", r"stream RING ", "a stream that removes its oldest messages at the limit is meant to be full"),
    ("JETSTREAM_003", r"stream PAIR ", "a max_consumers this small is the exact number that somebody wants"),
    ("JETSTREAM_004", r"Expected 0 replicas", "without peer-expect nobody said how many replicas there should be"),
    ("JETSTREAM_005", r"consumer prompt .* Last ack", "its age is that of the archive: it was fine when gathered"),
]
"""What they flag and is no fault: check, which of its examples, why. Nothing may be said of these here."""

UNDECIDED = [
    ("SERVER_003", "one reading of a processor may be a moment; the server is named, and that two readings are needed")
]
"""What they flag and one archive cannot decide: here it is not evaluated, for that subject, and never passed."""

UNHEARD = {"JSD702", "JSD901"}
"""What servers still show of a stream whose leader is gone is old. Here that is said, and its limits are not judged.
Without a meta leader nobody tells which members are away: those that did not respond are named."""


MONITOR = "io.nats.monitor."
Edit = Callable[[dict[str, str], Json], None]
"""Changes one member of an archive, given its labels and its content."""


@contextlib.contextmanager
def misconfigured(directory: Path) -> Iterator[str]:
    """Two clusters with a gateway: `C one` of which one server knows no gateway, and `D` of another version, open to
    everybody, with a leaf node `leaf one`. Yields the address of one of them. Later servers refuse such names.
    """
    routes, gateways, leafs = free_ports(3), free_ports(4), free_ports(1)[0]
    with contextlib.ExitStack() as running:

        def start(name: str, config: str, version: str = "2.10.26") -> NatsServer:
            return running.enter_context(
                NatsServer.start(server_binary(version), f'server_name: "{name}"\n{config}{ACCOUNTS}', directory / name)
            )

        def listen(port: int) -> str:
            return f'listen: "127.0.0.1:{port}"'

        peers = ", ".join(f'"nats://127.0.0.1:{port}"' for port in routes)
        nodes = []
        for index, route in enumerate(routes):
            known = f'{{name: D, url: "nats://127.0.0.1:{gateways[3]}"}}' if index < 2 else ""
            nodes.append(
                start(
                    f"n{index + 1}",
                    "jetstream {store_dir: store, max_memory_store: 64M, max_file_store: 64M}\n"
                    f'cluster {{name: "C one", {listen(route)}, routes: [{peers}]}}\n'
                    f'gateway {{name: "C one", {listen(gateways[index])}, gateways: [{known}]}}\n',
                )
            )
        edge = start(
            "d1",
            f"cluster {{name: D, {listen(free_ports(1)[0])}}}\nleafnodes {{{listen(leafs)}}}\nno_auth_user: app\n"
            f'gateway {{name: D, {listen(gateways[3])}, gateways: [{{name: "C one", url: "nats://127.0.0.1:{gateways[0]}"}}]}}\n',
            "2.12.8",
        )
        start(
            "leaf one",
            f"cluster {{name: L, {listen(free_ports(1)[0])}}}\n"
            f'leafnodes {{remotes: [{{url: "nats://app:app@127.0.0.1:{leafs}", account: APP}}]}}\n',
        )
        wait_until(lambda: _reported(edge, "/leafz", "leafs"), "the leaf node to connect")
        wait_until(lambda: _reported(edge, "/gatewayz", "outbound_gateways"), "a gateway to C one")
        wait_until(lambda: all(_reported(n, "/gatewayz", "outbound_gateways") for n in nodes), "gateways to D")
        wait_until(lambda: _reported(nodes[0], "/jsz", "meta_cluster").get("leader"), "a meta leader")
        yield nodes[0].url


def _reported(server: NatsServer, path: str, key: str) -> Any:
    return get(server.monitor_url + path).json().get(key) or {}


def worn(launch: ClusterFactory, directory: Path) -> Cluster:
    """Three servers with little storage, most of it used, one with a certificate for two days; see `wear`."""
    certificate, key = Certificates(directory).localhost
    port = free_ports(1)[0]
    websocket = f'websocket {{ listen: "127.0.0.1:{port}", tls {{ cert_file: "{certificate}", key_file: "{key}" }} }}\n'
    cluster = launch(
        "2.15.1",
        3,
        jetstream="max_memory_store: 64M\n  max_file_store: 12M",
        node_config=lambda name: websocket if name == "n1" else "",
    )
    asyncio.run(wear(cluster.url("app")))
    return cluster


async def wear(url: str) -> None:
    """Streams at their limits, and past the thresholds in their metadata."""
    client = await nats.connect(url.split(","))
    jetstream = client.jetstream()

    async def stream(name: str, messages: int, size: int = 8, **config: Any) -> None:
        await add_stream(client, name, subjects=[name], **{"num_replicas": 3, "max_age": 72 * HOUR_NS, **config})
        for _ in range(messages):
            await store(client, name, body=b"x" * size)

    await stream("HEAVY", 11, size=1_000_000)
    await stream("FULL", 10, max_msgs=10, discard="new")
    await stream("RING", 12, max_msgs=10, discard="old")
    await stream("PAIR", 0, max_consumers=2)
    await stream("LAGGING", 100)
    few = {f"{MONITOR}peer-expect": "3", f"{MONITOR}msgs-critical": "10"}
    await stream("FEW", 5, metadata={f"{MONITOR}enabled": "true", **few})
    await stream("WATCHED", 5, metadata={f"{MONITOR}enabled": "true", f"{MONITOR}msgs-critical": "3"})
    for name in ("one", "two"):
        await add_consumer(client, "PAIR", name)
    watched = {f"{MONITOR}enabled": "true", f"{MONITOR}outstanding-ack-critical": "2"}
    await add_consumer(client, "WATCHED", "slow", ack_wait=HOUR_NS, metadata=watched)
    await add_consumer(
        client, "WATCHED", "prompt", metadata={f"{MONITOR}enabled": "true", f"{MONITOR}last-ack-critical": "10m"}
    )
    await (await jetstream.pull_subscribe_bind("slow", stream="WATCHED")).fetch(3)
    for message in await (await jetstream.pull_subscribe_bind("prompt", stream="WATCHED")).fetch(5):
        await message.ack_sync()
    await client.close()


def archives(nats_cli: Path, launch: ClusterFactory, directory: Path) -> dict[str, Path]:
    """One archive of each state, by name."""
    archives_by_state: dict[str, Path] = {}
    with misconfigured(directory / "misconfigured") as url:
        archives_by_state["misconfigured"] = gather(nats_cli, [url], directory / "misconfigured.zip")
    (directory / "certificates").mkdir()
    cluster = worn(launch, directory / "certificates")
    archives_by_state["worn"] = gather(nats_cli, cluster.urls, directory / "worn.zip", profiles=True)
    archives_by_state["overloaded"] = edited(archives_by_state["worn"], directory / "overloaded.zip", overload)
    archives_by_state["of yesterday"] = aged(archives_by_state["worn"], directory / "yesterday.zip", timedelta(days=1))
    victim = next(name for name in cluster.names if name != cluster.meta_leader())
    cluster.stop(victim)
    leader = cluster.meta_leader()
    assert leader
    wait_until(lambda: _offline(cluster, leader), f"{victim} to be called offline", timeout=30)
    archives_by_state["one server down"] = gather(nats_cli, cluster.urls, directory / "down.zip")
    survivor = next(name for name in cluster.names if name not in (victim, leader))
    cluster.kill(leader)
    # Each group finds out for itself that it has no quorum: what changes while it is gathered is judged either way.
    wait_until(lambda: not _leaders(cluster, survivor), "no leader", timeout=60)
    young = gather(nats_cli, cluster.urls, directory / "quorum.zip")
    archives_by_state["no quorum"] = edited(young, directory / "old-quorum.zip", run_for_an_hour)
    return archives_by_state


def _leaders(cluster: Cluster, name: str) -> set[str]:
    """The leaders that a server reports: of the meta group, and of streams and consumers."""
    reported = cluster.monitor(name, "/jsz?streams=true&consumers=true")
    streams = [stream for account in reported["account_details"] for stream in account["stream_detail"]]
    consumers = [consumer for stream in streams for consumer in stream.get("consumer_detail") or ()]
    groups = [reported["meta_cluster"], *(asset.get("cluster") or {} for asset in (*streams, *consumers))]
    return {group["leader"] for group in groups if group.get("leader")}


def _offline(cluster: Cluster, leader: str) -> bool:
    return any(peer.get("offline") for peer in cluster.monitor(leader, "/jsz")["meta_cluster"]["replicas"])


def overload(labels: dict[str, str], content: Json) -> None:
    """What takes too long to bring about for real, on servers that did not start just now."""
    run_for_an_hour(labels, content)
    data = content.get("data", {})
    match labels.get("artifact_type"), labels.get("server"):
        case "variables", "n1":
            data |= {"cpu": 95.0 * data["cores"], "slow_consumers": 7}
        case "variables", "n3":
            data |= {"mem": 4 << 30, "auth_required": False}
        case "jetstream_info", server:
            data["config"]["domain"] = "d one"
            data["ha_assets"] = 2000 if server == "n2" else data["ha_assets"]
    for detail in (s for a in data.get("account_details", ()) for s in a["stream_detail"]):
        _overload_stream(labels["server"], detail)
    if labels.get("artifact_type") == "stream_info":
        _overload_stream(labels["server"], content)


def run_for_an_hour(labels: dict[str, str], content: Json) -> None:
    """Servers that have just started are given time to find leaders and to catch up. These had enough."""
    if labels.get("artifact_type") == "variables":
        content["data"]["start"] = (datetime.now(UTC) - timedelta(hours=1)).isoformat()


def _overload_stream(server: str, detail: Json) -> None:
    if detail["name"] == "HEAVY":
        detail["state"]["num_subjects"] = 2_000_000
    if detail["name"] == "LAGGING" and detail["cluster"]["leader"] != server:
        detail["state"] |= {"last_seq": 70, "messages": 70}


def edited(source: Path, target: Path, edit: Edit) -> Path:
    """A copy of the archive with each JSON member changed by `edit`."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        manifest = json.loads(old.read("capture/misc/manifest.json"))
        for name in old.namelist():
            body = old.read(name)
            if name in manifest and name.endswith(".json"):
                content = json.loads(body)
                edit({tag["Name"]: tag["Value"] for tag in manifest[name]}, content)
                body = json.dumps(content).encode()
            new.writestr(name, body)
    return target


def aged(source: Path, target: Path, by: timedelta) -> Path:
    """A copy of the archive as it would be if all had happened that much earlier."""

    def earlier(match: re.Match[bytes]) -> bytes:
        moment = datetime.fromisoformat(match[1].decode())
        return (moment - by).isoformat().encode() if moment.year > 2000 else match[1]

    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, re.sub(rb"(?<=\")(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?=[.Z+-])", earlier, old.read(name)))
    return target


# What both say of them


@cache
def mapping() -> dict[str, set[str]]:
    """Our rules by the code of their check."""
    rows = re.findall(r"^\| ([A-Z]+_\d+) (.+)$", section("`nats audit`"), re.MULTILINE)
    return {code: set(re.findall(r"\[(JSD\d+)\]", row)) for code, row in rows}


class Verdicts:
    """One archive, judged by both."""

    def __init__(self, nats_cli: Path, path: Path) -> None:
        command = [str(nats_cli), "audit", "analyze", str(path), "--json", "--max-examples", "0"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        self.theirs: list[Json] = json.loads(done.stdout)["checks"]
        # The streams are seconds old, so that their copies would not be compared yet.
        _, self.report = run_check("--bundle", str(path), "-vv", "--set", "JSD207.settle=0s")

    def flagged(self) -> list[tuple[str, str]]:
        """Code and example of all that is WARN or FAIL there."""
        return [
            (check["check"]["code"], example)
            for check in self.theirs
            if check["outcome_string"] in ("WARN", "FAIL")
            for example in check["examples"]["examples"]
        ]

    def ours(self, code: str, example: str, outcome: str = "fail") -> list[Json]:
        """What the rules for that check say of what the example names."""
        return self._of(mapping()[code], example, outcome)

    def is_unheard(self, code: str, example: str) -> bool:
        """Whether that stream, consumer or meta group has no leader that could tell, and this is reported of it."""
        leaderless = code.startswith("JETSTREAM") or (code == "META_001" and self._of({"JSD701"}, example, "fail"))
        return bool(leaderless and self._of(UNHEARD, example, "fail"))

    def _of(self, rules: AbstractSet[str], example: str, outcome: str) -> list[Json]:
        return [
            result
            for result in self.report["results"]
            if result["code"] in rules and result["outcome"] == outcome and _names(example, result["subject"])
        ]


def _names(example: str, subject: Json) -> bool:
    """Whether it is about that subject; about the cluster as a whole, where no name is given."""
    if not subject["name"]:
        return bool(subject["kind"] == "cluster")
    names = filter(None, (subject["name"], subject["stream"]))
    return all(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", example) for name in names)


def _known_false(code: str, example: str) -> bool:
    return any(code == check and re.search(pattern, example) for check, pattern, _ in FALSE)


@pytest.fixture(scope="module")
def verdicts(nats_cli: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdicts]:
    directory = tmp_path_factory.mktemp("parity")
    with cluster_factories(directory / "clusters") as launch:
        paths = archives(nats_cli, launch, directory)
    return {state: Verdicts(nats_cli, path) for state, path in paths.items()}


@pytest.mark.parametrize("state", STATES)
def test_all_that_they_flag_is_flagged(verdicts: dict[str, Verdicts], state: str) -> None:
    judged, missing = verdicts[state], []
    built = {rule.code for rule in rules()}
    for code, example in judged.flagged():
        if _known_false(code, example) or not mapping()[code] & built or judged.is_unheard(code, example):
            continue
        if not judged.ours(code, example, "not_evaluated" if code in dict(UNDECIDED) else "fail"):
            missing.append(f"{code} {example}: none of {', '.join(sorted(mapping()[code]))}")
    assert not missing
    assert judged.flagged(), "this state shows nothing"


def test_their_false_alarms_are_not_repeated(verdicts: dict[str, Verdicts]) -> None:
    """Each of them was raised, and nothing was said of it here."""
    raised = {(code, example): judged for judged in verdicts.values() for code, example in judged.flagged()}
    for check, pattern, why in FALSE:
        false_alarms = [
            (key, judged) for key, judged in raised.items() if key[0] == check and re.search(pattern, key[1])
        ]
        assert false_alarms, f"{check} {pattern} is not raised any more: {why}"
        for (code, example), judged in false_alarms:
            assert not judged.ours(code, example), why


def test_every_check_that_can_fail_did(verdicts: dict[str, Verdicts]) -> None:
    """All but one of their checks were made to speak, so that this comparison leaves none out.

    ACCOUNTS_001 reads its file without the envelope that is around it since 0.2.0, and finds no account's limits.
    """
    spoke = {code for judged in verdicts.values() for code, _ in judged.flagged()}
    known = {check["check"]["code"] for check in verdicts["worn"].theirs}
    assert known == set(mapping())
    assert known - spoke == {"ACCOUNTS_001"}


def test_profiles_put_time_between_two_samples(verdicts: dict[str, Verdicts]) -> None:
    """Rates need two looks. An archive without profiles has them too close together, and says so."""
    apart, close = ({r["code"]: r for r in verdicts[state].report["rules"]} for state in ("worn", "one server down"))
    for code in ("JSD205", "JSD206", "JSD704"):
        assert apart[code]["outcome"] == "pass"
        assert close[code]["outcome"] == "not_evaluated"
        assert "two samples" in close[code]["reason"]
