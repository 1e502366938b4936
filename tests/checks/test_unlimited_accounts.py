"""Accounts without JetStream limits beside others, judged from the usage that servers report."""

from datetime import UTC, datetime

from jsdoctor.checks.server_health.authentication_not_required import authentication_not_required
from jsdoctor.model.finding import Finding
from jsdoctor.model.server import Account, AccountLimits, Accounts, Tier

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
UNLIMITED, ONE_BYTE = AccountLimits(), AccountLimits(max_storage=1)


def account(name: str, *tiers: Tier, domain: str = "") -> Account:
    return Account(name, tiers, NOON, "n1", domain)


def judged(*accounts: Account) -> list[Finding]:
    return list(authentication_not_required(None, None, Accounts(accounts)))


def names(*accounts: Account) -> list[tuple[str, str]]:
    return [(finding.subject.name, finding.outcome.value) for finding in judged(*accounts)]


def used(limits: AccountLimits = UNLIMITED, streams: int = 1) -> Tier:
    return Tier(streams=streams, limits=limits)


def test_what_counts_as_a_limit_and_as_use() -> None:
    memory = AccountLimits(max_memory=1)
    none = AccountLimits(max_storage=0, max_memory=0)
    both = [account("A", used(memory)), account("B", used(none))]
    assert names(*both) == [("A", "pass"), ("B", "fail")]
    tiers = account("A", used(), used(ONE_BYTE))
    assert names(tiers, account("B", used())) == [("A", "pass"), ("B", "fail")]
    for tier in (Tier(storage=1), Tier(memory=1), Tier(streams=1)):
        assert len(names(account("A", Tier(), tier), account("B", used()))) == 2
