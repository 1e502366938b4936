"""A source of evidence, what it yields, and the collection that the readings of a run add up to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from enum import IntEnum
from typing import TYPE_CHECKING, ClassVar

import msgspec
from msgspec.structs import replace

from jsdoctor.checks.registry import Check
from jsdoctor.configuration.file import Configuration
from jsdoctor.model.evidence import Evidence, EvidenceSet, Gaps
from jsdoctor.model.evidence_kinds import KINDS
from jsdoctor.model.exchange import Exchange, Sample
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.logins import NO_LOGINS, Logins
from jsdoctor.model.manifest import Manifests
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.problems import Problem
from jsdoctor.model.report import EvidenceOrigin
from jsdoctor.model.rule import Rule
from jsdoctor.model.window import Window
from jsdoctor.sources.connect.settings import ConnectionSettings
from jsdoctor.sources.request import EventsRequest, ReaderRequest

if TYPE_CHECKING:
    from jsdoctor.pasted.sample import Pasted


class Role(IntEnum):
    """What a source is for. Sources are read in this order."""

    ACCESS = 1
    """It shows a part of a deployment, and makes the rest reachable."""
    DEPLOYMENT = 2
    """It shows a deployment. A run judges one."""
    PAST = 3
    """It shows the same deployment at earlier times."""
    BESIDE = 4
    """It needs no deployment."""


class Need(msgspec.Struct, frozen=True):
    """What a run is for. `checks` are those of the selected rules, None to collect everything: a capture.

    Logs are searched for the signatures of `rules`.
    """

    checks: tuple[Check, ...] | None
    rules: tuple[Rule, ...]

    @property
    def is_everything(self) -> bool:
        """Whether evidence is kept as it came, and not judged."""
        return self.checks is None

    def has(self, kind: type[Evidence]) -> bool:
        """Whether a check can use that kind of evidence."""
        return self.checks is None or any(kind in check.kinds for check in self.checks)


class Run(msgspec.Struct, frozen=True):
    """The conditions of a run. `window` narrows logs and history; `show` takes progress, `notice` message and hint."""

    config: Configuration
    show: Callable[[str], None]
    notice: Callable[[str, str], None]
    window: Window | None = None
    reader: ReaderRequest = ReaderRequest()
    events: EventsRequest = EventsRequest()


class LogFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Logs as files, which are read together after all sources.

    `service` is where they were fetched from. `names` has the names in reports of paths that are not the user's, and
    `series` a name for each path that does not identify its log. `windowed`: there are no lines but those of the time
    window. `signatures` are identities of those that the lines were selected for, None where no line was left out;
    `unkept` is how many other lines each log has, by its name in reports. `incomplete`: such lines may be missing as
    well. `words` describes what was fetched, `gaps` what was not.
    """

    paths: tuple[str, ...]
    service: EvidenceOrigin | None = None
    names: Mapping[str, str] = {}
    series: Mapping[str, str] = {}
    windowed: bool = False
    signatures: tuple[str, ...] | None = None
    unkept: Mapping[str, int] = {}
    incomplete: bool = False
    words: str = ""
    gaps: tuple[Gap, ...] = ()


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What a source yields.

    `samples` are of a deployment, and `unseen` is what a paste does not show of it; a source that has no replies yields
    its `deployment`. `exchanges` belong to the last sample, whoever took it. `evidence` needs no assembling; `absent`
    is a kind that was requested and is not there, with the reason; `replied` are kinds that were made of replies, of
    which a part may lack. `monitor` are addresses that are reachable while the
    reading lasts, `settings` those of a login that may be used again. `problem` is why a source was not read.
    """

    samples: tuple[Sample, ...] = ()
    unseen: Pasted | None = None
    deployment: EvidenceSet | None = None
    exchanges: tuple[Exchange, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    replied: tuple[type[Evidence], ...] = ()
    absent: tuple[type[Evidence], Gap] | None = None
    logs: LogFiles | None = None
    gaps: tuple[Gap, ...] = ()
    origin: tuple[EvidenceOrigin, ...] = ()
    headline: str = ""
    problem: Problem | None = None
    logins: Logins = NO_LOGINS
    captured_at: datetime | None = None
    monitor: tuple[str, ...] = ()
    settings: ConnectionSettings | None = None


class Source(ABC):
    """A source of evidence.

    `provides` are the kinds of evidence that it has without a deployment. `alone` says why it excludes others of its
    role. `has_times`: a time window narrows it. `connects`: it opens connections.
    """

    provides: ClassVar[frozenset[type[Evidence]]] = frozenset()
    alone: ClassVar[str] = ""
    has_times: ClassVar[bool] = False
    connects: ClassVar[bool] = False

    @property
    def role(self) -> Role:
        """What it is for."""
        return Role.BESIDE

    @property
    @abstractmethod
    def options(self) -> tuple[str, ...]:
        """The options or files that were given for it, as messages name them."""

    @abstractmethod
    def read(self, need: Need, run: Run, collection: Collection) -> AbstractContextManager[Reading]:
        """Read it. `collection` has what was read before. Files of the reading are there while the context lasts.

        What cannot be read is a gap; raises `UsageProblem` for options that cannot be used.
        """


_REPORT_NAMES: Mapping[type[Evidence], str] = {LogEvidence: "logs", Manifests: "manifests", PacketEvidence: "packets"}
"""The kinds of evidence that need no deployment, as reports name them."""


class Collection:
    """The readings of a run, and the evidence that they add up to.

    The replies of a deployment are assembled when evidence is first needed, which a capture never does.
    """

    def __init__(self, sources: Sequence[Source], need: Need) -> None:
        self.readings: list[Reading] = []
        self._sources, self._need = tuple(sources), need
        self._evidence: EvidenceSet | None = None

    def add(self, reading: Reading) -> None:
        """Add what a source has yielded."""
        self.readings.append(reading)
        if self._evidence is not None:
            self._evidence = _with_reading(self._evidence, reading)

    @property
    def evidence(self) -> EvidenceSet:
        """All evidence so far. The first use assembles the replies, and then drops their bodies from `readings`."""
        if self._evidence is None:
            self._evidence = self._deployment_evidence()
            for reading in self.readings:
                self._evidence = _with_reading(self._evidence, reading)
            self.readings = [replace(reading, samples=_without_bodies(reading.samples)) for reading in self.readings]
        return self._evidence

    @property
    def samples(self) -> tuple[Sample, ...]:
        """The samples of the deployment. Exchanges and gaps of other readings are added to the last one."""
        samples = [sample for reading in self.readings for sample in reading.samples]
        with_exchanges = [reading for reading in self.readings if reading.exchanges]
        if not with_exchanges:
            return tuple(samples)
        last = samples[-1] if samples else Sample(taken_at=with_exchanges[0].origin[0].collected_at, exchanges=())
        exchanges = (*last.exchanges, *(exchange for reading in with_exchanges for exchange in reading.exchanges))
        gaps = (*last.gaps, *(gap for reading in with_exchanges for gap in reading.gaps))
        return (*samples[:-1], replace(last, exchanges=exchanges, gaps=gaps))

    @property
    def deployed(self) -> bool:
        """Whether a deployment was read, successfully or not."""
        seen = any(sample.exchanges or sample.gaps for sample in self.samples)
        return seen or any(reading.deployment for reading in self.readings)

    @property
    def kinds(self) -> frozenset[type[Evidence]]:
        """The kinds of evidence that were requested and need no deployment."""
        kinds = {kind for source in self._sources for kind in source.provides}
        kinds |= {type(kept) for reading in self.readings for kept in reading.evidence} & set(_REPORT_NAMES)
        return frozenset(kinds | {LogEvidence} if self.logs else kinds)

    @property
    def saw_nothing(self) -> bool:
        """Whether the only source that was named had nothing."""
        brought = any(reading.deployment or reading.evidence for reading in self.readings)
        replied = any(sample.exchanges for sample in self.samples)
        named = [source for source in self._sources if source.role in (Role.DEPLOYMENT, Role.BESIDE)]
        return not (brought or replied or len(named) > 1)

    @property
    def logs(self) -> tuple[LogFiles, ...]:
        """The logs of all readings."""
        return tuple(reading.logs for reading in self.readings if reading.logs is not None)

    @property
    def monitor(self) -> tuple[str, ...]:
        """The monitoring addresses that sources have made reachable."""
        return tuple(url for reading in self.readings for url in reading.monitor)

    @property
    def settings(self) -> ConnectionSettings | None:
        """The login of a live deployment; None if none was queried."""
        return next((reading.settings for reading in self.readings if reading.settings is not None), None)

    @property
    def origin(self) -> tuple[EvidenceOrigin, ...]:
        """Where evidence came from."""
        return tuple(origin for reading in self.readings for origin in reading.origin)

    @property
    def problem(self) -> Problem | None:
        """The first problem that kept a source from being read."""
        return next((reading.problem for reading in self.readings if reading.problem is not None), None)

    @property
    def logins(self) -> Logins:
        """The logins that servers accepted."""
        return next((reading.logins for reading in self.readings if reading.logins is not NO_LOGINS), NO_LOGINS)

    @property
    def headline(self) -> str:
        """One line on what was read."""
        from jsdoctor.sources.headline import headline

        captured_at = next((reading.captured_at for reading in self.readings if reading.captured_at), None)
        pasted = any(reading.unseen for reading in self.readings)
        seen = headline(self.evidence, () if pasted else self.samples, captured_at) if self.deployed else ""
        return "; ".join(filter(None, [seen, *(reading.headline for reading in self.readings)]))

    def _deployment_evidence(self) -> EvidenceSet:
        complete = next((reading.deployment for reading in self.readings if reading.deployment is not None), None)
        if complete is not None:
            return complete
        if not self.deployed:
            return _without_deployment([word for kind, word in _REPORT_NAMES.items() if kind in self.kinds])
        from jsdoctor.pasted.sample import with_unseen
        from jsdoctor.replies.assemble import assemble  # imported late: most runs without replies never need it

        evidence = assemble(self.samples)
        unseen = [reading.unseen for reading in self.readings if reading.unseen is not None]
        return with_unseen(evidence, unseen) if unseen else evidence


def _with_reading(evidence: EvidenceSet, reading: Reading) -> EvidenceSet:
    """The evidence with that of a reading. Gaps beside exchanges belong to a sample, and were assembled with it."""
    for value in reading.evidence:
        evidence = evidence.joined(value)
    if reading.replied:
        from jsdoctor.replies.unread import with_unread

        evidence = with_unread(evidence, *reading.replied)
    if reading.gaps and not reading.exchanges:
        evidence = evidence.joined(evidence.get(Gaps) or Gaps(()), reading.gaps)
    return evidence.without(*reading.absent) if reading.absent else evidence


def _without_bodies(samples: Sequence[Sample]) -> tuple[Sample, ...]:
    """The samples without the bodies of replies; what was requested and when is kept."""
    return tuple(
        replace(sample, exchanges=tuple(replace(exchange, body=b"") for exchange in sample.exchanges))
        for sample in samples
    )


def _without_deployment(words: Sequence[str]) -> EvidenceSet:
    """Empty evidence: every kind is absent, as only `words` were read and no deployment."""
    names = " and ".join(words)
    gap = Gap(
        kind="access",
        subject=CLUSTER,
        reason=f"only {names} were read",
        how_to_get=f"name a deployment beside them: jsdoctor check -s URL or --bundle FILE, with the {names}",
        requested=False,
    )
    return EvidenceSet({Gaps: Gaps(())}, dict.fromkeys(KINDS, gap))
