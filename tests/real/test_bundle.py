"""Captured is live: what a check finds in a bundle is what it finds in the cluster, on clusters full of faults."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import nats
import pytest

from jsdoctor.bundles.bundle import encode_bundle
from jsdoctor.engine.planner import CollectionPlan
from jsdoctor.model.finding import Subject
from jsdoctor.redaction.redact import redact
from jsdoctor.replies.assemble import assemble
from jsdoctor.sources.bundle.write import write_bundle
from jsdoctor.sources.rule_pages import known_defects
from tests.faults.planting import TOPOLOGIES, at_once
from tests.servers import Cluster, ClusterFactory
from tests.sources.looking import take_samples
from tests.support.once import once
from tests.support.reports import Json, run_capture, run_check
from tests.support.ruleset import run_all
from tests.support.site import Site

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("ward")]
Outcomes = dict[tuple[str, ...], object]
WHERE = [("2.15.1", "one-node"), ("2.10.26", "three-nodes")]
NOW = datetime(2030, 1, 1, tzinfo=UTC)


@dataclass
class Visit:
    """The same faults, looked at in two ways: one collection judged at once and from a bundle; live, captured, live."""

    in_process: Outcomes
    from_bundle: Outcomes
    before: Outcomes
    captured: Outcomes
    after: Outcomes


def of_report(report: Json) -> Outcomes:
    """Everything said in a report, by rule and subject."""
    return {
        (result["code"], *(result["subject"][part] for part in ("kind", "account", "stream", "name"))): (
            result["outcome"],
            result["severity"],
            result["message"],
            result["measured"],
        )
        for result in report["results"]
    }


def severities(results: Outcomes) -> dict[tuple[str, ...], object]:
    """Codes, subjects and severities of what failed: what does not move with the traffic."""
    return {key: outcome[1] for key, outcome in results.items() if isinstance(outcome, tuple) and outcome[0] == "fail"}


def _is_unknown(outcome: object) -> bool:
    return isinstance(outcome, tuple) and outcome[0] == "not_evaluated"


def identity(code: str, subject: Subject) -> tuple[str, ...]:
    return (code, subject.kind, subject.account, subject.stream, subject.name)


async def _visit(cluster: Cluster, version: str, topology: str, home: Path) -> Visit:
    plants = [plant for plant in at_once() if plant.fits(version, topology)]
    site = Site.of(cluster, version, await nats.connect(cluster.servers("app")))
    live = ("--server", cluster.url("sys"), "--interval", "3s")
    try:
        await asyncio.gather(*(plant.work(site) for plant in plants))
        before = (await asyncio.to_thread(run_check, *live))[1]
        await asyncio.to_thread(run_capture, home / "cli.zip", "-s", cluster.url("sys"), "--interval", "3s")
        samples = await asyncio.to_thread(take_samples, cluster.url("sys"), (), CollectionPlan(interval_s=2.0))
        after = (await asyncio.to_thread(run_check, *live))[1]
        await site.rest()
    finally:
        await site.rest()
        await site.client.close()
    evaluation = run_all(assemble(samples).joined(known_defects()))
    write_bundle(home / "same.zip", encode_bundle(redact(samples).samples, created=NOW, version="0"))
    return Visit(
        in_process={
            identity(result.rule.code, result.finding.subject): (
                result.finding.outcome.value,
                result.severity.value,
                result.finding.message,
                result.finding.measured,
            )
            for result in evaluation.results
        },
        from_bundle=of_report(run_check("--bundle", str(home / "same.zip"))[1]),
        before=of_report(before),
        captured=of_report(run_check("--bundle", str(home / "cli.zip"))[1]),
        after=of_report(after),
    )


@pytest.fixture(scope="module")
def visit(shared_cluster: ClusterFactory, tmp_path_factory: pytest.TempPathFactory) -> object:
    """One visit per deployment."""

    @once
    def at(version: str, topology: str) -> Visit:
        cluster = shared_cluster(version, TOPOLOGIES[topology], extra_config="# bundles\n")
        return asyncio.run(_visit(cluster, version, topology, tmp_path_factory.mktemp("bundles")))

    return at


@pytest.mark.parametrize(("version", "topology"), WHERE)
def test_the_same_replies_give_the_same_findings(visit, version: str, topology: str) -> None:  # type: ignore[no-untyped-def]
    """To the last word and number, though the bundle says that it is of 2030."""
    seen = visit(version, topology)
    assert len(severities(seen.in_process)) > 20
    assert seen.from_bundle == seen.in_process


@pytest.mark.parametrize(("version", "topology"), WHERE)
def test_capture_finds_what_check_finds(visit, version: str, topology: str) -> None:  # type: ignore[no-untyped-def]
    """A live check before and one after the capture: what both found is in it, and nothing that neither found."""
    seen = visit(version, topology)
    before, captured, after = (severities(results) for results in (seen.before, seen.captured, seen.after))
    # Of a consumer that is quiet for a minute, and whose messages came a moment later, nothing is known in that moment.
    undecided = {(key, "info") for key, known in seen.captured.items() if key[0] == "JSD405" and _is_unknown(known)}
    assert (before.items() & after.items()) - undecided <= captured.items()
    # An origin that happened to be silent for some seconds is information (JSD607).
    chance = {(key, severity) for key, severity in captured.items() if (key[0], severity) == ("JSD607", "info")}
    assert captured.items() - chance <= before.items() | after.items()
    assert len(captured) > 20
