"""Secrets in names, texts and metadata of a deployment are in no report, in whatever format, and in no bundle."""

from pathlib import Path

import pytest

from jsdoctor.cli import app
from jsdoctor.redaction.redact import redact, scrub_line
from jsdoctor.render.formats import FORMATS
from tests.secrets.kinds import KINDS, ORDINARY, Kind
from tests.secrets.planting import planted, write

BASES = ("three-nodes-2.15.1", "three-nodes-2.15.1-account")
TRIALS = [
    pytest.param(KINDS, id="all in turn"),
    *(pytest.param((kind,), id=kind.name, marks=pytest.mark.nightly) for kind in KINDS),
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_each_kind_is_redacted(kind: Kind) -> None:
    once = scrub_line(f"before {kind.text}")
    assert kind.secret not in once
    assert once.startswith("before ")
    assert scrub_line(once) == once


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text: str) -> None:
    assert scrub_line(text) == text


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("kinds", TRIALS)
def test_no_report_shows_it(
    kinds: tuple[Kind, ...],
    base: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    samples = planted(base, [kind.text for kind in kinds])
    write(tmp_path / "b.zip", samples)
    outputs = [word for name in FORMATS for word in ("-o", f"{name}=out.{name}")]
    code = app.run(["check", "--isolated", "--bundle", "b.zip", "-vv", "--max-examples", "0", *outputs])
    output = capfd.readouterr()
    assert code in (0, 1, 2, 3)
    texts = {path.name: path.read_text() for path in tmp_path.glob("out.*")}
    assert len(texts) == len(FORMATS)
    assert "[redacted:" in texts["out.json"], "nothing of what was planted came to be shown"
    kept = "".join(e.target + e.body.decode() for sample in redact(samples).samples for e in sample.exchanges)
    every = {**texts, "said": output.out + output.err, "bundle": kept}
    assert [f"{kind.name} in {name}" for name, text in every.items() for kind in kinds if kind.secret in text] == []
