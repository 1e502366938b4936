"""A server whose log ends while those of others go on: from when to when it was away, and what that explains."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from jsdoctor.engine.incidents import incidents
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Outcome
from tests.support.log_cases import log_evidence_of
from tests.support.ruleset import run_rule

STOPPED = datetime(2026, 11, 21, 10, tzinfo=UTC)


def start(name: str) -> str:
    """The first lines of a server's log."""
    lines = ("Starting nats-server", "  Version:  2.15.1", "  Cluster:  C", f"  Name:     {name}", "Server is ready")
    return "".join(f"[7] 2026/11/21 09:00:00.000000 [INF] {line}\n" for line in lines)


def logs() -> EvidenceSet:
    """n1 stops in order at ten, and half an hour later those that remain lose the meta leader for ten minutes."""
    text = {
        "n1.log": start("n1") + "[7] 2026/11/21 10:00:00.000000 [INF] Server Exiting..\n",
        "n2.log": start("n2")
        + "[7] 2026/11/21 10:30:00.000000 [INF] JetStream cluster no metadata leader\n"
        + "[7] 2026/11/21 10:32:00.000000 [INF] JetStream cluster no metadata leader\n"
        + "[7] 2026/11/21 10:40:00.000000 [INF] something\n",
    }
    return log_evidence_of("JSD703", {"text": text, "zone": "UTC"})


def test_it_is_away_until_the_other_logs_end() -> None:
    (gone,) = (result.finding for result in run_rule("JSD703", logs()).results)
    assert gone.subject.name == "n1"
    assert (gone.first_seen, gone.last_seen) == (STOPPED, STOPPED + timedelta(minutes=40))


def test_what_begins_while_it_is_away_is_explained_by_it() -> None:
    results = [
        result
        for code in ("JSD701", "JSD703")
        for result in run_rule(code, logs()).results
        if result.finding.outcome is Outcome.FAIL
    ]
    (incident,) = incidents(results, logs(), STOPPED + timedelta(hours=9))
    assert [result.rule.code for result in incident.causes] == ["JSD703"]
    assert [consequence.result.rule.code for consequence in incident.consequences] == ["JSD701"]
