"""JSD822: accounts whose JWT ends, as their servers have it, and logins of accounts that a server does not know."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from jsdoctor.checks.server_health.account_unresolved import account_unresolved, account_unresolved_logged
from jsdoctor.model.account_claims import AccountClaims, AccountUse
from jsdoctor.model.connections import ClientConnection, Connections, ServerConnections
from jsdoctor.model.finding import Finding, Outcome, Severity, Subject, passed
from jsdoctor.model.log import LogEvidence, LogFile, Occurrence
from tests.checks.values import NOON, after, lines, log_time, params_of


def use(server: str = "n1", expires: datetime | None = None, account: str = "A", **more: Any) -> AccountUse:
    return AccountUse(server=server, account=account, at=NOON, expires=expires, **more)


def judged(
    *uses: AccountUse, listed: dict[str, frozenset[str]] | None = None, connections: Connections | None = None
) -> list[Finding]:
    return list(account_unresolved(AccountClaims(uses, listed or {}), connections, params_of("JSD822")))


def test_accounts_are_in_the_order_of_their_keys() -> None:
    assert [finding.subject.name for finding in judged(use(account="B"), use(account="A"))] == ["A", "B"]


def test_the_server_with_the_oldest_jwt_decides() -> None:
    soon, late = after(hours=1), after(days=900)
    for uses in ((use("n1"), use("n2", late), use("n3", soon)), (use("n3", soon), use("n1"), use("n2", late))):
        (finding,) = judged(*uses)
        assert finding.message == "its JWT on n3 expires in 1h: then its clients are disconnected"
    assert judged(use("n1", late), use("n2")) == [passed(Subject(kind="account", name="A"))]
    assert judged(use("n1"), use("n2")) == [passed(Subject(kind="account", name="A"))]


def test_an_account_has_expired_if_one_server_says_so() -> None:
    (finding,) = judged(use("n2", after(hours=-1)), use("n1", NOON), use("n3"), use("n4", after(days=9)))
    assert finding.severity is Severity.ERROR
    assert finding.message == "its JWT has expired on n1, n2: its clients were disconnected and cannot log in"
    (logged_seen,) = judged(use("n1", expired=True), use("n2"))
    assert logged_seen.message == "its JWT has expired on n1: its clients were disconnected and cannot log in"


def listing(server: str, *issuers: str | None, known: bool = True) -> ServerConnections:
    closed = tuple(
        ClientConnection(cid=number, stop=NOON, issuer_account=single) for number, single in enumerate(issuers)
    )
    return ServerConnections(server=server, at=NOON, closed=closed if known else None)


def test_each_server_is_judged_by_the_accounts_that_it_knows() -> None:
    connections = Connections(
        (
            listing("n1", known=False),
            listing("n2", "A", "", "B", "B", "C"),
            listing("n3", "A", ""),
            listing("n4", None, "A"),
            listing("n5", "B", None),
        )
    )
    known = {f"n{number}": frozenset({"A"}) for number in range(1, 6)}
    _, *findings = judged(use(), listed=known, connections=connections)
    fail, unknown = Outcome.FAIL, Outcome.NOT_EVALUATED
    assert [finding.outcome for finding in findings] == [unknown, fail, Outcome.PASS, unknown, fail]
    assert findings[1].severity is None
    assert findings[1].message.startswith(
        "3 logins failed of accounts that it does not know (B (2), C (1)): it has no JWT of them"
    )
    assert findings[4].severity is Severity.INFO


def logged(*occurrences: Occurrence, end_s: float = 0) -> Finding:
    files = (LogFile(path="n1.log", size=1, client_lines=1, last=log_time(end_s)),)
    (finding,) = account_unresolved_logged(LogEvidence(files=files, found=occurrences))
    return finding


def test_lines_of_slow_fetches_are_information_until_there_are_three() -> None:
    def of(signature: str, count: int = 1) -> Occurrence:
        return lines(signature, count, fields=(("account", "A"),))

    slow, failed = "account-fetch-slow", "account-not-registered"
    assert logged(of(slow, 2)).severity is Severity.INFO
    assert logged(of(slow, 3)).severity is None
    assert logged(of(slow), of(failed)).severity is None
    assert logged(of(slow), of(failed), end_s=3_600).severity is Severity.INFO
    assert logged(of(failed)).subject == Subject(kind="account", account="A")
