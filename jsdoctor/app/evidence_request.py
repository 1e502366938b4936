"""The evidence that a command line requests: a deployment, live or captured, and what lies beside it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import msgspec

from jsdoctor.app.kube.options import KubeRequest
from jsdoctor.app.logs.options import LogRequest
from jsdoctor.app.loki.options import LokiRequest
from jsdoctor.app.prometheus.options import PrometheusRequest
from jsdoctor.collect.connect.options import ConnectionOptions
from jsdoctor.model.evidence import Evidence
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.manifest import Manifests
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.stored import ScanTarget
from jsdoctor.model.window import Window


class PastedText(msgspec.Struct, frozen=True):
    """Replies or output of commands that were pasted or saved: from where, and when they were written at the latest."""

    name: str
    text: str
    at: datetime


class Unrecognised(msgspec.Struct, frozen=True):
    """A given file that is no kind of evidence, and the reason."""

    name: str
    why: str


class EvidenceRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence options of the command line. None: not given. Times are seconds.

    `files`: files were named, whether or not there is evidence in them.
    """

    connection: ConnectionOptions = msgspec.field(default_factory=ConnectionOptions)
    bundle: Path | None = None
    history: Path | None = None
    prometheus: PrometheusRequest | None = None
    window: Window | None = None
    monitor: tuple[str, ...] = ()
    kube: KubeRequest | None = None
    ntp: tuple[str, ...] = ()
    scan: tuple[ScanTarget, ...] = ()
    digests: bool = False
    host: bool = False
    samples: int | None = None
    interval_s: float | None = None
    logs: LogRequest | None = None
    loki: LokiRequest | None = None
    manifests: tuple[str, ...] = ()
    packets: tuple[Path, ...] = ()
    pasted: tuple[PastedText, ...] = ()
    unrecognised: tuple[Unrecognised, ...] = ()
    files: bool = False

    @property
    def beside(self) -> dict[type[Evidence], str]:
        """The kinds of evidence that need no deployment, and the word for each."""
        asked: dict[type[Evidence], tuple[str, object]] = {
            LogEvidence: ("logs", self.logs or self.loki),
            Manifests: ("manifests", self.manifests),
            PacketEvidence: ("packets", self.packets),
        }
        return {kind: word for kind, (word, wanted) in asked.items() if wanted}

    @property
    def names_a_deployment(self) -> bool:
        """Whether a deployment is to be checked. Beside files, a selected context or a variable does not name one."""
        named = self._is_direct or self.history or self.prometheus
        return bool(named) or not (self.beside or self.unrecognised or self.files)

    @property
    def is_live(self) -> bool:
        """Whether the deployment itself is queried: not read from a bundle, from replies in files, or from metrics."""
        return self.names_a_deployment and not (self.bundle or self.pasted or self.is_in_metrics)

    @property
    def connects(self) -> str:
        """The first option given that opens a connection, or nothing."""
        asked = {
            "--server": self.connection.server,
            "--context": self.connection.context,
            "--monitor": self.monitor,
            "--kube": self.kube,
            "--ntp": self.ntp,
            "--scan": self.scan,
            "--prometheus": self.prometheus,
            "--loki": self.loki,
        }
        return next((option for option, given in asked.items() if given), "")

    @property
    def is_in_metrics(self) -> bool:
        """Whether the deployment is read from metrics alone; beside samples of it, metrics are its history."""
        return self.prometheus is not None and not self._is_direct

    @property
    def is_only_loki(self) -> bool:
        """Whether there is nothing to judge but the lines of Loki."""
        others = (self.logs and self.logs.paths) or self.manifests or self.packets or self.unrecognised
        return self.loki is not None and not (self.names_a_deployment or others)

    @property
    def _is_direct(self) -> bool:
        asked = self.connection.server or self.connection.context or self.monitor or self.kube
        return bool(self.bundle or self.pasted or asked)
