"""JSON that a hand cut, edited or wrapped: what it shows is judged, what it does not show is *not evaluated*."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from jsdoctor.model.finding import Outcome
from jsdoctor.model.report import Report
from tests.pasted.test_paste import PASTED, faults, judged, passed

STREAM: dict[str, Any] = json.loads((PASTED / "offline" / "0.5.0_stream_info_ORDERS_json.txt").read_text("utf-8"))
CONSUMER: dict[str, Any] = json.loads(
    (PASTED / "stuck" / "0.5.0_consumer_info_ORDERS_billing_json.txt").read_text("utf-8")
)
JSZ: dict[str, Any] = json.loads((PASTED / "stuck" / "n1_jsz.json").read_text("utf-8"))
VARZ = (PASTED / "stuck" / "n1_varz.json").read_text("utf-8")
ACCOUNT = JSZ["account_details"][0]
DETAIL = ACCOUNT["stream_detail"][0]
TEXT = json.dumps(STREAM, indent=2)


def without(value: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: part for key, part in value.items() if key not in keys}


def of_text(text: str, tmp_path: Path) -> Report:
    page = tmp_path / "page"
    page.write_text(text, "utf-8")
    return judged(page)


def member(key: str, value: object) -> str:
    return f'"{key}": {json.dumps(value, indent=2)},\n'


@pytest.mark.parametrize(
    "text",
    [
        re.sub(r'([}\]\d"e])\n(\s*[}\]])', r"\1,\n\2", TEXT),
        TEXT.replace('    "max_consumers": -1,\n', "    ...\n", 1),
        TEXT.replace('    "max_consumers": -1,\n', "    // … and more\n", 1),
        TEXT.replace('"max_consumers": -1,', "...,", 1),
        TEXT.removeprefix("{"),
        TEXT.rstrip("}\n "),
        TEXT.strip("{}\n"),
        json.dumps({"output": TEXT}),
        json.dumps({"reply": {"body": STREAM}}),
        json.dumps({**STREAM, "config": without(STREAM["config"], "name")}),
        json.dumps(without(STREAM, "config")),
        json.dumps(STREAM["cluster"]),
        member("cluster", STREAM["cluster"]),
    ],
)
def test_the_lost_replica_is_found(text: str, tmp_path: Path) -> None:
    report = of_text(text, tmp_path)
    assert faults(report) - {"JSD901"} == {"JSD703"}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(ACCOUNT),
        member("account_details", [ACCOUNT]),
        member("stream_detail", [DETAIL]),
        member("consumer_detail", DETAIL["consumer_detail"]),
        "first\n" + member("stream_detail", [DETAIL]),
        json.dumps(without(CONSUMER, "stream_name")),
        json.dumps(without(CONSUMER, "stream_name", "name")),
    ],
)
def test_the_consumer_at_its_limit_is_found(text: str, tmp_path: Path) -> None:
    assert faults(of_text(text, tmp_path)) - {"JSD901"} == {"JSD403"}


def test_what_was_left_out_is_unknown(tmp_path: Path) -> None:
    unlimited = {**STREAM, "config": {**STREAM["config"], "max_msgs": -1}}
    whole = json.dumps(unlimited, indent=2)
    assert "JSD601" in faults(of_text(whole, tmp_path))
    report = of_text(whole.replace('    "max_bytes": -1,\n', "    ...\n"), tmp_path)
    assert "JSD601" not in faults(report) | passed(report)
    assert any(gap.requested for gap in report.gaps)


@pytest.mark.parametrize(
    "text", ["\n".join(VARZ.splitlines()[20:60]), "\n".join(VARZ.splitlines()[3:40]), '"slow_consumers": 0,\n"a": 1']
)
def test_a_part_of_the_variables_is_a_server(text: str, tmp_path: Path) -> None:
    report = of_text(text, tmp_path)
    assert any(gap.requested for gap in report.gaps), "never a silent pass"


def test_the_part_about_slow_consumers(tmp_path: Path) -> None:
    lines = json.dumps(json.loads(VARZ), indent=2).splitlines()
    at = next(number for number, line in enumerate(lines) if '"slow_consumers"' in line)
    assert "JSD806" in passed(of_text("\n".join(lines[at - 8 : at + 6]), tmp_path))


def test_a_reply_of_jsz_without_configuration(tmp_path: Path) -> None:
    """`/jsz?consumers=true`: its streams are judged, and nothing is assumed of their configuration."""
    bare = [
        {**without(stream, "config"), "consumer_detail": [without(c, "config") for c in stream["consumer_detail"]]}
        for stream in ACCOUNT["stream_detail"]
    ]
    report = of_text(json.dumps({**JSZ, "account_details": [{**ACCOUNT, "stream_detail": bare}]}), tmp_path)
    placed = next(verdict for verdict in report.verdicts if verdict.rule.code == "JSD712")
    assert placed.subjects[Outcome.PASS] == 3, "what needs no configuration is judged"
    assert not passed(report) & {"JSD403", "JSD601", "JSD605", "JSD610", "JSD703"}
    assert faults(report) == set()
    real = judged(PASTED / "layouts" / "jsz_consumers_noconfig.json")
    assert {gap.reason for gap in real.gaps if gap.requested} == {
        "its leader n3 did not respond",
        "its leader n5 did not respond",
    }


@pytest.mark.parametrize(
    "text",
    [
        '{"kind": "Deployment", "apiVersion": "apps/v1", "spec": {"config": {"name": "x"}, "state": {"first_seq": 1}}}',
        '{"level": "info", "msg": "started", "config": {"name": "x"}}',
        '{"stream": "A", "leader": "n1", "replicas": [{"name": "n2"}]}',
        '{"a": {"b": {"c": [1, 2, {"messages": 3}]}}}',
    ],
)
def test_other_json_is_no_reply(text: str, tmp_path: Path) -> None:
    assert not judged_anything(of_text(text, tmp_path))


def judged_anything(report: Report) -> set[str]:
    return (faults(report) | passed(report)) - {"JSD901"}
