"""What reading something beside a deployment gives: logs, packets, manifests, earlier samples."""

from __future__ import annotations

import msgspec

from jsdoctor.collect.problems import Problem
from jsdoctor.model.evidence import Evidence
from jsdoctor.model.gap import Gap
from jsdoctor.model.report import Source


class BesideRead(msgspec.Struct, frozen=True):
    """Evidence of what lies beside a deployment, such as logs: with gaps, sources, and a sentence on it.

    `absent` is a kind of evidence that was requested and of which nothing was read, with the reason. `problem` is the
    error to report to the user.
    """

    evidence: Evidence
    gaps: tuple[Gap, ...]
    sources: tuple[Source, ...]
    headline: str
    absent: tuple[type[Evidence], Gap] | None = None
    problem: Problem | None = None
