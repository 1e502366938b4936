"""Replies and command output as people paste them, from real servers: the rules judge them, and nothing is assumed."""

import gzip
import json
import os
from functools import cache
from pathlib import Path

import pytest

from jsdoctor.app.collecting import collect
from jsdoctor.app.judging import Judging, open_judging
from jsdoctor.app.pieces import pieces_of, routed
from jsdoctor.app.request import JudgeRequest
from jsdoctor.model.finding import Outcome, Severity
from jsdoctor.model.report import Report
from jsdoctor.sources.file_kinds import PEEK
from jsdoctor.sources.request import EvidenceRequest
from tests.support.evidence import FIXTURES
from tests.support.ruleset import rules

PASTED = FIXTURES / "pasted"
VERSIONS = ("0.1.5", "0.5.0")


def judged(*paths: Path, select: tuple[str, ...] = ()) -> Report:
    return collect(wanted(*paths), judging(select)).report()


def wanted(*paths: Path) -> EvidenceRequest:
    return routed(EvidenceRequest(), pieces_of([str(path) for path in paths], rules()))


@cache
def judging(select: tuple[str, ...]) -> Judging:
    return open_judging(JudgeRequest(select=select, quiet=True, isolated=True))


def faults(report: Report) -> set[str]:
    """The rules that found something at warning or above."""
    failed = [result for result in report.results if result.finding.outcome is Outcome.FAIL]
    return {
        result.rule.code for result in failed if (result.finding.severity or result.rule.severity) is not Severity.INFO
    }


def passed(report: Report) -> set[str]:
    return {verdict.rule.code for verdict in report.verdicts if verdict.outcome is Outcome.PASS}


@pytest.mark.parametrize("state", ["stuck", "offline"])
def test_a_reply_of_all_servers_shows_what_a_live_sample_shows(state: str) -> None:
    codes = faults(judged(PASTED / state / "request_jetstream.json"))
    assert codes == {"stuck": {"JSD403"}, "offline": {"JSD403", "JSD703"}}[state]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("form", ["txt", "json.txt"])
def test_a_stream_with_a_lost_replica(version: str, form: str) -> None:
    name = f"{version}_stream_info_ORDERS{'_json' if form == 'json.txt' else ''}.txt"
    assert faults(judged(PASTED / "offline" / name)) == {"JSD703"}
    assert faults(judged(PASTED / "stuck" / name)) == set()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_consumer_at_its_limit(version: str) -> None:
    for name in ("consumer_info_ORDERS_billing_json", "consumer_info_ORDERS_billing"):
        assert faults(judged(PASTED / "stuck" / f"{version}_{name}.txt")) == {"JSD403"}


