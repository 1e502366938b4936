"""`audit --state`: whatever happens to files between two audits, the result is that of one whole run."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from jsdoctor.collect.logs.discover import discover
from jsdoctor.collect.logs.local import run_local
from jsdoctor.collect.logs.split import split
from jsdoctor.collect.logs.state.store import AuditState, StateScan
from jsdoctor.collect.problems import UsageProblem
from jsdoctor.model.log import LogEvidence, canonical
from tests.cli.invoke import jsdoctor
from tests.logs.corpus import REAL
from tests.support.log_cases import settings

SLOT = 16 * 1024
SOURCES = (
    "2.15.1/c2-n3.log",
    "2.15.1/l4-partition_n3.log",
    "2.10.26/publish-cluster_noquorum.log",
    "healthy/2.12.8/rolling-restart/n1.log",
    "2.15.1/l5-fmt_traceverbose.log",
)


def lines_of(source: str) -> list[bytes]:
    return (REAL / source).read_bytes().splitlines(keepends=True)


def undated(lines: list[bytes]) -> list[bytes]:
    """As a server with `logtime: false` writes them."""
    return [line[line.find(b" [") + 1 :] if b" [" in line else line for line in lines]


def syslog(lines: list[bytes]) -> list[bytes]:
    """As syslog stores what servers write: a time without a year before each line."""
    return [b"Nov 21 10:%02d:%02d host nats[7]: %s" % (n // 60 % 60, n % 60, line) for n, line in enumerate(lines)]


def whole(directory: Path) -> bytes:
    return canonical(run_local(settings(), split(discover([str(directory)]).files)))


def incremental(directory: Path, kept: Path, processes: int = 1) -> tuple[bytes, int]:
    """Evidence, and how many bytes were known."""
    with AuditState(str(kept), settings(), slot=SLOT) as state:
        parts = state.plan(discover([str(directory)]).files)
        evidence = run_local(settings(), parts, processes, scan=state.scan)
        state.commit()
        return canonical(evidence), state.known_bytes


@dataclass
class History:
    """Logs of some servers to which things happen."""

    directory: Path
    chance: random.Random
    lines: dict[str, list[bytes]]
    moment: int = 1_763_700_000
    written: dict[str, int] = field(default_factory=dict)

    def append(self, name: str) -> None:
        """Some more lines; the last may not be complete yet, and the next ones complete it."""
        begin = self.written.get(name, 0)
        count = self.chance.choice((1, 3, 40, 400))
        text = b"".join(self.lines[name][begin : begin + count])
        file = self.directory / name
        before = file.read_bytes() if file.exists() else b""
        rest = getattr(self, "_rest", {}).get(name, b"")
        cut = self.chance.choice((0, 0, self.chance.randrange(1, 40)))
        text = rest + text
        kept, rest = (text[:-cut], text[-cut:]) if 0 < cut < len(text) else (text, b"")
        self._rest = {**getattr(self, "_rest", {}), name: rest}
        file.write_bytes(before + kept)
        self.written[name] = begin + count

    def rotate(self, name: str) -> None:
        """Renamed, as logrotate and the server do."""
        file = self.directory / name
        if file.exists():
            for number in range(5, 0, -1):
                old = self.directory / f"{name}.{number}"
                if old.exists():
                    old.rename(self.directory / f"{name}.{number + 1}")
            file.rename(self.directory / f"{name}.1")

    def copy_and_truncate(self, name: str) -> None:
        file = self.directory / name
        if file.exists():
            (self.directory / f"{name}.{self.chance.randrange(100, 999)}").write_bytes(file.read_bytes())
            file.write_bytes(b"")

    def cut(self, name: str) -> None:
        file = self.directory / name
        if file.exists():
            content = file.read_bytes()
            file.write_bytes(content[: self.chance.randrange(len(content) + 1)])

    def pack(self, name: str) -> None:
        for old in self.directory.glob(f"{name}.*"):
            if old.suffix != ".gz":
                (self.directory / f"{old.name}.gz").write_bytes(gzip.compress(old.read_bytes(), mtime=0))
                old.unlink()
                return

    def replace(self, name: str) -> None:
        """Other content of the same size."""
        file = self.directory / name
        if file.exists():
            file.write_bytes(file.read_bytes().replace(b"[INF]", b"[WRN]", 3))

    def delete(self, name: str) -> None:
        (self.directory / name).unlink(missing_ok=True)
        self.written[name] = 0

    def happen(self) -> None:
        name = self.chance.choice(list(self.lines))
        events: list[Callable[[str], None]] = [self.append] * 6
        events += [self.rotate, self.copy_and_truncate, self.cut, self.pack, self.replace, self.delete]
        self.chance.choice(events)(name)


@pytest.mark.parametrize("seed", [pytest.param(n, marks=() if n % 10 == 0 else pytest.mark.nightly) for n in range(50)])
def test_a_random_history(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)  # noqa: S311 - the same again is what is wanted
    logs = tmp_path / "logs"
    logs.mkdir()
    texts = [lines_of(source) for source in chance.sample(SOURCES, 2)]
    dress = (list, syslog, list, undated)[seed // 10 % 4]
    history = History(logs, chance, {"n1.log": texts[0] * 4, "n2.log": dress(texts[1] * 4)})
    for name in history.lines:
        history.append(name)
    for _ in range(6):
        for _ in range(chance.randrange(1, 4)):
            history.happen()
        assert incremental(logs, tmp_path / "state")[0] == whole(logs)


def grown(tmp_path: Path, first: int, second: int) -> tuple[Path, Path]:
    """A log that an audit has read, and to which lines were added since; the state."""
    lines = lines_of("2.15.1/c2-n3.log") * 8
    logs, kept = tmp_path / "logs", tmp_path / "state"
    logs.mkdir()
    (logs / "n1.log").write_bytes(b"".join(lines[:first]))
    incremental(logs, kept)
    with (logs / "n1.log").open("ab") as file:
        file.writelines(lines[first : first + second])
    return logs, kept


@pytest.mark.parametrize("processes", [1, 2])
def test_only_what_is_new_is_read(processes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs, kept = grown(tmp_path, 2000, 20)
    size = (logs / "n1.log").stat().st_size
    evidence, known = incremental(logs, kept, processes)
    assert evidence == whole(logs)
    assert size - known < 5_000
    again, known = incremental(logs, kept)
    assert again == evidence
    assert size - known < 500, "all but the last line is known"


def test_rows_of_many_small_additions_are_put_together(tmp_path: Path) -> None:
    lines = lines_of("2.15.1/c2-n3.log")
    logs, kept = tmp_path / "logs", tmp_path / "state"
    logs.mkdir()
    file = logs / "n1.log"
    file.write_bytes(b"".join(lines[:20]))
    for number in range(40):
        with file.open("ab") as target:
            target.write(lines[20 + number])
        incremental(logs, kept)
        assert len(list(kept.glob("*.rows"))) < 24
    assert incremental(logs, kept)[0] == whole(logs)


def test_a_rotated_log_is_known_under_its_new_name(tmp_path: Path) -> None:
    logs, kept = grown(tmp_path, 2000, 0)
    (logs / "n1.log").rename(logs / "n1.log.1")
    (logs / "n1.log").write_bytes(b"".join(lines_of("2.15.1/c2-n3.log")[:3]))
    evidence, known = incremental(logs, kept)
    assert evidence == whole(logs)
    assert known > 0.9 * (logs / "n1.log.1").stat().st_size


@pytest.mark.parametrize("damage", ["missing", "damaged", "empty"])
def test_a_damaged_state_is_no_evidence(damage: str, tmp_path: Path) -> None:
    logs, kept = grown(tmp_path, 2000, 20)
    for path in list(kept.glob("*.rows"))[::2]:
        if damage == "missing":
            path.unlink()
        else:
            path.write_bytes(path.read_bytes()[:-7] if damage == "damaged" else b"")
    assert incremental(logs, kept)[0] == whole(logs)
    assert incremental(logs, kept)[0] == whole(logs)


def test_an_interrupted_run_leaves_the_state_of_the_one_before(tmp_path: Path) -> None:
    logs, kept = grown(tmp_path, 2000, 200)
    before = {path.name: path.read_bytes() for path in kept.iterdir()}
    with AuditState(str(kept), settings(), slot=SLOT) as state:
        run_local(settings(), state.plan(discover([str(logs)]).files), scan=state.scan)
    assert {name: (kept / name).read_bytes() for name in before} == before
    evidence, known = incremental(logs, kept)
    assert (evidence, known > 0) == (whole(logs), True)


def test_rows_that_cannot_be_kept_are_scanned_the_next_time(tmp_path: Path) -> None:
    """As on an executor that does not have the directory."""
    logs, kept = grown(tmp_path, 2000, 200)
    with AuditState(str(kept), settings(), slot=SLOT) as state:
        parts = state.plan(discover([str(logs)]).files)
        there = state.scan
        elsewhere = StateScan(str(tmp_path / "nowhere"), there.saved, there.fresh, there.whole)
        evidence: LogEvidence = run_local(settings(), parts, scan=elsewhere)
        state.commit()
    assert canonical(evidence) == whole(logs)
    assert incremental(logs, kept)[0] == whole(logs)


def test_what_cannot_be_a_state(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("mine")
    with pytest.raises(UsageProblem, match="holds other files"), AuditState(str(tmp_path / "other"), settings()):
        pass
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "index.json").write_text("{")
    with pytest.raises(UsageProblem, match="is damaged"), AuditState(str(tmp_path / "damaged"), settings()):
        pass
    with (
        AuditState(str(tmp_path / "new"), settings()),
        pytest.raises(UsageProblem, match="another audit uses"),
        AuditState(str(tmp_path / "new"), settings()),
    ):
        pass


def test_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    log = tmp_path / "logs" / "n1.log"
    lines = lines_of("2.10.26/publish-cluster_noquorum.log") * 40
    log.write_bytes(b"".join(lines[:3000]))
    run = ("audit", "logs", "--state", "state", "--format", "json")
    first = jsdoctor(*run, cwd=tmp_path)
    assert first.returncode == 1, first.stderr
    with log.open("ab") as file:
        file.writelines(lines[3000:3100])
    again = jsdoctor("audit", "logs", "--state", "state", cwd=tmp_path)
    assert "known from state" in again.stdout, again.stdout
    log.write_text("")
    for option, value in (("--since", "2h"), ("--events", "events")):
        refused = jsdoctor("audit", "logs", "--state", "state", option, value, cwd=tmp_path)
        assert (refused.returncode, "exclude each other" in refused.stderr) == (2, True), refused.stderr
