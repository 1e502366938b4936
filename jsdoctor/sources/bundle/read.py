"""Reads captured evidence: a bundle of jsdoctor, an archive of `nats audit gather`, or earlier bundles of a directory.

Their manifests distinguish them. `container` enforces the limits for untrusted archives.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from jsdoctor.bundles.audit_archive import decode_archive
from jsdoctor.bundles.audit_archive_manifest import ARCHIVE_MANIFEST, decode_archive_manifest
from jsdoctor.bundles.bundle import (
    MANIFEST,
    BundleError,
    CapturedLog,
    LogServiceNote,
    NewerFormatError,
    decode_logs,
    decode_manifest,
    decode_samples,
)
from jsdoctor.model.exchange import Sample
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.problems import Problem, UsageProblem
from jsdoctor.model.trend import MAX_SAMPLES
from jsdoctor.sources.bundle.container import MAX_BYTES, Container, open_container

MAX_MANIFEST_BYTES = 64 << 20


class BundleProblem(Problem):
    """A bundle whose evidence cannot be read: damaged, hostile, or of a later format. Exit code 3."""


class Captured(NamedTuple):
    """The content of a file, and when it was written, by the clock of the machine that wrote it."""

    created: datetime
    samples: tuple[Sample, ...]
    logs: tuple[CapturedLog, ...] = ()
    signatures: tuple[str, ...] = ()
    log_services: tuple[LogServiceNote, ...] = ()

    @property
    def has_logs(self) -> bool:
        """Whether logs were requested for it, even if none could be read."""
        return bool(self.logs or self.log_services)


def read_bundle(path: Path, max_bytes: int = MAX_BYTES) -> Captured:
    """The samples of a bundle or archive.

    Raises UsageProblem where no file can be opened, and BundleProblem for one that is not as it was written.
    """
    try:
        if not path.is_file():
            reason = "it is not a file" if path.exists() else "no such file"
            raise UsageProblem(
                f"cannot read the bundle {path}: {reason}",
                "give the file that jsdoctor capture or nats audit gather wrote",
            )
        with open_container(path, max_bytes) as container:
            if MANIFEST in container:
                return _bundle(container)
            if ARCHIVE_MANIFEST in container:
                return _archive(container)
            raise BundleError(
                f"there is no {MANIFEST} in it, so neither jsdoctor capture nor nats audit gather wrote it"
            )
    except OSError as error:
        raise UsageProblem(
            f"cannot read the bundle {path}: {error.strerror or error}", "check its permissions"
        ) from error
    except NewerFormatError as error:
        raise BundleProblem(f"the bundle {path} cannot be read: {error}", "install a newer jsdoctor") from error
    except BundleError as error:
        hint = "get the file again (as binary), or capture again: jsdoctor capture -o FILE.zip"
        raise BundleProblem(f"the bundle {path} cannot be read: {error}", hint) from error


def _bundle(container: Container) -> Captured:
    container.expect(container)
    manifest = decode_manifest(container.content(MANIFEST, MAX_MANIFEST_BYTES))
    listed = [*(member.name for member in manifest.members), *(log.name for log in manifest.logs)]
    bodies = {name: container.content(name) for name in listed if name in container and name != MANIFEST}
    samples, logs = decode_samples(manifest, bodies), decode_logs(manifest, bodies)
    return Captured(manifest.created, samples, logs, manifest.signatures, manifest.log_services)


def _archive(container: Container) -> Captured:
    """Reads only the parts of an archive that rules can use: profiles and subscriptions may be many times as large."""
    manifest = decode_archive_manifest(container.content(ARCHIVE_MANIFEST, MAX_MANIFEST_BYTES), frozenset(container))
    container.expect(manifest.wanted)
    samples = decode_archive(manifest, container.content, container.written)
    return Captured(samples[-1].taken_at, samples)


MAX_BUNDLES = MAX_SAMPLES
"""Maximum number of bundles of a history. Of more, the first, the last and others between them are read."""


class Earlier(NamedTuple):
    """One bundle: its samples, and when the last of them was taken. Some replies are requested in the first only."""

    path: Path
    taken_at: datetime
    samples: tuple[Sample, ...]


def read_history(directory: Path, before: datetime) -> tuple[list[Earlier], list[Gap]]:
    """The bundles taken before that time. Raises `UsageProblem` where there is no such directory, or no ZIP in it."""
    if not directory.is_dir():
        raise UsageProblem(f"--history {directory} is no directory", "name one with bundles of jsdoctor capture")
    paths = sorted(path for path in directory.iterdir() if path.suffix.lower() == ".zip")
    if not paths:
        raise UsageProblem(f"there are no bundles (*.zip) in {directory}", "write some: jsdoctor capture -o FILE.zip")
    result: list[Earlier] = []
    gaps: list[Gap] = []
    for path in thinned(paths):
        try:
            samples = read_bundle(path).samples
        except (BundleProblem, UsageProblem) as problem:
            gaps.append(Gap("history", CLUSTER, problem.message, problem.hint))
            continue
        if samples[-1].taken_at < before:
            result.append(Earlier(path, samples[-1].taken_at, samples))
    return sorted(result, key=lambda earlier: earlier.taken_at), gaps


def thinned(paths: list[Path]) -> list[Path]:
    """Not more than `MAX_BUNDLES`, with the first and the last."""
    if len(paths) <= MAX_BUNDLES:
        return paths
    step = (len(paths) - 1) / (MAX_BUNDLES - 1)
    return [paths[round(number * step)] for number in range(MAX_BUNDLES)]
