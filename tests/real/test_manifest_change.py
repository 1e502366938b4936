"""What a change of manifests does to a deployment: steps in order, messages at stake, drift, and what a gate counts."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.cli.invoke import jsdoctor
from tests.servers import ClusterFactory
from tests.support.deployment import HOUR_NS, add_consumer, add_stream
from tests.support.outage import with_client
from tests.support.reports import run_check

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("manifests")]


Json = dict[str, Any]

SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "docs/schema/report-v1.json").read_text())
SAME: Json = {"name": "SAME", "subjects": ["same"], "storage": "file"}
OLD: Json = {"name": "OLD", "subjects": ["orders.>", "bills.>"], "storage": "file"}
EVENTS: Json = {"name": "EVENTS", "subjects": ["events"], "storage": "file"}
READER: Json = {"stream_name": "EVENTS", "config": {"durable_name": "reader", "ack_policy": "explicit"}}


def test_the_change_of_manifests(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    cluster = cluster_factory(nodes=1)

    async def plant(client: Any) -> None:
        for stream in (SAME, OLD, EVENTS, {"name": "FORGOTTEN", "subjects": ["f"]}):
            await add_stream(client, **stream)
        await add_consumer(client, "SAME", "by-hand")
        for number in range(10):
            await client.jetstream().publish("orders.new", str(number).encode())

    with_client(cluster, plant)
    deploy = tmp_path / "deploy"
    deploy.mkdir()
    declared = {
        "1-copy": {"name": "COPY", "storage": "file", "sources": [{"name": "BILLS"}]},
        "2-bills": {"name": "BILLS", "subjects": ["bills.>"], "storage": "file"},
        "3-old": OLD | {"subjects": ["orders.>"], "max_msgs": 4, "max_age": HOUR_NS},
        "4-same": SAME,
        "5-events": EVENTS | {"retention": "interest"},
        "6-reader": READER,
    }
    for name, content in declared.items():
        (deploy / f"{name}.json").write_text(json.dumps(content))

    asked = ("-s", cluster.url("app"), "--samples", "1", "--manifest", str(deploy))
    _, report = run_check(*asked)
    jsonschema.validate(report, SCHEMA)
    change = report["change"]
    order = [(step["action"], step["subject"]["name"]) for step in change["steps"]]
    assert sorted(order) == [
        ("create", "BILLS"),
        ("create", "COPY"),
        ("create", "reader"),
        ("update", "EVENTS"),
        ("update", "OLD"),
    ]
    place = {name: number for number, (_, name) in enumerate(order)}
    assert place["OLD"] < place["BILLS"] < place["COPY"], "a subject is given up before it is taken, then copied"
    assert place["reader"] < place["EVENTS"], "interest retention needs the consumer first"
    old = change["steps"][place["OLD"]]
    assert old["messages"] == 10
    assert "the oldest 6 are deleted" in old["at_stake"]
    assert {field["field"]: (field["before"], field["after"]) for field in old["fields"]} == {
        "subjects": ("orders.>, bills.>", "orders.>"),
        "max_msgs": ("-1", "4"),
        "max_age": ("0s", "1h"),
    }
    assert change["steps"][place["BILLS"]]["at_stake"] == ""
    assert change["unchanged"] == 1
    names = {(asset["kind"], asset["name"]) for asset in change["undeclared"]}
    assert names == {("stream", "FORGOTTEN"), ("consumer", "by-hand")}

    text = jsdoctor("check", *asked, "--format", "markdown", "--max-examples", "0", cwd=tmp_path).stdout
    assert "### Change · 2 create, 3 update" not in text
    assert "### Change · 3 create, 2 update, 1 unchanged, 2 deployed and in no manifest" in text
    assert (
        "| <code>OLD</code> | <code>max&#95;msgs</code>" in text or "<code>max\\_msgs</code> | <code>-1</code>" in text
    )
    shown = jsdoctor("check", *asked, "--max-examples", "0", cwd=tmp_path).stdout
    assert "Change: 3 create, 2 update" in shown
    assert "in no manifest: APP > FORGOTTEN" in shown

    _, report = run_check("-s", cluster.url("sys"), *asked[2:])
    assert [(step["action"], step["subject"]["name"]) for step in report["change"]["steps"]] == order
    assert report["change"]["incomplete"] == ""

    _, report = run_check(*asked, "--ignore", "JSD615")
    [old] = [step for step in report["change"]["steps"] if step["subject"]["name"] == "OLD"]
    assert old["at_stake"] == "not known", "a rule that did not run found nothing out"


def test_without_a_deployment_there_is_no_change(tmp_path: Path) -> None:
    (tmp_path / "same.json").write_text(json.dumps(SAME))
    _, report = run_check("--manifest", str(tmp_path))
    assert report["change"] is None


def test_drift_fails_in_both_directions(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    cluster = cluster_factory(nodes=1)

    async def plant(client: Any) -> None:
        await add_stream(client, **SAME)
        await add_stream(client, **EVENTS)

    with_client(cluster, plant)
    deploy = tmp_path / "deploy"
    deploy.mkdir()

    def drift(*streams: Json, server: str = cluster.url("app")) -> int:
        for stream in (SAME, EVENTS, OLD):
            (deploy / f"{stream['name']}.json").unlink(missing_ok=True)
        for stream in streams:
            (deploy / f"{stream['name']}.json").write_text(json.dumps(stream))
        where = ("-s", server) if server else ()
        asked = ("--samples", "1", "--fail-on", "critical", "--select", "JSD6", "--drift")
        return run_check(*where, "--manifest", str(deploy), *asked)[0]

    assert drift(SAME, EVENTS) == 0
    assert drift(SAME) == 1, "deployed, and no manifest has it"
    assert drift(SAME, EVENTS, OLD) == 1, "declared, and not deployed"
    assert drift(SAME, EVENTS | {"max_msgs": 7}) == 1, "deployed otherwise"
    assert drift(SAME, EVENTS, server="") == 3, "nothing to compare with"
    assert jsdoctor("check", "--drift", cwd=tmp_path).returncode == 2


def test_a_server_that_was_not_contacted_may_have_the_stream(shared_cluster: ClusterFactory, tmp_path: Path) -> None:
    cluster = shared_cluster(nodes=3)

    async def plant(client: Any) -> str:
        made = await add_stream(client, "FAR", subjects=["far"], num_replicas=1, storage="file")
        return str(made["cluster"]["leader"])

    there = with_client(cluster, plant)
    (tmp_path / "far.json").write_text(json.dumps({"name": "FAR", "subjects": ["far"], "storage": "file"}))
    urls = dict(zip(cluster.names, cluster.monitor_urls, strict=True))
    other = next(name for name in cluster.names if name != there)

    def seen(*names: str) -> tuple[list[str], list[str]]:
        asked = [word for name in names for word in ("--monitor", urls[name])]
        _, report = run_check(*asked, "--samples", "1", "--manifest", str(tmp_path))
        about = [gap["reason"] for gap in report["gaps"] if gap["kind"] == "server" and not gap["requested"]]
        return [step["action"] for step in report["change"]["steps"]], about

    steps, [reason] = seen(other)
    assert steps == ["unclear"], "it is there, and its server was not asked"
    assert "2 more servers are members of the meta group" in reason
    steps, [reason] = seen(other, there)
    assert steps == []
    assert "1 more server is a member" in reason
    assert seen(*cluster.names) == ([], [])


BOUNDED: Json = {"max_age": HOUR_NS, "max_bytes": 1 << 20, "max_msgs": 100, "discard": "old", "storage": "file"}
UNBOUNDED: Json = {"name": "ORDERS", "subjects": ["orders.>"], "storage": "file"}
NEW: Json = {"name": "NEW", "subjects": ["new.>"], **BOUNDED}
ITS_READER: Json = {"name": "reader", "durable_name": "reader", "ack_policy": "explicit", "max_deliver": 5}

ON_ORDERS = ("JSD601", "ORDERS")
"""The finding that is there before any change: nothing limits the stream."""


def test_a_gate_judges_the_change(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    cluster = cluster_factory(nodes=1)

    async def plant(client: Any) -> None:
        await add_stream(client, **UNBOUNDED)
        await add_consumer(client, "ORDERS", "reader", max_deliver=5)

    with_client(cluster, plant)
    deploy = tmp_path / "deploy"
    deploy.mkdir()

    def gate(manifests: dict[str, Json], *options: str) -> tuple[int, set[tuple[str, str]], set[tuple[str, str]]]:
        for file in deploy.iterdir():
            file.unlink()
        for name, content in manifests.items():
            (deploy / f"{name}.json").write_text(json.dumps(content))
        asked = ("--manifest", str(deploy), "--samples", "1", "--select", "JSD3,JSD4,JSD6", *options)
        code, report = run_check("-s", cluster.url("app"), "--fail-on", "warning", *asked)
        failed = [
            result for result in report["results"] if result["outcome"] == "fail" and result["severity"] != "info"
        ]
        before = {(result["code"], result["subject"]["name"]) for result in failed if result["suppressed"]}
        assert {result["suppressed"]["kind"] for result in failed if result["suppressed"]} <= {"existing"}
        assert len(before) <= report["summary"]["suppressed"]
        return (
            code,
            {(result["code"], result["subject"]["name"]) for result in failed if not result["suppressed"]},
            before,
        )

    code, counted, before = gate({"new": NEW})
    assert (code, counted) == (0, set()), "a fault of production does not fail a change elsewhere"
    assert ON_ORDERS in before
    code, counted, _ = gate({"new": NEW}, "--all-findings")
    assert code == 1
    assert ON_ORDERS in counted

    code, counted, before = gate({"orders": UNBOUNDED, "new": NEW})
    assert (code, counted) == (0, set()), "a manifest that says what is deployed changes nothing"
    assert ON_ORDERS in before
    code, counted, _ = gate({"orders": UNBOUNDED | {"description": "all orders", "max_msg_size": 1 << 20}})
    assert code == 1, "a change of the stream touches its faults"
    assert ON_ORDERS in counted
    code, counted, before = gate({"orders": UNBOUNDED | BOUNDED})
    assert (code, counted) == (0, set()), "a change that fixes a fault is not charged with it"
    assert ON_ORDERS in before
    code, counted, _ = gate({"orders": UNBOUNDED, "reader": {"stream_name": "ORDERS", "config": ITS_READER}})
    assert (code, counted) == (0, set()), "nor does a consumer as it is"
    code, counted, _ = gate({"new": NEW | {"max_bytes": 0, "max_msgs": 0, "max_age": 0}})
    assert code == 1
    assert ("JSD601", "NEW") in counted, "the change causes it"

    (deploy / "new.json").write_text(json.dumps(NEW))
    shown = jsdoctor("check", "-s", cluster.url("app"), "--manifest", str(deploy), cwd=tmp_path).stdout
    assert "Found before the change" in shown
    assert "--all-findings counts them" in shown
    table = jsdoctor(
        *("check", "-s", cluster.url("app"), "--manifest", str(deploy), "--format", "markdown"), cwd=tmp_path
    ).stdout
    assert "|   | Action | Subject | Declared at | Messages at stake | Why here |" in table
