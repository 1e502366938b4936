"""Time windows: exactly the lines within are read, their numbers and offsets are those of the whole file."""

import gzip
import io
import random
import tarfile
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from jsdoctor.logs.lines.line import read_line
from jsdoctor.logs.lines.stamp import LogYear
from jsdoctor.model.window import Window
from jsdoctor.sources.archives.discover import discover
from jsdoctor.sources.archives.split import split
from jsdoctor.sources.archives.window import narrowed
from jsdoctor.sources.window import parse_moment
from tests.cli.invoke import jsdoctor
from tests.logs.corpus import REAL

LOG = REAL / "2.12.8" / "publish-cluster_noquorum.log"
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def time_of(line: bytes) -> datetime | None:
    us = read_line(line, LogYear(2026)).us
    return None if us is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us)


def cut_by_hand(text: bytes, window: Window) -> bytes:
    """From the first line within on, up to the first line after."""
    lines = text.splitlines(keepends=True)
    times = [time_of(line) for line in lines]
    begin = next((n for n, at in enumerate(times) if at and not (window.since and at < window.since)), len(lines))
    end = next((n for n, at in enumerate(times) if at and window.until and at > window.until), len(lines))
    return b"".join(lines[begin:end])


@pytest.mark.parametrize("seed", range(50))
def test_random_windows_keep_exactly_their_lines(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)  # noqa: S311 - the same again is what is wanted
    lines = [line for line in LOG.read_bytes().splitlines(keepends=True) if time_of(line)]
    lines.sort(key=lambda line: str(time_of(line)))
    text = b"".join(line for line in lines for _ in range(chance.randrange(1, 40)))
    file = tmp_path / "n1.log"
    file.write_bytes(text)
    ends = [at + timedelta(microseconds=chance.randrange(-5, 5)) for at in map(time_of, chance.sample(lines, 2)) if at]
    window = Window(min(ends), max(ends))
    expected = cut_by_hand(text, window)
    left = narrowed(discover([str(file)]), window)
    read = b"".join(text[part.start : part.end] for part in split(left.plan.files, 4096))
    assert read == expected
    for part in left.plan.files:
        assert part.lines_before == text[: part.start].count(b"\n")


def test_dated_files_outside_are_not_read(tmp_path: Path) -> None:
    for day in range(1, 8):
        stamp = f"[1] 2026/11/{day:02d} 10:00:00.000000 [INF] Server is ready\n"
        (tmp_path / f"nats-2026-11-{day:02d}.log").write_text(stamp * 3)
    window = Window(datetime(2026, 11, 3, tzinfo=UTC), datetime(2026, 11, 4, 23, tzinfo=UTC))
    left = narrowed(discover([str(tmp_path)]), window)
    assert [part.name for part in left.plan.files] == ["nats-2026-11-03.log", "nats-2026-11-04.log"]
    assert (left.outside, left.cut, left.whole) == (5, 0, ())


def _hours(first: int, last: int, prefix: str = "") -> str:
    lines = (
        f"{prefix}[1] 2026/11/21 {h:02d}:{m:02d}:00.000000 [INF] Server is ready\n"
        for h in range(first, last)
        for m in range(60)
    )
    return "".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        "".join(_hours(8, 12, f"[pod/nats-{pod}/nats] ") for pod in range(3)),
        f"==> n1.log <==\n{_hours(8, 10)}\n==> n2.log <==\n{_hours(10, 14)}",
    ],
    ids=["one pod after the other", "with the name of each file"],
)
def test_logs_one_after_the_other_are_read_whole(text: str, tmp_path: Path) -> None:
    (tmp_path / "all.log").write_text(text)
    left = narrowed(discover([str(tmp_path)]), Window(datetime(2026, 11, 21, 11, tzinfo=UTC), None))
    assert [(part.start, part.end) for part in left.plan.files] == [(0, len(text))]
    assert left.whole == ("all.log",)


def test_an_archive_is_not_outside_for_its_first_member(tmp_path: Path) -> None:
    """The newest log is packed first. A compressed log that begins too late is left out."""
    with tarfile.open(tmp_path / "logs.tar.gz", "w:gz") as archive:
        for name, text in (("nats.log", _hours(11, 13)), ("nats.log.1", _hours(7, 11))):
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    (tmp_path / "late.log.gz").write_bytes(gzip.compress(_hours(11, 13).encode()))
    left = narrowed(discover([str(tmp_path)]), Window(None, datetime(2026, 11, 21, 10, tzinfo=UTC)))
    assert ([part.name for part in left.plan.files], left.outside) == (["logs.tar.gz"], 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2h", NOW - timedelta(hours=2)),
        ("2026-11-21T10:00:00Z", datetime(2026, 11, 21, 10, tzinfo=UTC)),
        ("2026-11-21 10:00", datetime(2026, 11, 21, 9, tzinfo=UTC)),
        ("2026/11/21 10:00:00+02:00", datetime(2026, 11, 21, 8, tzinfo=UTC)),
    ],
)
def test_moments(text: str, expected: datetime) -> None:
    assert parse_moment(text, NOW, timezone(timedelta(hours=1))) == expected


def check(*arguments: str) -> tuple[int, str, str]:
    done = jsdoctor("check", "--isolated", "--logs", str(LOG), *arguments, cwd=LOG.parent, env={"TZ": "UTC"})
    return done.returncode, " ".join(done.stdout.split()), done.stderr


def test_the_report_names_the_window_and_evidence_keeps_its_place() -> None:
    _, output, _ = check(
        "--timezone", "UTC", "--since", "2026-11-21T10:06:00Z", "--until", "2026-11-21T10:06:04Z", "-v"
    )
    assert "only from 2026-11-21 10:06:00Z to 2026-11-21 10:06:04Z" in output
    text = LOG.read_bytes()
    number = next(n for n, line in enumerate(text.splitlines(), 1) if b"JetStream cluster no metadata leader" in line)
    offset = text.index(text.splitlines()[number - 1])
    assert f"line {number}, byte {offset}" in output


def test_a_window_without_lines_is_no_pass_and_a_wrong_one_is_refused() -> None:
    code, output, _ = check("--since", "2030-01-01")
    assert code == 3
    assert "no log line lies in the time window" in output
    assert check("--since", "1h", "--until", "2h")[0] == 2
    code, _, problem = check("--since", "yesterday")
    assert (code, "is no moment" in problem) == (2, True)
    done = jsdoctor("check", "-s", "nats://127.0.0.1:1", "--isolated", "--since", "2h", cwd=LOG.parent)
    assert done.returncode == 2
    assert "narrow logs and history" in done.stderr
