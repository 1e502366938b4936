"""Clients of a consumer of which only its own page is known: since when messages wait is not shown there."""

from pathlib import Path

from jsdoctor.model.finding import Confidence, Severity
from tests.pasted.test_paste import judged

PAGE = """Information for Consumer ORDERS > billing created 2026-11-20T10:00:00Z

Configuration:

                    Name: billing
               Pull Mode: true
              Ack Policy: Explicit
                Ack Wait: 30.00s
         Max Ack Pending: 1,000

State:

  Last Delivered Message: Consumer sequence: 10 Stream sequence: 20 Last delivery: {ago} ago
    Acknowledgment Floor: Consumer sequence: 10 Stream sequence: 20 Last Ack: {ago} ago
        Outstanding Acks: 0 out of maximum 1,000
    Redelivered Messages: 0
    Unprocessed Messages: {pending}
           Waiting Pulls: 0 of maximum 512
"""


def test_since_when_messages_wait_is_not_shown(tmp_path: Path) -> None:
    page = tmp_path / "page.txt"
    page.write_text(PAGE.format(ago="18m0s", pending=7))
    [finding] = [result.finding for result in judged(page, select=("JSD405",)).failures()]
    assert finding.subject.label == "ORDERS > billing"
    assert finding.message == (
        "no client requests messages and the last sign of a client is 18m old: 7 messages waiting;"
        " since when they wait is not shown"
    )
    assert (finding.severity, finding.confidence) == (Severity.INFO, Confidence.LOW)
    assert (finding.measured, finding.unit) == (18 * 60 * 1_000_000_000, "duration")
    assert [(item.path, item.value) for item in finding.evidence] == [("num_waiting", 0), ("num_pending", 7)]
    assert finding.how_to_get == "give the page of its stream, too: nats stream info STREAM"
