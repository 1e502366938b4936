"""What the command line asked `jsdoctor watch` for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from jsdoctor.app.request import JudgeRequest
from jsdoctor.app.watch.receiver import Receiver, parse_receiver
from jsdoctor.model.option import option
from jsdoctor.parse.duration import parse_positive_seconds
from jsdoctor.sources.request import EvidenceRequest


@dataclass(frozen=True, kw_only=True)
class WatchRequest:
    """The time between checks, and who receives notifications."""

    every_s: Annotated[
        float,
        option("--every", metavar="DURATION", help="Time between checks.", parse=parse_positive_seconds, default="10s"),
    ] = 10.0
    for_s: Annotated[
        float | None,
        option(
            "--for",
            metavar="DURATION",
            help="End after this time and at least one check.",
            parse=parse_positive_seconds,
            default="until stopped",
        ),
    ] = None
    once_healthy: Annotated[
        bool,
        option("--once-healthy", help="End with 0 at the first check without findings at or above --fail-on."),
    ] = False
    receivers: Annotated[
        tuple[Receiver, ...],
        option(
            "--notify",
            metavar="[FORMAT=]URL",
            help="Post findings at or above --fail-on there when they appear, worsen and are resolved, as JSON; "
            "FORMAT is json, slack or alertmanager. Repeatable.",
            parse=parse_receiver,
        ),
    ] = ()
    judge: JudgeRequest = JudgeRequest()  # noqa: RUF009 - frozen, so one shared instance is safe
    wanted: EvidenceRequest = EvidenceRequest()  # noqa: RUF009 - frozen, so one shared instance is safe
