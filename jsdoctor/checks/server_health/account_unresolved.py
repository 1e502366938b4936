"""JSD822: accounts whose JWT has expired or soon does, and logins of accounts that a server does not know.

From logs: accounts that a server could not fetch or use, and clients whose account has expired.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.log_findings import finding_of, is_recent
from jsdoctor.checks.logs.words import client_of
from jsdoctor.checks.registry import check
from jsdoctor.checks.servers.closings import closed_within, most_common, observed_closings
from jsdoctor.model.account_claims import AccountClaims, AccountUse
from jsdoctor.model.connections import Connections
from jsdoctor.model.finding import Finding, Severity, failed, passed, unknown
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.wording import counted, span

_FAILED = {
    "account-fetch-failed": "the JWT of an account could not be fetched",
    "account-not-registered": "a client could not be added to the account",
    "account-lookup-failed": "the account of a leaf node could not be found",
    "account-resolver-error": "its account resolver failed",
    "account-fetch-slow": "the JWT of the account took long to fetch",
}
_MANY_LOGINS = 3


@check("server_health.account_unresolved")
def account_unresolved(claims: AccountClaims, connections: Connections | None, params: Params) -> Iterator[Finding]:
    """Judge expiring JWTs, and failed logins whose JWT names an account that the server does not list."""
    by_account: dict[str, list[AccountUse]] = defaultdict(list)
    for use in claims.uses:
        by_account[use.account].append(use)
    for _, uses in sorted(by_account.items()):
        yield _expiry(uses, params.integer("expires_within"))
    for server in connections.servers if connections and claims.uses else ():
        known = claims.listed.get(server.server)
        if server.closed is None or known is None:
            yield unknown(server.subject, "its closed connections or accounts were not listed", "see the gaps")
            continue
        logins = list(closed_within(server, params.integer("window")))
        unknown_logins = [login for login in logins if login.issuer_account and login.issuer_account not in known]
        redacted = sum(login.issuer_account is None for login in logins)
        if unknown_logins:
            accounts = most_common(str(login.issuer_account) for login in unknown_logins)
            yield failed(
                server.subject,
                f"{counted(len(unknown_logins), 'login')} failed of accounts that it does not know"
                f" ({accounts}): it has no JWT of them and could not fetch one, or they are those of another operator",
                *observed_closings(server, unknown_logins),
                severity=None if len(unknown_logins) >= _MANY_LOGINS else Severity.INFO,
                measured=(len(unknown_logins), _MANY_LOGINS, "count"),
            )
        elif redacted:
            reason = f"the bundle has neither the JWTs of {counted(redacted, 'failed login')} nor their accounts"
            yield unknown(server.subject, reason, "capture the bundle with this version of jsdoctor")
        else:
            yield passed(server.subject)


def _expiry(uses: Sequence[AccountUse], within_ns: int) -> Finding:
    """The finding on an account's JWT, by the server that has the one which expires first."""
    first = min(uses, key=lambda use: (use.expires is None, use.expires or use.at))
    if any(use.expired for use in uses) or (first.expires and first.expires <= first.at):
        servers = ", ".join(sorted(u.server for u in uses if u.expired or (u.expires and u.expires <= u.at)))
        return failed(
            first.subject,
            f"its JWT has expired on {servers}: its clients were disconnected and cannot log in",
            *(use.observed("expired", use.expired) for use in uses),
            severity=Severity.ERROR,
        )
    if first.expires is None:
        return passed(first.subject)
    left_ns = int((first.expires - first.at).total_seconds() * 1e9)
    if left_ns > within_ns:
        return passed(first.subject)
    return failed(
        first.subject,
        f"its JWT on {first.server} expires in {span(left_ns)}: then its clients are disconnected",
        first.observed("decoded_jwt.exp", first.expires),
        measured=(left_ns, within_ns, "duration"),
    )


@check("server_health.account_unresolved_logged", lines_of="any")
def account_unresolved_logged(logs: LogEvidence) -> Iterator[Finding]:
    """Report failed fetches; a server fetches an account when its first client connects (fetchRawAccountClaims)."""
    failures = bursts(logs, *_FAILED)
    expired = bursts(logs, "client-account-expired", subjects=client_of)
    for burst in failures:
        what = "; ".join(dict.fromkeys(_FAILED[occurrence.signature] for occurrence in burst.found))
        effect = "meanwhile its clients cannot log in there"
        yield finding_of(burst, f"{what}{burst.in_brackets('reason')}: {burst.story}; {effect}", _severity(logs, burst))
    for burst in expired:
        yield finding_of(burst, f"the JWT of its account has expired, so it was disconnected: {burst.story}")


def _severity(logs: LogEvidence, burst: Burst) -> Severity | None:
    only_slow = all(occurrence.signature == "account-fetch-slow" for occurrence in burst.found)
    is_severe = burst.most >= _MANY_LOGINS or (is_recent(logs, burst) and not only_slow)
    return None if is_severe else Severity.INFO
