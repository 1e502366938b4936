"""Loss is reported for each direction of a connection, not only for the worse one."""

from __future__ import annotations

from jsdoctor.model.finding import Outcome
from tests.support.packet_cases import packet_evidence_of
from tests.support.ruleset import run_all


def test_both_directions_are_named_when_both_lost_packets() -> None:
    lost = {
        f"{way}.{name}": value
        for way, count in (("to_server", 30), ("to_client", 50))
        for name, value in (
            ("retransmission.segments", count),
            ("retransmission.packets", count),
            ("retransmission.fast", count),
            ("distinct_packets", 1000),
        )
    }
    edit = {"where": "connections", "match": {"number": 1}, "set": lost}
    findings = [
        result.finding
        for result in run_all(packet_evidence_of({"captures": ["nats-clean.client"], "edit": [edit]})).results
        if result.rule.code == "JSD502" and result.finding.outcome is Outcome.FAIL
    ]
    (finding,) = findings
    assert "from the server to the client 50 of 1,000" in finding.message
    assert "from the client to the server 30 of 1,000" in finding.message
    assert finding.measured == 0.05
