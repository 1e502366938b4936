"""JSD508: the clock of the capturing host was set during the capture."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.packets.views import moment
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, Severity, Subject, failed, passed
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.wording import span

_SHOWN = 4


@check("packet_reordering.clock_stepped")
def clock_stepped(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """Judge each capture."""
    for capture in packets.captures:
        subject = Subject(kind="file", name=capture.name)
        if not capture.clock_steps:
            yield passed(subject)
            continue
        sizes = [step.by_ns for step in capture.clock_steps]
        largest_ns = max(map(abs, sizes))
        steps = ", ".join(f"{span(abs(by_ns))} {'forward' if by_ns > 0 else 'back'}" for by_ns in sizes[:_SHOWN])
        yield failed(
            subject,
            f"the clock of the capturing host was set during the capture: {steps}, while TCP timestamps went on evenly;"
            " durations are given as if it had not been set, and times are those of the clock at the beginning",
            *(Observation(capture.name, "clock set by, ns", s.by_ns, at=moment(s.at_ns)) for s in capture.clock_steps),
            severity=None if largest_ns >= params.integer("warn") else Severity.INFO,
            measured=(largest_ns, params.integer("warn"), "duration"),
            between=(moment(capture.clock_steps[0].at_ns), moment(capture.clock_steps[-1].at_ns)),
        )
