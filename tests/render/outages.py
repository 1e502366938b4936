"""Reports of an outage with the shipped rules and remedies: a server is dead, and other things are wrong as well."""

from collections.abc import Iterator
from itertools import islice

from msgspec.structs import replace

from jsdoctor.engine.incidents import incidents
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Finding, Observation, Subject
from jsdoctor.model.report import Report, Result
from jsdoctor.remedy.offer import with_offers
from tests.render import reports
from tests.support.ruleset import actions, rules

_RULES = {rule.code: rule for rule in rules()}


def outage(findings: int) -> Report:
    """That many findings: a dead server first, then what follows from it, then other faults."""
    results = with_offers(islice(_results(), findings), actions)
    built = reports.report(results, verdicts=reports.passed(reports.META, reports.CLOCK))
    return replace(built, incidents=incidents(built.failures(), EvidenceSet({}, {}), built.finished))


def _results() -> Iterator[Result]:
    n3 = reports.server("n3")
    yield _fails("JSD703", n3, "n3 has not been seen for 31s: the meta group, 40 streams and 12 consumers run")
    yield _fails("JSD702", reports.stream("SOLO"), "it has no leader and cannot be published to or read", "n3")
    yield _fails("JSD706", Subject(kind="cluster", name="east"), "the meta group has 4 members, one of them is away")
    yield _fails("JSD901", n3, "it did not respond within 5s")
    yield _fails("JSD405", reports.consumer("shipping"), "no client requests messages: 2,614 messages waiting")
    yield _fails("JSD601", reports.stream("LOGS"), "no limit", max_bytes=1 << 30)
    yield _fails("JSD204", reports.stream("ORDERS"), "it ended at 9,400 and ends at 9,100 now: 300 messages are gone")
    for number in range(60):
        subject = reports.stream(f"SOLO-{number}")
        yield _fails("JSD702", subject, "it has no leader and cannot be published to or read", "n3")
    for number in range(40):
        waiting = f"no client requests messages: {number + 5:,} messages waiting"
        yield _fails("JSD405", reports.consumer(f"worker-{number}", "JOBS"), waiting)
    for number in range(40):
        yield _fails("JSD602", reports.stream(f"EVENTS-{number}"), "98 % of max_msgs are used", max_msgs=2000)
    for number in range(60):
        yield _fails("JSD601", reports.stream(f"LOGS-{number}"), "no limit", max_bytes=1 << 30)


def _fails(code: str, subject: Subject, message: str, server: str = "", **remedy: int) -> Result:
    evidence = (Observation(source="n1", path=f"cluster.replicas[{server}].active", value=31),) if server else ()
    return Result(_RULES[code], Finding(subject=subject, message=message, evidence=evidence, remedy=dict(remedy)))
