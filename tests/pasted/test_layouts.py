"""Pages of `nats` as several versions lay them out, whole and in parts: what they show is judged, and nothing else."""

import re
from pathlib import Path

import pytest

from jsdoctor.model.finding import Outcome
from jsdoctor.model.report import Report
from tests.pasted.test_paste import PASTED, faults, judged, passed

LAYOUTS = PASTED / "layouts"
OLD_STREAM = """Information for Stream JOBS

Configuration:

             Subjects: jobs.*
  No Acknowledgements: false
            Retention: File - WorkQueue
             Replicas: 1
       Discard Policy: New
     Duplicate Window: 2m0s
     Maximum Messages: 100
        Maximum Bytes: unlimited
          Maximum Age: 1h0m0s
 Maximum Message Size: unlimited
    Maximum Consumers: unlimited

Statistics:

             Messages: 100
                Bytes: 4.7 KiB
             FirstSeq: 1 @ 2021-03-05T10:11:12 UTC
              LastSeq: 100 @ 2021-03-05T10:11:13 UTC
     Active Consumers: 0
"""
PULL = """Information for Consumer JOBS > worker created 2023-02-01T10:00:00+05:30

Configuration:

        Durable Name: worker
           Pull Mode: true
      Deliver Policy: All
          Ack Policy: Explicit
            Ack Wait: 30s
       Replay Policy: Instant
     Max Ack Pending: 1,000

State:

   Last Delivered Message: Consumer sequence: 6 Stream sequence: 6 Last delivery: 1m20s ago
     Acknowledgment floor: Consumer sequence: 6 Stream sequence: 6 Last Ack: 1m21s ago
         Outstanding Acks: 0 out of maximum 1,000
     Redelivered Messages: 0
     Unprocessed Messages: 5,000
"""
WAITING = [
    "            Waiting Pulls: 0 of 512\n",
    "     Waiting Pull Requests: 0\n",
    "  Waiting Pulls: 0 of unlimited\n",
]
META = """
+---------------------------------------------------------+
|               RAFT Meta Group Information               |
+--------+--------+---------+--------+----------+---------+
| Name   | Leader | Current | Online | Active   | Lag     |
+--------+--------+---------+--------+----------+---------+
| nats-0 |        | true    | true   | 0.35s    | 0       |
| nats-1 |        | false   | false  | 3h2m1s   | 1,234   |
| nats-2 | yes    | true    | true   | 0.00s    | 0       |
+--------+--------+---------+--------+----------+---------+
"""
STREAMS = """
+--------+---------+-----------+----------+-------+------+---------+--------------------------+
| Stream | Storage | Consumers | Messages | Bytes | Lost | Deleted | Replicas                 |
+--------+---------+-----------+----------+-------+------+---------+--------------------------+
| ORDERS | File    | 1         | 12       | 468 B | 0    | 0       | nats-0, nats-1*, nats-2! |
| JOBS   | File    | 1         | 12       | 468 B | 0    | 0       | nats-0!, nats-1, nats-2! |
+--------+---------+-----------+----------+-------+------+---------+--------------------------+
"""
CONSUMERS = """
+------------------------------------------------------------------------------------------------+
|                          Consumer report for ORDERS with 5 consumers                           |
+----------+------+------------+-------------+-------------+-------------+-----------+-----------+
| Consumer | Mode | Ack Policy | Ack Pending | Redelivered | Unprocessed | Ack Floor | Cluster   |
+----------+------+------------+-------------+-------------+-------------+-----------+-----------+
| billing  | Pull | Explicit   | 5           | 0           | 7 / 58%     | 0         | n1, n2*   |
| audit    | Push | Explicit   | 0           | 0           | 0           | 0         | n1!, n2   |
+----------+------+------------+-------------+-------------+-------------+-----------+-----------+
| Totals   |      |            | 5           | 0           | 7           |           |           |
+----------+------+------------+-------------+-------------+-------------+-----------+-----------+
"""
UNRESPONSIVE = [
    "│ Inaccessible Streams │\n├──────────┬───────────┤\n│ ORDERS   │ PAYMENTS  │\n",
    "+----------------------+\n| Inaccessible Streams |\n+----------------------+\n| ORDERS               |\n",
    "│ Offline Streams │\n├────────┬────────┤\n│ ORDERS │ unsupported - required API level: 3, current 2 │\n",
    '{"type":"io.nats.jetstream.api.v1.stream_list_response","total":2,"streams":[],"missing":["ORDERS"]}',
]


