"""JSD101: this machine's clock and a server's differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jsdoctor.checks.clock_skew.words import HOW_TO_MEASURE_BETTER, THIS_MACHINE, difference, doubt, listed
from jsdoctor.checks.registry import check
from jsdoctor.model.clock import Clocks, ServerClock
from jsdoctor.model.finding import Finding, failed, passed, unknown
from jsdoctor.model.params import Params

_NO_HARM = "JetStream uses no client's time, so it is not affected; ages and start times computed here are wrong"
_NOT_OURS = "no client's time reaches JetStream; what the difference between servers does, JSD102 says"


@check("clock_skew.client_server")
def client_server(clocks: Clocks, params: Params) -> Iterator[Finding]:
    """One finding for the local clock, whatever the number of servers it differs from: one clock has to be set."""
    tolerance_ns = params.integer("tolerance")
    wrong = [clock for clock in clocks.servers if clock.offset.exceeds(tolerance_ns)]
    doubtful = [clock for clock in clocks.servers if clock.offset.may_exceed(tolerance_ns)]
    if wrong:
        worst = max(wrong, key=lambda clock: abs(clock.offset.middle_ns))
        yield failed(
            THIS_MACHINE,
            _message(wrong, worst, len(clocks.servers)),
            *(value for clock in wrong for value in clock.observed),
            measured=(worst.offset.middle_ns, tolerance_ns, "duration"),
            uncertainty=worst.offset.bound_ns,
        )
    elif doubtful:
        reason = f"{doubtful[0].name}: {doubt(doubtful[0].offset, 'this machine')}"
        yield unknown(THIS_MACHINE, reason, HOW_TO_MEASURE_BETTER)
    else:
        yield passed(THIS_MACHINE)


def _message(wrong: Sequence[ServerClock], worst: ServerClock, servers: int) -> str:
    ahead = f"the clock of {worst.name} is {difference(worst.offset, 'that of this machine')}"
    if len(wrong) == servers:
        others = f", those of all {servers} servers differ" if servers > 1 else ""
        return f"{ahead}{others}: {_NO_HARM}"
    others = (
        "all others agree with this machine"
        if len(wrong) == 1
        else f"so differ {listed([c.name for c in wrong])}, no others"
    )
    return f"{ahead}, {others}: {_NOT_OURS}"
