"""What else can show which assets a lost server held: bundles in the directory `seen`, and verified backups."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from jsdoctor.collect.bundle.read import BundleProblem, read_bundle
from jsdoctor.collect.problems import UsageProblem
from jsdoctor.model.exchange import Access, Sample
from jsdoctor.model.server import Accounts, Servers
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.parse.assemble import assemble
from jsdoctor.parse.logins import samples_by_login
from jsdoctor.remedy.backup.place import META, data_file, read_note, sha256_of
from jsdoctor.remedy.backup.problem import BackupProblem
from jsdoctor.remedy.held import Witness
from jsdoctor.remedy.plan import Choice

REMOVE_PEER = "server.remove_peer"


def with_witnesses(choice: Choice, samples: Sequence[Sample]) -> Choice:
    """The choice with witnesses in place of the directory `seen`, and the backups that are at hand, by stream.

    What is seen now is a witness, too. Raises UsageProblem where the directory holds no bundle.
    """
    if choice.action != REMOVE_PEER:
        return choice
    directory = Path(str(choice.values["seen"])) if "seen" in choice.values else None
    captured = _bundles(directory) if directory else []
    series = [part for whole in ([*samples], *captured) for part in samples_by_login(whole)]
    values = {
        **choice.values,
        "seen": tuple(witness for value in series if (witness := _witness(value)) is not None),
        "backups": _backups((Path(), directory) if directory else (Path(),)),
    }
    return msgspec.structs.replace(choice, values=values)


def _bundles(directory: Path) -> list[tuple[Sample, ...]]:
    bundles = []
    for path in sorted(directory.glob("*.zip")):
        try:
            bundles.append(read_bundle(path)[1])
        except BundleProblem as problem:
            raise UsageProblem(f"{path}: {problem.message}", problem.hint) from None
    if not bundles:
        raise UsageProblem(
            f"seen: there are no bundles (*.zip) in {directory}", "write some: jsdoctor capture -o FILE.zip"
        )
    return bundles


def _witness(samples: Sequence[Sample]) -> Witness | None:
    evidence = assemble(samples)
    series = evidence.get(SnapshotSeries)
    if series is None:
        return None
    usage, servers = evidence.get(Accounts), evidence.get(Servers)
    accounts = {account.name for account in usage.accounts} if usage is not None else set()
    accounts |= {stream.account for stream in series.last.streams}
    accounts |= {silent.subject.account for silent in series.last.silent}
    if any(exchange.access is Access.ACCOUNT for sample in samples for exchange in sample.exchanges):
        return Witness(series.last, frozenset(accounts))
    answered = servers.servers if servers is not None else ()
    return Witness(series.last, frozenset(accounts), frozenset(server.name for server in answered))


def _backups(places: tuple[Path, ...]) -> dict[str, str]:
    """The newest verified and unchanged backup of each stream, in the directories directly below these."""
    backups: dict[str, str] = {}
    metas = [meta for place in places for meta in place.glob(f"*/{META}")]
    for meta in sorted(metas, key=lambda path: path.stat().st_mtime):
        note = read_note(meta.parent)
        try:
            if note and sha256_of(data_file(meta.parent)) == note.sha256:
                backups[note.stream] = str(meta.parent)
        except BackupProblem:
            continue
    return backups