def of_text(text: str, tmp_path: Path, select: tuple[str, ...] = ()) -> Report:
    page = tmp_path / "page.txt"
    page.write_text(text, "utf-8")
    return judged(page, select=select)


def failed(report: Report) -> set[tuple[str, str]]:
    """The rules that found a fault, each with the name of its subject."""
    results = [result for result in report.results if result.finding.outcome is Outcome.FAIL]
    return {(result.rule.code, result.finding.subject.name) for result in results if result.rule.code != "JSD901"}


@pytest.mark.parametrize(
    ("page", "subject"),
    [
        ("stream_blank_leader.txt", "ORDERS"),
        ("stream_blank_leader.json", "ORDERS"),
        ("stream_report.txt", "ORDERS"),
        ("consumer_report.txt", "billing"),
        ("consumer_ls.txt", "audit"),
    ],
)
def test_a_stream_or_consumer_without_a_leader(page: str, subject: str) -> None:
    assert ("JSD702", subject) in failed(judged(LAYOUTS / page))


@pytest.mark.parametrize(
    "lines",
    [
        "  Leader: nats-0\n Replica: nats-1, current, seen 350ms ago\n Replica: nats-2, outdated, OFFLINE, not seen\n",
        "Replica: nats-2, outdated, OFFLINE, not seen\n",
        "2026-11-21 10:00:00   Replica: nats-2, outdated, OFFLINE, not seen\n",
        "nats-1, current, seen 350ms ago\nnats-2, outdated, OFFLINE, not seen, 1,234 operations behind\n",
    ],
)
def test_lines_of_replicas_alone(lines: str, tmp_path: Path) -> None:
    """Who leads is not shown by all of them, and that is not the same as that no server does."""
    report = of_text(lines, tmp_path)
    assert failed(report) == {("JSD703", "nats-2")}
    assert ("JSD702" in passed(report)) == ("Leader" in lines)


def test_a_consumer_without_a_leader_on_its_own_page(tmp_path: Path) -> None:
    """Its stream is not shown, and no rule takes that for a reason to pass over the consumer."""
    text = (LAYOUTS / "push_no_interest.txt").read_text("utf-8")
    blank = re.sub(r"Leader: .*", "Leader: ", re.sub(r"current, seen .*", "outdated, not seen", text))
    assert ("JSD702", "billing") in failed(of_text(blank, tmp_path))
    assert "JSD702" in passed(of_text(text, tmp_path))


def test_a_stream_of_the_first_versions(tmp_path: Path) -> None:
    assert {"JSD603", "JSD604"} <= faults(of_text(OLD_STREAM, tmp_path))


@pytest.mark.parametrize("waiting", WAITING)
def test_pulls_that_wait(waiting: str, tmp_path: Path) -> None:
    assert failed(of_text(PULL + waiting, tmp_path, ("JSD405",))) == {("JSD405", "worker")}


def test_a_push_consumer_without_interest(tmp_path: Path) -> None:
    text = (LAYOUTS / "push_no_interest.txt").read_text("utf-8")
    assert "JSD405" in faults(of_text(text, tmp_path))
    bound = text.replace("No interest", "Active using Queue Group workers")
    assert "JSD405" in passed(of_text(bound, tmp_path))


def test_the_meta_group_alone(tmp_path: Path) -> None:
    assert ("JSD703", "nats-1") in failed(of_text(META, tmp_path))
    report = of_text(META.replace("yes", "   "), tmp_path)
    assert passed(report) == set()
    assert any("none of its rows" in gap.reason and "nats-1" in gap.reason for gap in report.gaps)


def test_reports_name_what_has_no_leader_and_what_they_leave_out(tmp_path: Path) -> None:
    report = of_text(STREAMS, tmp_path)
    assert failed(report) == {("JSD702", "JOBS")}
    assert any("the mark ! at nats-2 in stream ORDERS and 1 more" in gap.reason for gap in report.gaps)
    report = of_text(CONSUMERS, tmp_path)
    assert failed(report) == {("JSD702", "audit")}
    assert any("it shows 2 of 5 consumers" in gap.reason for gap in report.gaps)
    assert not any(result.finding.subject.name == "Totals" for result in report.results)


@pytest.mark.parametrize("text", UNRESPONSIVE)
def test_lists_name_what_did_not_respond(text: str, tmp_path: Path) -> None:
    assert ("JSD702", "ORDERS") in failed(of_text(text, tmp_path))
