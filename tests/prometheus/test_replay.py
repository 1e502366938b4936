"""What `check --prometheus` says of recorded replies of a real Prometheus, and how it gets in."""

import base64
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from jsdoctor.cli.app import run
from tests.prometheus.replay import Reply, replayed, serving
from tests.support.evidence import FIXTURES

RECORDED = FIXTURES / "prometheus"


class Done(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str


Check = Callable[..., Done]


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Check:
    """`jsdoctor check` in this process, without this machine's contexts."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str) -> Done:
        code = run(["check", *arguments])
        printed = capsys.readouterr()
        return Done(code, printed.out, printed.err)

    return invoke


def report_of(check: Check, file: Path, *options: str) -> dict[str, object]:
    with replayed(file) as url:
        done = check("--prometheus", url, "--prometheus-since", "30s", "--format", "json", *options)
    assert done.stdout, done.stderr
    report: dict[str, object] = json.loads(done.stdout)
    return report


def failures(report: dict[str, object]) -> set[tuple[str, str]]:
    return {
        (result["code"], result["subject"]["stream"])
        for result in report["results"]  # type: ignore[attr-defined]
        if result["outcome"] == "fail" and result["subject"]["kind"] == "consumer"
    }


def outcome_of(report: dict[str, object]) -> dict[str, tuple[str, str]]:
    return {rule["code"]: (rule["outcome"], rule["reason"] or "") for rule in report["rules"]}  # type: ignore[attr-defined]


def test_faults_of_an_exporter_s_metrics_are_found(check: Check) -> None:
    report = report_of(check, RECORDED / "exporter.json.gz")
    assert failures(report) == {("JSD401", "P401"), ("JSD408", "P408")}
    outcomes = outcome_of(report)
    assert outcomes["JSD205"][0] == outcomes["JSD802"][0] == outcomes["JSD801"][0] == "pass"
    assert outcomes["JSD403"] == (
        "not_evaluated",
        "config.max_ack_pending of APP > P401 > worker is not shown in what was given",
    )
    assert outcomes["JSD714"][0] == "not_evaluated"


def test_queries_are_shown_and_secrets_are_not(check: Check) -> None:
    with replayed(RECORDED / "exporter.json.gz") as url:
        done = check(
            *("--prometheus", url, "--prometheus-since", "30s", "--show-queries"),
            *("--prometheus-token", "s3cret", "--prometheus-header", "X-Scope-OrgID: t3nant"),
        )
    queries = [line for line in done.stderr.splitlines() if line.startswith("query: ")]
    assert len(queries) == 6
    assert "step 3s" in queries[-1], "scrapes are two seconds apart, and no two steps show the same one"
    assert "s3cret" not in done.stdout + done.stderr
    assert "t3nant" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("options", "login", "header"),
    [
        (["--prometheus-token", "s3cret"], "", ("authorization", "Bearer s3cret")),
        ([], "me:s3cret@", ("authorization", "Basic " + base64.b64encode(b"me:s3cret").decode())),
        (["--prometheus-header", "X-Scope-OrgID: s3cret"], "", ("x-scope-orgid", "s3cret")),
    ],
    ids=["bearer", "basic", "tenant"],
)
def test_every_way_in_is_used_and_a_refusal_is_one_sentence(
    check: Check, options: list[str], login: str, header: tuple[str, str]
) -> None:
    seen: list[dict[str, str]] = []

    def refuse(_: str, __: bytes, headers: dict[str, str]) -> Reply:
        seen.append(headers)
        return 401, b"Unauthorized"

    with serving(refuse) as url:
        done = check("--prometheus", url.replace("://", f"://{login}"), *options)
    assert done.exit_code == 3
    assert seen[0][header[0]] == header[1]
    assert "refuses this login (HTTP 401)" in done.stderr
    assert "s3cret" not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (200, b"<html>", "is no reply of the Prometheus API"),
        (422, b'{"status":"error","error":"query processing would load too many samples"}', "too many samples"),
        (200, b'{"status":"success","data":{"resultType":"vector","result":[]}}', "has no metrics of"),
        (404, b"404 page not found", "is not the address of a Prometheus API"),
        (400, b'{"status":"error","error":"1:20: parse error: unexpected"}', "check --prometheus-match"),
    ],
)
def test_what_cannot_be_judged_is_no_pass(check: Check, status: int, body: bytes, message: str) -> None:
    with serving(lambda *_: (status, body)) as url:
        done = check("--prometheus", url)
    assert done.exit_code == 3
    assert message in done.stderr


def test_metrics_of_servers_alone_clear_no_rule_on_streams(check: Check) -> None:
    """An exporter without `-jsz=all`: the recorded replies, of which only the variables of the server are left."""
    left = [entry["reply"] for entry in json.loads(gzip.decompress((RECORDED / "exporter.json.gz").read_bytes()))]

    def respond(*_: object) -> Reply:
        reply = json.loads(left.pop(0))
        series = reply["data"]["result"]
        reply["data"]["result"] = [line for line in series if "_varz_" in line["metric"].get("__name__", "_varz_")]
        return 200, json.dumps(reply).encode()

    with serving(respond) as url:
        done = check("--prometheus", url, "--prometheus-since", "30s", "--format", "json")
    report = json.loads(done.stdout)
    assert done.exit_code == 3
    [gap] = [gap for gap in report["gaps"] if gap["requested"]]
    assert "-jsz=all" in gap["how_to_get"]
    outcomes = {code: outcome for code, (outcome, _) in outcome_of(report).items()}
    assert {outcomes[code] for code in ("JSD205", "JSD401", "JSD602", "JSD702")} == {"not_evaluated"}
    assert outcomes["JSD808"] == "pass"


def test_a_narrow_terminal(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    with replayed(RECORDED / "exporter.json.gz") as url:
        done = check("--prometheus", url, "--prometheus-since", "30s")
    assert "JSD401" in done.stdout
    text = [line for line in done.stdout.splitlines() if not line.lstrip().startswith(("→", "Look", "Fix ("))]
    assert max(map(len, text)) <= 40


@pytest.mark.parametrize(
    ("mark", "reason"), [({"warnings": ["store x failed"]}, "store x failed"), ({"isPartial": True}, "is partial")]
)
def test_a_store_that_did_not_respond_is_a_gap(check: Check, mark: dict[str, object], reason: str) -> None:
    """Thanos warns; a VictoriaMetrics cluster marks the reply."""
    count = {"metric": {"__name__": "jetstream_stream_last_seq"}, "value": [1, "0"]}
    body = {"status": "success", "data": {"resultType": "vector", "result": [count]}, **mark}
    with serving(lambda *_: (200, json.dumps(body).encode())) as url:
        done = check("--prometheus", url, "--format", "json")
    assert done.exit_code == 3
    assert any(reason in gap["reason"] for gap in json.loads(done.stdout)["gaps"])


@pytest.mark.parametrize(
    "options", [["--show-queries"], ["--prometheus", "ftp://x"], ["--prometheus", "h", "--prometheus-header", "s3cret"]]
)
def test_options_that_mean_nothing_are_refused(check: Check, options: list[str]) -> None:
    done = check(*options)
    assert done.exit_code == 2
    assert "s3cret" not in done.stderr
