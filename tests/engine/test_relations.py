"""What findings have in common, and how each link is worded."""

from jsdoctor.engine.relations import Relations
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import CLUSTER, Finding, Subject
from jsdoctor.model.report import Result
from tests.render import reports

ORDERS, COPY = reports.stream("ORDERS"), reports.stream("COPY")


def finding(subject: Subject, message: str = "") -> Finding:
    return Finding(subject=subject, message=message)


def test_a_name_at_the_end_of_a_sentence_is_found_as_it_is() -> None:
    away = Result(reports.HEALTH, finding(reports.server("X-1-X")))
    assert Relations(EvidenceSet({}, {}), [away]).servers(finding(ORDERS, "behind: X-1-X.")) == ("X-1-X",)


def test_dashes_and_dots_name_no_server() -> None:
    """A finding about a server whose name is not known says nothing of others."""
    nameless = Result(reports.HEALTH, finding(reports.server("")))
    relations = Relations(EvidenceSet({}, {}), [nameless])
    assert relations.servers(finding(CLUSTER, "behind - how far is unknown ...")) == ()