@pytest.mark.parametrize(
    "path",
    sorted((*PASTED.glob("offline/*"), *PASTED.glob("no-quorum/*"))),
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_no_check_fails_on_a_paste(path: Path) -> None:
    assert [result for result in judged(path).results if result.finding.outcome is Outcome.ERROR] == []


@pytest.mark.parametrize("cut", [300, 700, 1100, 1200, 1300, 1400])
def test_what_a_cut_reply_does_not_show_is_not_evaluated(tmp_path: Path, cut: int) -> None:
    whole = PASTED / "stuck" / "0.5.0_stream_info_ORDERS_json.txt"
    part = tmp_path / "paste"
    part.write_text("Here it is:\n```\n" + whole.read_text("utf-8")[:cut], "utf-8")
    all_passed = passed(judged(whole))
    report = judged(part)
    assert faults(report) == {"JSD901"}
    assert any("cut short" in gap.reason for gap in report.gaps if gap.requested)
    assert passed(report) <= all_passed


def test_a_stream_copied_from_the_middle_of_a_reply(tmp_path: Path) -> None:
    """Without the braces around it and without its configuration, as the streams of /jsz are without `config=1`."""
    whole = json.loads((PASTED / "offline" / "0.5.0_stream_info_ORDERS_json.txt").read_text("utf-8"))
    detail = {"name": whole["config"]["name"], **{key: whole[key] for key in ("created", "cluster", "state")}}
    part = tmp_path / "paste"
    part.write_text(json.dumps(detail, indent=2).removeprefix("{").removesuffix("}").rstrip() + ",\n", "utf-8")
    report = judged(part)
    assert faults(report) == {"JSD703", "JSD901"}
    leader = next(verdict for verdict in report.verdicts if verdict.rule.code == "JSD702")
    assert leader.outcome is Outcome.NOT_EVALUATED, "what was cut off may be other streams"
    assert leader.subjects[Outcome.PASS] == 1
    assert any("cut short" in gap.reason for gap in report.gaps if gap.requested)


def test_fields_that_are_shown_are_judged_in_a_cut_reply(tmp_path: Path) -> None:
    text = (PASTED / "offline" / "0.5.0_consumer_info_ORDERS_billing_json.txt").read_text("utf-8")
    part = tmp_path / "paste"
    part.write_text(text[: text.index('"num_waiting"')] + "…", "utf-8")
    report = judged(part, select=("JSD405", "JSD409"))
    reasons = {verdict.reason for verdict in report.verdicts if verdict.outcome is Outcome.NOT_EVALUATED}
    assert any("is not shown" in reason for reason in reasons), reasons


def test_a_file_that_is_no_evidence_is_reported_and_is_no_pass(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("the cat sat on the mat\n")
    (tmp_path / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4)
    (tmp_path / "empty").write_text("")
    gaps = [gap for gap in judged(tmp_path).gaps if gap.requested]
    assert {Path(gap.subject.name).name for gap in gaps} == {"notes.txt", "image.png", "empty"}


def test_kinds_are_recognised_by_content_whatever_the_names(tmp_path: Path) -> None:
    for number, source in enumerate(
        (
            PASTED / "stuck" / "n1_varz.json",
            FIXTURES / "captures" / "nats-clean.client.pcap.gz",
            next((FIXTURES / "archives").rglob("*.zip")),
        )
    ):
        (tmp_path / f"file{number}").write_bytes(source.read_bytes())
    (tmp_path / "file3").write_text("[7] 2026/11/21 10:00:00.000000 [WRN] JetStream cluster stream has NO quorum\n")
    (tmp_path / "file4").write_text("apiVersion: jetstream.nats.io/v1beta2\nkind: Stream\nmetadata: {name: a}\n")
    assert wanted(tmp_path / "file0").pasted
    assert wanted(tmp_path / "file1").packets.captures
    assert wanted(tmp_path / "file2").captured.bundle
    assert wanted(tmp_path / "file3").logs.paths
    assert wanted(tmp_path / "file4").manifests.paths


def test_a_packed_reply_is_read_to_its_end(tmp_path: Path) -> None:
    text = (PASTED / "stuck" / "request_jetstream.json").read_bytes()
    padded = text.rstrip()[:-1] + b', "unknown": "' + os.urandom(PEEK).hex().encode() + b'"}'
    (tmp_path / "jsz.json.gz").write_bytes(gzip.compress(padded))
    (tmp_path / "jsz.json").write_bytes(padded)
    assert wanted(tmp_path / "jsz.json.gz").pasted[0].text == wanted(tmp_path / "jsz.json").pasted[0].text


def test_a_text_that_begins_like_a_zip_is_no_bundle(tmp_path: Path) -> None:
    (tmp_path / "error.txt").write_text("PKIX path building failed\nnats: stale connection\n")
    assert wanted(tmp_path / "error.txt").captured.bundle is None


@pytest.mark.parametrize("date", ["", "2026-11-21 10:00:00 "])
def test_a_date_makes_no_evidence(date: str, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text(f"{date}the cat sat on the mat\n{date}and slept\n")
    report = judged(notes)
    assert any(gap.requested for gap in report.gaps)
    assert passed(report) == set()


def test_values_of_the_chart_are_a_manifest(tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    values.write_text("config:\n  # of three\n  cluster: {enabled: true, replicas: 2}\n  jetstream: {enabled: true}\n")
    assert "JSD706" in faults(judged(values))
    values.write_text("nats:\n  config:\n    cluster:\n      enabled: true\n      replicas: 2\n    jetstream: {}\n")
    assert wanted(values).manifests.paths


@pytest.mark.parametrize(
    "line",
    [
        "[7] JetStream cluster no metadata leader",
        "nats-0: [7] JetStream cluster no metadata leader",
        "> - JetStream cluster no metadata leader",
    ],
)
def test_a_single_line_in_whatever_form_is_a_log(line: str, tmp_path: Path) -> None:
    path = tmp_path / "line"
    path.write_text(line + "\n", "utf-8")
    assert faults(judged(path)) == {"JSD701"}
    path.write_text("word\n" * 20_000 + line + "\n", "utf-8")
    assert wanted(path).logs.paths, "its place in a file plays no part"


def test_a_stream_that_an_old_server_resets_is_no_pass(tmp_path: Path) -> None:
    path = tmp_path / "old.log"
    path.write_text(
        "[1] 2021/05/24 05:16:03.262225 [ERR] JetStream failed to store a msg on stream 'A > S' -  expected sequence"
        " does not match store\n[1] 2021/05/24 05:16:03.324023 [WRN] Resetting stream 'A > S'\n"
    )
    assert {"JSD208", "JSD713"} & faults(judged(path))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("page", ["consumer_info_ORDERS_billing", "stream_info_ORDERS"])
def test_a_page_without_its_first_line_is_read(version: str, page: str, tmp_path: Path) -> None:
    whole = (PASTED / "stuck" / f"{version}_{page}.txt").read_text()
    title = next(line for line in whole.splitlines() if "Information for" in line)
    cut = tmp_path / "cut.txt"
    cut.write_text(whole.partition(title)[2])
    assert faults(judged(cut)) == faults(judged(PASTED / "stuck" / f"{version}_{page}.txt"))


def test_a_backoff_is_read(tmp_path: Path) -> None:
    """Of the consumer of a public report, whose page was copied without its title; nothing else is assumed."""
    page = tmp_path / "page.txt"
    page.write_text(
        "Configuration:\n\n                    Name: consumer-1\n               Pull Mode: true\n"
        "              Ack Policy: Explicit\n                Ack Wait: 5.00s\n                 Backoff: 5s, 1m0s\n\n"
        "State:\n\n"
        "  Last Delivered Message: Consumer sequence: 10 Stream sequence: 13,000,961 Last delivery: 18.26s ago\n"
        "    Acknowledgment Floor: Consumer sequence: 0 Stream sequence: 0\n"
        "        Outstanding Acks: 10 out of maximum 1,000\n    Unprocessed Messages: 999,990\n"
        "           Waiting Pulls: 0 of maximum 512\n"
    )
    [verdict] = judged(page, select=("JSD405",)).verdicts
    assert verdict.outcome is Outcome.NOT_EVALUATED
    assert "no client requests 999,990 messages" in verdict.reason


SETTINGS = """
Options:

             Retention: Limits
       Acknowledgments: false
        Discard Policy: Old
      Duplicate Window: 20.00s
     Allows Msg Delete: true

Limits:

      Maximum Messages: 10,000,000
"""
STREAM_CLUSTER = """
Cluster Information:

                    Name: C1
           Cluster Group: S-R3F-kq3mPdKk
                  Leader: n1
                 Replica: n2, current, seen 350ms ago
                 Replica: <unknown (peerID: jZ6RvVRH)>, outdated, OFFLINE, not seen
"""


@pytest.mark.parametrize("without", [0, 3])
def test_settings_alone_are_those_of_a_stream(without: int, tmp_path: Path) -> None:
    """What they do not show, such as its subjects, is *not evaluated*, and what they show is judged."""
    page = tmp_path / "page.txt"
    page.write_text("\n".join(SETTINGS.splitlines()[without:]))
    assert faults(judged(page)) == {"JSD610"}
    assert not passed(judged(page)) & {"JSD601", "JSD702", "JSD703"}


def test_the_cluster_section_alone_shows_who_is_missing(tmp_path: Path) -> None:
    page = tmp_path / "page.txt"
    page.write_text(STREAM_CLUSTER)
    report = judged(page)
    assert faults(report) == {"JSD703"}
    assert "JSD703" not in passed(report)


def test_the_state_of_a_consumer_alone_shows_nothing_of_its_settings(tmp_path: Path) -> None:
    whole = (PASTED / "stuck" / "0.5.0_consumer_info_ORDERS_billing.txt").read_text()
    page = tmp_path / "page.txt"
    page.write_text("State:" + whole.partition("State:")[2])
    assert not passed(judged(page)) & {"JSD403", "JSD410", "JSD416"}


def test_a_consumer_that_is_not_shown_well_enough_is_there_all_the_same(tmp_path: Path) -> None:
    """The page of a work queue and that of its one consumer: no rule may conclude that nobody takes its messages."""
    page = tmp_path / "page.txt"
    page.write_text(QUEUE + CONSUMER.format(ago="26h2m3s"))
    assert faults(judged(page)) == {"JSD205"}


def test_a_busy_consumer_may_have_been_read_after_its_stream(tmp_path: Path) -> None:
    page = tmp_path / "page.txt"
    page.write_text(QUEUE + CONSUMER.format(ago="1m3s"))
    report = judged(page)
    assert faults(report) == set()
    assert "JSD205" not in passed(report)


def test_a_position_below_zero_is_named_without_the_stream(tmp_path: Path) -> None:
    """A server that counted below zero shows a number near 2^64 (nats-server issue 4677)."""
    whole = json.loads((PASTED / "stuck" / "0.5.0_consumer_info_ORDERS_billing_json.txt").read_text("utf-8"))
    whole["delivered"]["stream_seq"] = (1 << 64) - 2
    page = tmp_path / "paste"
    page.write_text(json.dumps(whole), "utf-8")
    assert "JSD205" in faults(judged(page))


QUEUE = """
Information for Stream promotions created 2022-04-27 13:59:57

              Subjects: delivery.promotions.*
              Replicas: 1
               Storage: File

Options:

             Retention: WorkQueue
       Acknowledgments: true
        Discard Policy: Old
      Duplicate Window: 2m0s

State:

              Messages: 86,600
                 Bytes: 3.8 GiB
        First Sequence: 134,909 @ 2024-11-12 08:01:10
         Last Sequence: 221,508 @ 2024-11-13 09:12:44
      Active Consumers: 1
"""
CONSUMER = """
Information for Consumer promotions > sender created 2023-02-01T10:00:00Z

Configuration:

                    Name: sender
               Pull Mode: true
          Deliver Policy: All
              Ack Policy: Explicit
                Ack Wait: 30.00s
           Replay Policy: Instant
         Max Ack Pending: 1,000
       Max Waiting Pulls: 512

State:

  Last Delivered Message: Consumer sequence: 400,120 Stream sequence: 398,004 Last delivery: {ago} ago
    Acknowledgment Floor: Consumer sequence: 400,120 Stream sequence: 398,004 Last Ack: {ago} ago
        Outstanding Acks: 0 out of maximum 1,000
    Redelivered Messages: 0
    Unprocessed Messages: 0
           Waiting Pulls: 4 of maximum 512
"""
