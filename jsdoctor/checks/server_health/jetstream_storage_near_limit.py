"""JSD802: JetStream storage of a server or an account that is nearly used up or nearly reserved.

From logs: a server's or an account's storage limit was reached, as servers and applications logged it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import finding_of, is_recent
from jsdoctor.checks.logs.words import by_server, client_of
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, Severity, Subject, failed, passed, unknown
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.server import UNLIMITED, Account, Accounts, JetStreamStats, Server, Servers


@check("server_health.jetstream_storage_near_limit")
def jetstream_storage_near_limit(
    servers: Servers | None, accounts: Accounts | None, params: Params
) -> Iterator[Finding]:
    """Judge the storage limits of servers and accounts; JSD602 judges those of streams."""
    judged = False
    for server in servers.servers if servers else ():
        if server.jetstream is None:
            yield unknown(server.subject, "its JetStream figures were not read", "see the gaps of this run")
        elif not server.jetstream.disabled:
            judged = True
            yield _judged(server, of_server(server.jetstream), params)
    if judged and accounts is None:
        yield unknown(Subject(kind="account"), "the storage that accounts use was not read", "see the gaps of this run")
    for account in accounts.accounts if accounts else ():
        yield _judged(account, of_account(account), params)


def _judged(holder: Server | Account, fills: Iterable[ServerLimitUse], params: Params) -> Finding:
    reserved_at, warn_at, fail_at = (params.number(n) for n in ("reserved_fraction", "warn_fraction", "max_fraction"))
    late = [fill for fill in fills if fill.ratio >= (warn_at if fill.kind == "used" else reserved_at)]
    if not late:
        return passed(holder.subject)
    worst = max(late, key=lambda fill: (fill.kind == "used", fill.ratio))
    full = worst.kind == "used" and worst.ratio >= fail_at
    limit = fail_at if full else warn_at if worst.kind == "used" else reserved_at
    # An account is often given just what its streams reserve; on a server, new streams of anyone are refused.
    allotted = worst.kind == "reserved" and isinstance(holder, Account)
    return failed(
        holder.subject,
        "; ".join(_message(holder, fill, fail_at) for fill in sorted(late, key=lambda f: -f.ratio)),
        *(observation for fill in late for observation in _evidence(holder, fill)),
        severity=None if full else Severity.INFO if allotted else Severity.WARNING,
        measured=(worst.ratio, limit, "ratio"),
    )


def _message(holder: Server | Account, fill: ServerLimitUse, fail_at: float) -> str:
    owner = "server" if isinstance(holder, Server) else "account"
    text = f"{fill.value:,} of the {owner}'s {fill.limit:,} bytes of {fill.what} are {fill.kind}"
    if fill.kind == "reserved":
        return f"{text} by max_bytes of its streams: a stream that requests more than the rest is refused"
    code = "10023" if owner == "server" else "10002"
    if fill.ratio >= fail_at:
        now = "publishes are" if fill.ratio >= 1 else "soon publishes will be"
        return f"{text}: {now} refused (error {code}) whatever the limits of the stream"
    return f"{text}: at the limit publishes are refused (error {code})"


def _evidence(holder: Server | Account, fill: ServerLimitUse) -> Iterator[Observation]:
    source = holder.name if isinstance(holder, Server) else holder.source
    yield Observation(source, fill.path, fill.value, holder.at)
    yield Observation(source, f"limit of {fill.what}", fill.limit, holder.at)


_SERVER = ("server-storage-limit-reached", "stream-reset-refused-by-server-limit")
_ACCOUNT = ("account-storage-limit-reached", "account-limit-reached-in-cluster", "stream-stopped-by-account-limit")
_CLIENT = ("client-account-storage-refused", "client-server-storage-refused")


def _owner(fields: Mapping[str, str], logged_by: str) -> Subject:
    """Whose limit it is. `account` may hold the tier behind a blank."""
    account = fields.get("account", "")
    return Subject(kind="account", name=account) if account else Subject(kind="server", name=logged_by)


@check("server_health.storage_limit_logged", lines_of="any")
def storage_limit_logged(logs: LogEvidence) -> Iterator[Finding]:
    """The line is logged at most once in ten seconds, so its count is not the number of refused messages."""
    result = [
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
    for burst, what, error_text in result:
        effect = f"; every publish beyond it gets {error_text}, and health checks stay ok" if error_text else ""
        yield finding_of(burst, f"{what}: {burst.story}{effect}", None if is_recent(logs, burst) else Severity.WARNING)


class ServerLimitUse(msgspec.Struct, frozen=True):
    """One limit and how much of it is taken. `kind`: whether messages fill it or `max_bytes` of streams does."""

    what: str
    kind: str
    path: str
    value: int
    limit: int

    @property
    def ratio(self) -> float:
        """Share of the limit that is taken."""
        return self.value / self.limit


def _is_limited(limit: int) -> bool:
    """Whether there is a limit: 0, -1 and the unsigned -1 of some servers mean none."""
    return 0 < limit < UNLIMITED


def of_server(stats: JetStreamStats) -> Iterator[ServerLimitUse]:
    """The limits of a server: max_file_store, max_memory_store. A sum of reservations that underflowed is skipped."""
    config = stats.config
    if config is None:
        return
    for what, limit, used, reserved, name in (
        ("file storage", config.max_storage, stats.storage, stats.reserved_storage, "storage"),
        ("memory", config.max_memory, stats.memory, stats.reserved_memory, "memory"),
    ):
        if _is_limited(limit):
            yield ServerLimitUse(what, "used", name, used, limit)
            if reserved < UNLIMITED:
                yield ServerLimitUse(what, "reserved", f"reserved_{name}", reserved, limit)


def of_account(account: Account) -> Iterator[ServerLimitUse]:
    """The limits of an account, or of its tiers: times the copies for what is used, of one copy for reservations."""
    for tier in account.tiers:
        of_tier = f" of tier {tier.name}" if tier.name else ""
        all_copies = f"{of_tier}, all copies together," if tier.copies > 1 else of_tier
        for what, limit, used, reserved, name in (
            ("file storage", tier.limits.max_storage, tier.storage, tier.reserved_storage, "storage"),
            ("memory", tier.limits.max_memory, tier.memory, tier.reserved_memory, "memory"),
        ):
            if _is_limited(limit):
                yield ServerLimitUse(what + all_copies, "used", name, used, limit * tier.copies)
                if reserved < UNLIMITED:
                    yield ServerLimitUse(what + of_tier, "reserved", f"reserved_{name}", reserved, limit)
