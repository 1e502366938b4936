"""What findings have in common, and how each link is worded."""

from __future__ import annotations

import pytest

from jsdoctor.engine.relations import Relations, in_words
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import CLUSTER, Finding, Subject
from jsdoctor.model.report import Result
from jsdoctor.model.rule import Relation
from jsdoctor.model.server import Servers
from tests.render import reports
from tests.support.evidence import evidence_of

N1, N2 = reports.server("n1"), reports.server("n2")
ORDERS, COPY, BILLING = reports.stream("ORDERS"), reports.stream("COPY"), reports.consumer("billing")


def finding(subject: Subject, message: str = "") -> Finding:
    return Finding(subject=subject, message=message)


@pytest.mark.parametrize(
    ("link", "key", "effect", "cause", "words"),
    [
        (Relation.SERVER, ("some server",), ORDERS, N1, "no server responds for it, and n1 is away"),
        (Relation.SERVER, ("server", "n1"), N1, N1, "the same server n1"),
        (Relation.SERVER, ("server", "n1"), N2, N1, "it names n1"),
        (Relation.SERVER, ("server", "n1"), ORDERS, N1, "n1 holds it"),
        (Relation.SERVER, ("server", "n1"), N1, ORDERS, "n1 holds APP > ORDERS"),
        (Relation.ORIGIN, ("stream", "ORDERS"), COPY, ORDERS, "its origin is APP > ORDERS"),
        (
            *(Relation.RETAINED, ("stream", "ORDERS"), ORDERS, BILLING),
            "it keeps what APP > ORDERS > billing has not acknowledged",
        ),
        (
            *(Relation.CONSUMER, ("stream", "ORDERS"), ORDERS, BILLING),
            "APP > ORDERS > billing is a consumer of it",
        ),
        (Relation.DOMAIN, ("domain", ""), CLUSTER, ORDERS, "the same cluster"),
        (Relation.DOMAIN, ("domain", "hub"), CLUSTER, ORDERS, "the same domain hub"),
        (Relation.MOMENT, ("moment",), CLUSTER, ORDERS, "at the same time"),
        (Relation.ACCOUNT, ("account", "APP"), ORDERS, BILLING, "the same account APP"),
        (Relation.REMOTE, ("remote",), COPY, CLUSTER, "its origin is reached through that link"),
        (Relation.SAME, ("consumer", "ORDERS", "billing"), BILLING, BILLING, "the same consumer"),
        (Relation.STREAM, ("stream", "ORDERS"), BILLING, ORDERS, "the same stream ORDERS"),
    ],
)
def test_the_evidence_of_a_link(
    link: Relation, key: tuple[str, ...], effect: Subject, cause: Subject, words: str
) -> None:
    assert in_words(link, key, finding(effect), finding(cause)) == words


def test_a_server_that_holds_no_stream_is_known_from_its_own_reply() -> None:
    servers = evidence_of({"base": "three-nodes-2.15.1"}).get(Servers)
    assert servers is not None
    elections = finding(CLUSTER, "n2 and n9 called elections.")
    assert Relations(EvidenceSet({Servers: servers}, {}), ()).servers(elections) == ("n2",)
    away = Result(reports.HEALTH, finding(reports.server("n9")))
    assert Relations(EvidenceSet({Servers: servers}, {}), [away]).servers(elections) == ("n2", "n9")


def test_a_name_at_the_end_of_a_sentence_is_found_as_it_is() -> None:
    away = Result(reports.HEALTH, finding(reports.server("X-1-X")))
    assert Relations(EvidenceSet({}, {}), [away]).servers(finding(ORDERS, "behind: X-1-X.")) == ("X-1-X",)


def test_dashes_and_dots_name_no_server() -> None:
    """A finding about a server whose name is not known says nothing of others."""
    nameless = Result(reports.HEALTH, finding(reports.server("")))
    relations = Relations(EvidenceSet({}, {}), [nameless])
    assert relations.servers(finding(CLUSTER, "behind - how far is unknown ...")) == ()
