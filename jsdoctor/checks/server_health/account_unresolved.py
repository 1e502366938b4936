"""JSD822: accounts that a server could not fetch or use, and clients whose account has expired."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.clients import client_of
from jsdoctor.checks.logs.log_findings import finding_of, is_recent
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, Subject, passed
from jsdoctor.model.log import LogEvidence

_FAILED = {
    "account-fetch-failed": "the JWT of an account could not be fetched",
    "account-not-registered": "a client could not be added to the account",
    "account-lookup-failed": "the account of a leaf node could not be found",
    "account-resolver-error": "its account resolver had trouble",
    "account-fetch-slow": "the JWT of the account took long to fetch",
}
_MANY = 3


def _owner(fields: Mapping[str, str], logged_by: str) -> Subject:
    account = fields.get("account", "")
    return Subject(kind="account", account=account) if account else Subject(kind="server", name=logged_by)


@check("server_health.account_unresolved_logged")
def account_unresolved_logged(logs: LogEvidence) -> Iterator[Finding]:
    """A server fetches an account when its first client comes (server.go fetchRawAccountClaims)."""
    failed = bursts(logs, *_FAILED, subjects=_owner)
    expired = bursts(logs, "client-account-expired", subjects=client_of)
    for burst in failed:
        what = "; ".join(dict.fromkeys(_FAILED[occurrence.signature] for occurrence in burst.found))
        reason = f" ({burst.values('reason')})" if burst.values("reason") else ""
        then = "meanwhile its clients cannot log in there"
        yield finding_of(burst, f"{what}{reason}: {burst.story}; {then}", _severity(logs, burst))
    for burst in expired:
        yield finding_of(burst, f"the JWT of its account has expired, so it was disconnected: {burst.story}")
    if not failed and not expired:
        yield passed(CLUSTER)


def _severity(logs: LogEvidence, burst: Burst) -> Severity | None:
    only_slow = all(occurrence.signature == "account-fetch-slow" for occurrence in burst.found)
    grave = burst.most >= _MANY or (is_recent(logs, burst) and not only_slow)
    return None if grave else Severity.INFO
