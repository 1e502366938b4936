"""JSD508: the clock of the capturing host was set during the capture."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.packets.views import moment
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, Severity, Subject, failed, passed
from jsdoctor.model.packets import Capture, PacketEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.wording import span


@check("packet_reordering.clock_stepped")
def clock_stepped(packets: PacketEvidence, params: Params) -> Iterator[Finding]:
    """By capture."""
    for capture in packets.captures:
        subject = Subject(kind="file", name=capture.name)
        yield _finding(subject, capture, params) if capture.clock_steps else passed(subject)


def _finding(subject: Subject, capture: Capture, params: Params) -> Finding:
    largest = max(capture.clock_steps, key=lambda step: abs(step.by_ns))
    ways = ", ".join(
        f"{span(abs(step.by_ns))} {'forward' if step.by_ns > 0 else 'back'}" for step in capture.clock_steps[:4]
    )
    return failed(
        subject,
        f"the clock of the capturing host was set during the capture: {ways}, while TCP timestamps went on evenly;"
        " durations are given as if it had not been set, and times are those of the clock at the beginning",
        *(
            Observation(capture.name, "clock set by, ns", step.by_ns, at=moment(step.at_ns))
            for step in capture.clock_steps
        ),
        severity=None if abs(largest.by_ns) >= params.integer("warn") else Severity.INFO,
        measured=(abs(largest.by_ns), params.integer("warn"), "duration"),
        between=(moment(capture.clock_steps[0].at_ns), moment(capture.clock_steps[-1].at_ns)),
    )
