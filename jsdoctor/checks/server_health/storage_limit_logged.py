"""JSD802: a server's or an account's storage limit was reached, as servers and applications logged it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.clients import client_of
from jsdoctor.checks.logs.log_findings import by_server, finding_of, is_recent
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, Subject, passed
from jsdoctor.model.log import LogEvidence

_SERVER = ("server-storage-limit-reached", "stream-reset-refused-by-server-limit")
_ACCOUNT = ("account-storage-limit-reached", "account-limit-reached-in-cluster", "stream-stopped-by-account-limit")
_CLIENT = ("client-account-storage-refused", "client-server-storage-refused")


def _owner(fields: Mapping[str, str], logged_by: str) -> Subject:
    """Whose limit it is. `account` may hold the tier behind a blank."""
    account = fields.get("account", "")
    return Subject(kind="account", account=account) if account else Subject(kind="server", name=logged_by)


@check("server_health.storage_limit_logged")
def storage_limit_logged(logs: LogEvidence) -> Iterator[Finding]:
    """The line is written at most once in ten seconds, so its number says nothing of the refused messages."""
    found = [
        *(
            (burst, "the server's storage limit was reached", "insufficient resources (10023)")
            for burst in bursts(logs, *_SERVER, subjects=by_server, calm=False)
        ),
        *(
            (burst, "the account's storage limit was reached", "resource limits exceeded for account (10002)")
            for burst in bursts(logs, *_ACCOUNT, subjects=_owner, calm=False)
        ),
        *(
            (burst, "its publishes were refused for a storage limit", "")
            for burst in bursts(logs, *_CLIENT, subjects=client_of)
        ),
    ]
    for burst, what, answer in found:
        yield _finding(logs, burst, what, answer)
    if not found:
        yield passed(CLUSTER)


def _finding(logs: LogEvidence, burst: Burst, what: str, answer: str) -> Finding:
    then = f"; every publish beyond it gets {answer}, and health checks stay ok" if answer else ""
    return finding_of(burst, f"{what}: {burst.story}{then}", None if is_recent(logs, burst) else Severity.WARNING)
