"""What the command line asked `jsdoctor watch` for."""

from __future__ import annotations

from dataclasses import dataclass

from jsdoctor.app.judging import JudgeRequest
from jsdoctor.app.watch.receiver import Receiver
from jsdoctor.sources.request import EvidenceRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRequest:
    """`every_s` is from the start of one check to the start of the next. `for_s` None: until it is stopped."""

    judge: JudgeRequest
    wanted: EvidenceRequest
    every_s: float
    for_s: float | None = None
    once_healthy: bool = False
    receivers: tuple[Receiver, ...] = ()
