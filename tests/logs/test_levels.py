"""What servers log at DBG and TRC is left out before the search, repeated lines are looked up: with equal results."""

import random
from pathlib import Path

import pytest

from bench.log_archive import ArchivePlan, write_archive
from jsdoctor.app.rulebook import open_rulebook
from jsdoctor.model.log import canonical
from jsdoctor.model.log_scan import ScanSettings
from tests.logs.corpus import WRAPPINGS, evidence

SETTINGS = ScanSettings(signatures=tuple(signature for rule in open_rulebook().rules for signature in rule.signatures))
QUIET = [signature for signature in SETTINGS.signatures if {"DBG", "TRC"} & {*signature.levels}]
ODD = (
    b"panic: nil map",
    b"==> n2.log <==",
    b"[\x1b[36mDBG\x1b[0m] JetStream cluster no metadata leader",
    b"[7] 2026/11/14 10:00:00.000000 [\x1b[36mTRC\x1b[0m] 1.2.3.4:5 - cid:9 - <<- [PUB a 1]",
    b"2026/11/14 10:00:00.000000 [DBG] panic: quoted",
    b"[nats-0/nats] [7] 2026/11/14 10:00:00.000000 [DBG] JetStream out of storage resources, will be DISABLED",
    b"[" + b"x" * 260 + b"] 2026/11/14 10:00:00.000000 [DBG] nats: timeout",
    b"[7] 2026/99/14 10:00:00.000000 [TRC] no time, nats: timeout",
    b"nats: no responders available for request",
    b'{"level":"error","msg":"nats: timeout","ts":1794650400}',
    b"",
)


def mixed(directory: Path, wrapping: str | None = None) -> Path:
    """A storm of errors between lines of DBG and TRC, with real ones of those and lines that no server wrote."""
    write_archive(directory, ArchivePlan(1, servers=1, days=1, storm=True))
    (path,) = directory.rglob("*.log")
    chance = random.Random(7)  # noqa: S311 - the same again is what is wanted
    odd = [*ODD, *(example.encode() for signature in QUIET for example in signature.examples)]
    lines = path.read_bytes().split(b"\n")
    for _ in range(600):
        lines.insert(chance.randrange(len(lines)), chance.choice(odd))
    if wrapping is not None:
        lines = [WRAPPINGS[wrapping](line) for line in lines]
    path.write_bytes(b"panic: at once\n" + b"\n".join(lines))
    return directory


@pytest.mark.nightly
@pytest.mark.parametrize("wrapping", ["docker", "kubectl-short", "cri"])
def test_levels_of_wrapped_lines(wrapping: str, tmp_path: Path) -> None:
    logs = mixed(tmp_path, wrapping)
    whole = evidence([logs], settings=SETTINGS)
    assert canonical(evidence([logs], block=100_000, native=False, settings=SETTINGS)) == canonical(whole)


def test_lines_of_level_inf_count_wherever_they_are(tmp_path: Path) -> None:
    """Both ends of a rotated log may be of an outage."""
    outage = "[7] 2026/11/21 10:00:00.000000 [WRN] JetStream cluster stream 'A > S' has NO quorum, stalled.\n"
    routine = "[7] 2026/11/21 09:00:00.000000 [INF] 10.0.0.1:5222 - cid:7 - Client connection closed: Client Closed\n"
    (tmp_path / "n1.log").write_text(outage * 400 + routine * 10 + outage * 400)
    [file] = evidence([tmp_path], settings=SETTINGS).files
    assert file.levels == ("INF", "WRN")
    (tmp_path / "n1.log").write_text(outage * 800)
    [file] = evidence([tmp_path], settings=SETTINGS).files
    assert file.levels == ("WRN",)
