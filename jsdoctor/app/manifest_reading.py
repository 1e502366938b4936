"""Reading manifests for one run: what they declare, what could not be read, and one sentence on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from jsdoctor.app.beside import BesideRead
from jsdoctor.collect.manifests.load import load_manifests
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.manifest import ManifestFile, Manifests
from jsdoctor.model.report import Source
from jsdoctor.model.wording import counted


def read_manifests(paths: Sequence[str], show: Callable[[str], None]) -> BesideRead:
    """Read them all. What cannot be read becomes a gap; raises usage problems."""
    started = datetime.now(UTC)
    show("reading manifests")
    manifests = load_manifests(paths)
    gaps = [_gap(file) for file in manifests.files if file.problem]
    if not any(file.found for file in manifests.files) and not gaps:
        gaps.append(_nothing(paths))
    return BesideRead(
        manifests, tuple(gaps), tuple(Source("manifest", path, started) for path in paths), _headline(manifests)
    )


def _gap(file: ManifestFile) -> Gap:
    """What could not be read. A file found in a directory that names nothing of NATS may be anything."""
    where = f"{file.place.file}:{file.place.line}:{file.place.column}: " if file.place else ""
    return Gap(
        kind="manifest",
        subject=Subject(kind="file", name=file.path),
        reason=f"{where}{file.problem}",
        how_to_get="fix the file; templates are read once they are rendered: helm template … | jsdoctor check"
        " --manifest -",
        requested=file.named,
    )


def _nothing(paths: Sequence[str]) -> Gap:
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
