"""What a command line asks to be looked at: a deployment, live or captured, and what lies beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jsdoctor.cli import options as opt
from jsdoctor.cli.connection import connection_options
from jsdoctor.cli.log_options import LogRequest, log_options
from jsdoctor.collect.connect.settings import ConnectionOptions
from jsdoctor.model.evidence import Evidence
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.stored import ScanTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRequest:
    """None: not given there. Times are seconds."""

    connection: ConnectionOptions = field(default_factory=ConnectionOptions)
    bundle: Path | None = None
    monitor: tuple[str, ...] = ()
    ntp: tuple[str, ...] = ()
    scan: tuple[ScanTarget, ...] = ()
    samples: int | None = None
    interval_s: float | None = None
    logs: LogRequest | None = None

    @property
    def beside(self) -> dict[type[Evidence], str]:
        """The kinds of evidence that need no deployment, and the word for each."""
        return {LogEvidence: "logs"} if self.logs else {}

    @property
    def names_a_deployment(self) -> bool:
        """Whether there is one to look at. A selected context or a variable alone does not say so beside files."""
        named = self.bundle or self.connection.server or self.connection.context or self.monitor
        return bool(named) or not self.beside


def evidence_options(given: Mapping[str, Any]) -> EvidenceRequest:
    """From what was given for the groups of options about evidence. Raises `UsageProblem` where options contradict."""
    return EvidenceRequest(
        connection=connection_options(given),
        logs=log_options(given),
        bundle=given.get("bundle"),
        monitor=tuple(given["monitor"] or ()),
        ntp=opt.split(given["ntp"]),
        scan=tuple(given["scan"] or ()),
        samples=given["samples"],
        interval_s=given["interval"],
    )
