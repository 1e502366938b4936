"""`capture --loki`: a bundle has the findings and outcomes of `check --loki`, and keeps what was not read."""

import json
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.loki.documented import DocumentedLoki, Refused, serving
from tests.loki.shipping import S, incidents_of, jsdoctor, judged, live_and_kept, ship
from tests.servers import ClusterFactory
from tests.support.evidence import FIXTURES

INCIDENTS = incidents_of("2.15.1")
LOG = FIXTURES / "logs" / "2.15.1" / "l3-bad_meta_n1.log"
QUERY = '{app="nats"}'
SECRET = "s3cret-0f-a-route"
TOKEN = "glc_0f-this-l0ki"


def shipped(name: str) -> DocumentedLoki:
    loki = DocumentedLoki()
    ship(lambda labels, lines: loki.push(labels, list(lines)), INCIDENTS[name], time.time_ns() - S)
    return loki


def both(loki: DocumentedLoki, *options: str, query: str = QUERY) -> tuple[dict[str, Any], dict[str, Any]]:
    """The reports of `live_and_kept`."""
    with serving(loki) as url:
        return live_and_kept("--loki", url, "--loki-query", query, *options)


@pytest.mark.parametrize("name", INCIDENTS)
def test_a_bundle_shows_what_loki_shows(name: str) -> None:
    live, kept = both(shipped(name))
    assert judged(kept) == judged(live)


def test_lines_that_were_not_read_clear_no_rule_of_a_bundle() -> None:
    loki = shipped("c1")
    at = time.time_ns() - 5 * S
    loki.push({"app": "nats", "pod": "c1-n1"}, [(at, f"same time {number}") for number in range(80)])
    loki.max_entries = 50
    live, kept = both(loki)
    assert judged(kept) == judged(live)
    assert any("50 lines or more" in gap["reason"] for gap in kept["gaps"])
    assert "pass" not in {rule["outcome"] for rule in kept["rules"] if rule["code"].startswith("JSD7")}
    manifest = _manifest()
    assert manifest["log_services"][0]["incomplete"]
    assert manifest["signatures"] == [], "a release that does not know `log_services` must not clear rules either"


def test_a_query_that_filters_clears_no_rule_of_a_bundle() -> None:
    live, kept = both(shipped("c1"), query=QUERY + ' |= ""')
    assert judged(kept) == judged(live)
    outcomes = {rule["code"]: rule for rule in kept["rules"]}
    assert outcomes["JSD702"]["outcome"] == "not_evaluated"
    assert "may not be every line" in outcomes["JSD702"]["reason"]
    assert "the query leaves lines out" in kept["summary"]["headline"]
    assert not [gap for gap in kept["gaps"] if gap["requested"]]


def test_an_error_half_way_is_a_gap_of_the_bundle() -> None:
    loki = shipped("c1")
    loki.max_entries = 100

    def fail(number: int, *_: object) -> None:
        if number > 3:
            raise Refused(400, f"something else about {SECRET}")

    loki.before = fail
    with serving(loki) as url:
        words = ("--loki", url, "--loki-query", QUERY, "--loki-token", SECRET)
        done = jsdoctor("capture", "-o", "b.zip", *words)
    assert done.exit_code == 3
    assert "not captured" in done.stderr
    kept = jsdoctor("check", "--bundle", "b.zip", "--format", "json")
    assert kept.exit_code == 3
    assert any("were not read: Loki at" in gap["reason"] for gap in kept.report["gaps"])
    assert "pass" not in {rule["outcome"] for rule in kept.report["rules"] if rule["code"].startswith("JSD7")}
    assert SECRET.encode() not in _contents()


def test_a_window_narrows_lines_of_loki_in_a_bundle() -> None:
    with serving(shipped("l4-partition")) as url:
        assert jsdoctor("capture", "-o", "b.zip", "--loki", url, "--loki-query", QUERY).exit_code == 0
    whole = jsdoctor("check", "--bundle", "b.zip", "--format", "json").report
    cut = jsdoctor("check", "--bundle", "b.zip", "--until", "2001-01-01", "--format", "json").report
    assert whole["results"]
    assert {result["code"] for result in cut["results"] if result["outcome"] == "fail"} == {"JSD901"}
    assert any("no log line lies in the time window" in gap["reason"] for gap in cut["gaps"])


