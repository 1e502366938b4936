"""Manifests: what is to be deployed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime

from msgspec.structs import replace

from jsdoctor.checks.declared.deletions import lowers_subject_limit
from jsdoctor.checks.declared.deployed import Deployed
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.manifest import ManifestFile, Manifests
from jsdoctor.model.report import EvidenceOrigin
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.wording import counted
from jsdoctor.sources.base import Collection, Need, Reading, Run, Source
from jsdoctor.sources.manifests.load import load_manifests


@dataclass(frozen=True, slots=True)
class ManifestFiles(Source):
    """Manifests by name: files, directories, patterns and standard input."""

    paths: tuple[str, ...]
    provides = frozenset({Manifests})

    @property
    def options(self) -> tuple[str, ...]:
        """The option that names them."""
        return ("--manifest",)

    def read(self, need: Need, run: Run, collection: Collection) -> AbstractContextManager[Reading]:
        """What they declare, with the subjects of streams that they narrow. What cannot be read is a gap."""
        del need
        started = datetime.now(UTC)
        run.show("reading manifests")
        manifests = load_manifests(self.paths)
        gaps = [_file_gap(file) for file in manifests.files if file.problem]
        if not any(file.found for file in manifests.files) and not gaps:
            gaps.append(_no_manifest_gap(self.paths))
        return nullcontext(
            Reading(
                evidence=(_with_subject_counts(manifests, collection),),
                gaps=tuple(gaps),
                origin=tuple(EvidenceOrigin("manifest", path, started) for path in self.paths),
                headline=_headline(manifests),
            )
        )


def _file_gap(file: ManifestFile) -> Gap:
    """The gap for a file that could not be read. It counts as requested only if the user named the file."""
    where = f"{file.place.file}:{file.place.line}:{file.place.column}: " if file.place else ""
    return Gap(
        kind="manifest",
        subject=Subject(kind="file", name=file.path),
        reason=f"{where}{file.problem}",
        how_to_get="fix the file; templates are read once they are rendered: helm template … | jsdoctor check"
        " --manifest -",
        requested=file.named,
    )


def _no_manifest_gap(paths: Sequence[str]) -> Gap:
    return Gap(
        kind="manifest",
        subject=Subject(kind="file", name=paths[0]),
        reason="no manifest was found: neither resources of NACK, stream or consumer JSON, a Terraform plan,"
        " a configuration of nats-server nor values of its Helm chart",
        how_to_get="name the files one by one, and the reason is reported for each",
    )


def _headline(manifests: Manifests) -> str:
    files = {file.path for file in manifests.files if file.found}
    kinds = Counter(
        {
            "stream": len(manifests.streams),
            "consumer": len(manifests.consumers),
            "server configuration": len(manifests.servers),
            "login": len(manifests.logins),
        }
    )
    declared = ", ".join(counted(count, noun) for noun, count in kinds.items() if count)
    return f"{declared or 'nothing'} declared in {counted(len(files), 'manifest')}"


def _with_subject_counts(manifests: Manifests, collection: Collection) -> Manifests:
    """With the subjects of the streams whose limit for each subject is lowered.

    They are requested with a login of the account itself: the system account has no streams.
    """
    snapshots = collection.evidence.get(SnapshotSeries)
    if collection.settings is None or snapshots is None or collection.evidence.get(Servers) is not None:
        return manifests
    deployed = Deployed(snapshots)
    wanted = [
        stream.name
        for stream in manifests.kept_streams()
        if (current := deployed.stream(stream.name)) and lowers_subject_limit(stream.asked(current.config), current)
    ]
    if not wanted:
        return manifests
    from jsdoctor.sources.manifests.subject_counts import subject_counts

    return replace(manifests, subject_counts=subject_counts(collection.settings, dict.fromkeys(wanted)))
