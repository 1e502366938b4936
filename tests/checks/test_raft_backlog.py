"""JSD707: the pace of a member is measured by our clock, and is not known where that was set back."""

from jsdoctor.checks.cluster_health.raft_backlog import backlogs, raft_backlog
from jsdoctor.model.finding import Finding, Outcome
from jsdoctor.model.raft import RaftGroups, RaftMember, RaftState
from tests.checks.values import after, params_of

LIMITS = (100, 1000, 100)


def member(applied: int, *, at_s: float, asked_s: float | None) -> RaftMember:
    """A member with a thousand entries to apply, at a time of its clock and of ours."""
    state = RaftState(state="FOLLOWER", committed=applied + 1_000, applied=applied)
    asked_at = None if asked_s is None else after(seconds=asked_s)
    return RaftMember("n1", "APP", "S-R3F-1", after(seconds=at_s), state, asked_at)


def pace(*readings: RaftMember) -> float | None:
    (backlog,) = backlogs(readings, LIMITS)
    return backlog.per_s


def judged(*readings: RaftMember) -> Finding:
    (finding,) = raft_backlog(RaftGroups(tuple((reading,) for reading in readings)), None, params_of("JSD707"))
    return finding


def test_without_a_clock_that_goes_on_the_pace_is_not_known() -> None:
    first = member(0, at_s=0, asked_s=0)
    for asked_s in (0, -1):
        last = member(4_000, at_s=2, asked_s=asked_s)
        assert pace(first, last) is None
        finding = judged(first, last)
        assert (finding.outcome, finding.how_to_get) == (Outcome.NOT_EVALUATED, "run again")
        assert finding.message == (
            "on n1 1,000 committed entries are not applied (group S-R3F-1); the clock of this machine was set back"
            " between the samples, so that its pace is not known"
        )
