"""JSD103: measured against NTP servers, this machine's clock or a server's is wrong."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.clock_skew.words import HOW_TO_MEASURE_BETTER, THIS_MACHINE, difference, doubt, listed
from jsdoctor.checks.registry import check
from jsdoctor.model.clock import OWN_CLOCK, Clocks, NtpTime, Offset
from jsdoctor.model.finding import Confidence, Finding, Observation, Severity, Subject, failed, passed, unknown
from jsdoctor.model.host import HostFacts
from jsdoctor.model.params import Params

HOW_TO_MEASURE = "name NTP servers that this machine can reach: --ntp HOST"


@check("clock_skew.not_synchronised")
def not_synchronised(clocks: Clocks, ntp: NtpTime, params: Params) -> Iterator[Finding]:
    """Compare every clock that could be read with true time: one that differs from it is wrong."""
    yield _judged(THIS_MACHINE, OWN_CLOCK.against(ntp.offset), ntp, (), params)
    for clock in clocks.servers:
        yield _judged(clock.subject, clock.offset.against(ntp.offset), ntp, clock.observed, params)


@check("clock_skew.kernel_not_synchronised")
def kernel_not_synchronised(host: HostFacts, ntp: NtpTime | None) -> Iterator[Finding]:
    """Judge this machine's clock by what its kernel reports. With NTP measurements `not_synchronised` judges it."""
    clock = host.last.clock
    if ntp is not None:
        return
    if clock is None:
        yield unknown(THIS_MACHINE, "the kernel does not say whether its clock is synchronised", HOW_TO_MEASURE)
    elif not clock.synchronised:
        yield failed(
            THIS_MACHINE,
            "its kernel reports that no program synchronises its clock; --ntp HOST measures how far it is off",
            host.last.observed("clock.synchronised", False),
            severity=Severity.INFO,
            confidence=Confidence.MEDIUM,
        )
    else:
        yield passed(THIS_MACHINE)


def _judged(
    subject: Subject, offset: Offset, ntp: NtpTime, observed: tuple[Observation, ...], params: Params
) -> Finding:
    tolerance_ns = params.integer("tolerance")
    if not offset.exceeds(tolerance_ns):
        if offset.may_exceed(tolerance_ns):
            return unknown(subject, doubt(offset, "true time"), HOW_TO_MEASURE_BETTER)
        return passed(subject)
    ours = subject is THIS_MACHINE
    slight = ours or abs(offset.middle_ns) < params.integer("warning")
    effect = "no server is affected" if ours else "what it stores is dated wrong, what it expires goes early or late"
    return failed(
        subject,
        f"its clock is {difference(offset, 'true time')} by NTP of {listed(ntp.sources)}: {effect}",
        *observed,
        *ntp.observed,
        severity=Severity.INFO if slight else None,
        measured=(offset.middle_ns, tolerance_ns, "duration"),
        uncertainty=offset.bound_ns,
    )
