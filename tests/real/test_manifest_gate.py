"""A gate beside a deployment counts what the change causes or touches, and lists what was there before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.invoke import jsdoctor
from tests.real.outage import check, with_client
from tests.servers import ClusterFactory
from tests.support.deployment import HOUR_NS, add_consumer, add_stream

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("manifests")]

Json = dict[str, Any]

BOUNDED: Json = {"max_age": HOUR_NS, "max_bytes": 1 << 20, "max_msgs": 100, "discard": "old", "storage": "file"}
UNBOUNDED: Json = {"name": "ORDERS", "subjects": ["orders.>"], "storage": "file"}
NEW: Json = {"name": "NEW", "subjects": ["new.>"], **BOUNDED}
READER: Json = {"name": "reader", "durable_name": "reader", "ack_policy": "explicit", "max_deliver": 5}

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
        code, report = check("-s", cluster.url("app"), "--fail-on", "warning", *asked)
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
    code, counted, _ = gate({"orders": UNBOUNDED, "reader": {"stream_name": "ORDERS", "config": READER}})
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
