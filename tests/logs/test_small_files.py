"""What makes thousands of small files cheap gives the same as what it replaces."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsdoctor.logs.lines.stamp import LogYear
from jsdoctor.logs.scan import sniff_lines
from jsdoctor.logs.scan.rows import PartRow
from jsdoctor.model.log_scan import Part
from jsdoctor.redaction.secret_forms import has_no_secret
from jsdoctor.sources.archives.local import run_local
from tests.logs.corpus import REAL, SETTINGS, evidence, same
from tests.logs.same_rows import parts_of
from tests.secrets.kinds import KINDS, Kind

_HEADS = st.sampled_from(
    (
        "",
        "[7] ",
        "2026/11/21 10:00:00.000001 [INF] ",
        "[7] 2026/11/31 10:00:00.000001 [WRN] ",
        "2028/02/29 23:59:59.999999 [ERR] ",
        "2026/02/29 23:59:59.999999 [ERR] ",
        "[1] 2026/12/31 24:00:00.000000 [DBG] ",
        "0000/01/01 00:00:00.000000 [TRC] ",
        "Nov 21 10:00:00 host nats[7]: ",
        '{"time":"2026-11-21T10:00:00Z","msg":"',
    )
)
_TAILS = st.sampled_from(("Server is ready", '{"level":"info","msg":"x"}', '"}', '"}\r', "", "\r", "x" * 40))


@given(st.lists(st.builds("{}{}".format, _HEADS, _TAILS), max_size=6))
def test_lines_surveyed_at_once_give_what_they_give_one_by_one(lines: list[str]) -> None:
    raw = [line.encode() for line in lines]
    at_once, singly = (
        PartRow(Part(path="a", name="a", series="a", end=0, size=0, weight=0, mtime_us=0), levels=[]) for _ in range(2)
    )
    sniff_lines.survey(at_once, raw, LogYear(2026))
    for line in raw:
        sniff_lines.survey(singly, [b"no header here", line], LogYear(2026))
    assert msgspec.json.encode(at_once) == msgspec.json.encode(singly)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_no_secret_is_overlooked(kind: Kind) -> None:
    assert not has_no_secret(f"2026/11/21 10:00:00.000001 [ERR] {kind.text}".encode())


def test_tasks_of_many_series_give_the_evidence_of_one_process(tmp_path: Path) -> None:
    text = next(path for path in sorted(REAL.rglob("*.log")) if path.stat().st_size > 2000).read_text()
    for number in range(40):
        (tmp_path / f"n{number:02}.log").write_text(text[: 1500 + 20 * number])
    (tmp_path / "large.log").write_text(text * 40)
    parts = parts_of([tmp_path])
    assert same(run_local(SETTINGS, parts, processes=2), evidence([tmp_path]))
