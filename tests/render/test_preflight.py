"""What a preflight looks like: the verdict first, names, and no more than an operator needs."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from jsdoctor.engine.preflight.judge import preflight
from jsdoctor.model.preflight import Preflight, PreflightReport
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.preflight import render_preflight, render_preflight_markdown
from jsdoctor.render.preflight_json import render_preflight_json
from tests.engine.test_preflight import only_on_n2, orders, peer, single
from tests.render.golden import assert_golden
from tests.servers import ROOT
from tests.support.evidence import evidence_of

WIDTH = 80
AT = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)
GONE = [
    {"stream": name, "set": {"cluster.leader": "n1", "cluster.replicas": [peer("n2"), lost]}}
    for lost in [peer("n3", current=False, offline=True, active=190_000_000_000)]
    for name in ("APP/ORDERS", "APP/WORK", "APP/RING", "APP/ALL")
]
CASES: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "go": ("three-nodes-2.15.1-busy", []),
    "only-copies": (
        "three-nodes-2.15.1",
        [single("APP/RING"), *only_on_n2("APP/RING"), single("APP/CACHE"), *only_on_n2("APP/CACHE")],
    ),
    "gone": ("three-nodes-2.15.1", GONE),
    "behind": ("three-nodes-2.15.1", [orders(peer("n2"), peer("n3", current=False, lag=5_000))]),
    "account": ("three-nodes-2.15.1-account", []),
}


def judged(name: str, *without: str) -> Preflight:
    base, edits = CASES[name]
    return preflight(evidence_of({"base": base, "edit": edits}), without)


def report(*results: Preflight, each: bool = False) -> PreflightReport:
    return PreflightReport(
        version="1.0.0", started=AT, finished=AT, headline="3 servers", sources=(), results=results, each=each
    )


@pytest.mark.parametrize("name", CASES)
def test_text(name: str) -> None:
    written = render_preflight(report(judged(name, "n2")), RenderOptions(width=WIDTH))
    assert_golden(f"preflight-{name}.txt", written)
    assert max(map(len, written.splitlines())) <= WIDTH
    if name == "go":
        assert len(written.split()) <= 60


def test_each_server_in_turn() -> None:
    results = [judged("only-copies", name) for name in ("n1", "n2", "n3")]
    written = render_preflight(report(*results, each=True), RenderOptions(width=WIDTH))
    assert_golden("preflight-each.txt", written)
    assert render_preflight(report(*results, each=True), RenderOptions(quiet=True)).splitlines() == [
        *("go n1", "no-go n2", "go n3")
    ]


@pytest.mark.parametrize("each", [False, True])
def test_markdown(each: bool) -> None:
    written = render_preflight_markdown(report(judged("only-copies", "n2"), each=each), RenderOptions())
    assert_golden(f"preflight-{'each' if each else 'one'}.md", written)


@pytest.mark.parametrize("name", CASES)
def test_json_is_as_its_schema_says(name: str) -> None:
    schema = json.loads((ROOT / "docs" / "schema" / "preflight-v1.json").read_text("utf-8"))
    document = json.loads(render_preflight_json(report(judged(name, "n2")), RenderOptions()))
    Draft202012Validator(schema).validate(document)
    assert document["schema"] == "jsdoctor.preflight/v1"
    assert document["verdict"] == {"go": "go", "account": "unknown"}.get(name, "no_go")