def test_secrets_stay_out_of_the_bundle() -> None:
    loki = shipped("c1")
    at = time.time_ns() - S
    line = (
        f"[1] 2026/11/20 10:00:00.000000 [ERR] Error trying to connect to route: dial nats-route://r:{SECRET}@10.0.0.1"
    )
    loki.push({"app": "nats", "pod": "c1-n1"}, [(at, line), (at, f"[1] 2026/11/20 10:00:00.000000 [ERR] {TOKEN}")])
    with serving(loki) as url:
        words = ("--loki", url, "--loki-query", QUERY, "--loki-header", f"Authorization: Bearer {TOKEN}")
        done = jsdoctor("capture", "-o", "b.zip", *words, "--loki-header", "X-Scope-OrgID: nats")
    assert done.exit_code == 0, done.stderr
    content = _contents()
    assert b"Error trying to connect to route" in content
    assert SECRET.encode() not in content
    assert TOKEN.encode() not in content
    assert b'"app"' in content or b"nats" in content, "the name of a tenant is no secret"


def test_nothing_of_loki_writes_no_file() -> None:
    with serving(DocumentedLoki()) as url:
        done = jsdoctor("capture", "-o", "b.zip", "--loki", url, "--loki-query", QUERY)
    assert done.exit_code == 3
    assert "Loki has no line of" in done.stderr
    done = jsdoctor("capture", "-o", "b.zip", "--loki", "http://127.0.0.1:1", "--loki-query", QUERY)
    assert done.exit_code == 3
    assert "connection refused" in done.stderr
    assert not Path("b.zip").exists()


def test_a_time_needs_logs() -> None:
    assert jsdoctor("capture", "-o", "b.zip", "--since", "2h").exit_code == 2
    assert "no Loki is named" in jsdoctor("capture", "-o", "b.zip", "--loki-query", QUERY).stderr


@pytest.mark.real
def test_a_deployment_and_loki_in_one_bundle(shared_cluster: ClusterFactory) -> None:
    url = shared_cluster().url("sys")
    live, kept = both(shipped("c1"), "-s", url, "--samples", "1")
    of_logs = {rule["code"] for rule in jsdoctor("check", "--logs", str(LOG), "--format", "json").report["rules"]}

    def outcomes(report: Mapping[str, Any]) -> dict[str, str]:
        return {rule["code"]: rule["outcome"] for rule in report["rules"] if rule["code"] in of_logs}

    assert outcomes(kept) == outcomes(live)
    assert {"bundle", "loki"} <= {source["kind"] for source in kept["sources"]}


@pytest.mark.real
def test_a_bundle_of_a_deployment_shows_that_loki_was_not_read(shared_cluster: ClusterFactory) -> None:
    words = ("-s", shared_cluster().url("sys"), "--samples", "1", "--loki", "http://127.0.0.1:1")
    done = jsdoctor("capture", "-o", "b.zip", *words, "--loki-query", QUERY)
    assert done.exit_code == 3
    assert "connection refused" in done.stderr
    report = jsdoctor("check", "--bundle", "b.zip", "--format", "json", "-vv").report
    assert any("connection refused" in gap["reason"] for gap in report["gaps"])
    assert any("connection refused" in rule["reason"] for rule in report["rules"] if rule["outcome"] == "not_evaluated")
    assert any(rule["outcome"] == "pass" for rule in report["rules"])


def _manifest() -> dict[str, Any]:
    with zipfile.ZipFile("b.zip") as archive:
        manifest: dict[str, Any] = json.loads(archive.read("manifest.json"))
        return manifest


def _contents() -> bytes:
    with zipfile.ZipFile("b.zip") as archive:
        return b"".join(archive.read(name) for name in archive.namelist())
