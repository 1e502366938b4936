"""JSD824: the limit of an account, or of one of its tiers, that is fullest."""

from __future__ import annotations

from jsdoctor.checks.server_health.asset_limits import asset_limits
from jsdoctor.model.finding import Finding, Severity, passed
from jsdoctor.model.server import Account, AccountLimits, Accounts, Tier
from tests.checks.values import NOON, params_of


def tier(name: str = "", streams: int = 0, of: int = -1, consumers: int = 0, of_consumers: int = -1) -> Tier:
    limits = AccountLimits(max_streams=of, max_consumers=of_consumers)
    return Tier(name=name, streams=streams, consumers=consumers, limits=limits)


def judged(*tiers: Tier) -> list[Finding]:
    account = Account(name="APP", tiers=tiers, at=NOON, source="n1")
    return list(asset_limits(Accounts((account,)), params_of("JSD824")))


def test_an_account_without_limits_is_not_judged() -> None:
    assert judged(tier()) == judged(tier(of=0, of_consumers=0)) == []
    for limited in (tier(of=1), tier(of_consumers=1), tier("R1", of_consumers=7)):
        assert judged(tier("R3"), limited) == [passed(Account(name="APP", tiers=(), at=NOON).subject)]


def test_the_fullest_limit_is_told() -> None:
    near, full = tier("R1", 9, 10), tier("R3", consumers=5, of_consumers=5)
    for tiers in ((near, full), (full, near)):
        (finding,) = judged(*tiers)
        assert finding.severity is Severity.ERROR
        assert finding.message == (
            "5 of 5 consumers of tier R3 are in use: no further consumer can be created, ephemeral ones and those of"
            " key-value watchers included"
        )
        assert finding.measured == 1.0
        assert [observation.path for observation in finding.evidence] == ["R3.consumers", "R3.limits.max_consumers"]
    (first,) = judged(tier("R1", 3, 3), full)
    assert first.message.startswith("3 of 3 streams of tier R1 are in use")
    (streams,) = judged(near)
    assert streams.severity is None
    assert streams.message == "9 of 10 streams of tier R1 are in use: soon no further stream can be created"
    (whole,) = judged(tier("", 10, 10))
    assert whole.message == "10 of 10 streams are in use: no further stream can be created"
    assert [observation.path for observation in whole.evidence] == ["streams", "limits.max_streams"]
