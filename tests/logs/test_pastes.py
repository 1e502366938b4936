"""Texts as people paste and export them: every cause in every shape is named, and healthy logs stay silent."""

import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jsdoctor.logs.lines.matcher import Matcher
from jsdoctor.logs.lines.stamp import LogYear
from jsdoctor.logs.paste.rewrite import HEAD_BYTES, Rewriter, document_lines
from tests.logs.corpus import REAL, counts_of, evidence
from tests.logs.excerpts import Excerpt, benign, faults, loud, named
from tests.logs.shapes import DRESSED, ENVELOPES
from tests.support.log_cases import settings as signatures

SHARE = 0.97
MATCHER = Matcher(signatures().signatures)
LINES = (
    "[7] 2026/11/21 10:00:00.000000 [INF] JetStream cluster no metadata leader\n"
    "[7] 2026/11/21 10:00:04.000000 [WRN] JetStream cluster stream 'APP > ORDERS' has NO quorum, stalled"
)


@pytest.fixture(autouse=True)
def one_matcher(monkeypatch: pytest.MonkeyPatch) -> None:
    """To build a matcher takes longer than to read an excerpt."""
    monkeypatch.setattr("tests.logs.corpus.Matcher", lambda *_: MATCHER)


def _missed(excerpts: Sequence[Excerpt], directory: Path) -> list[tuple[str, str, list[str]]]:
    read = [(excerpt, named(excerpt, directory)) for excerpt in excerpts]
    return [(excerpt.cause, excerpt.shape, codes) for excerpt, codes in read if excerpt.code not in codes[:3]]


def test_causes_are_named_in_every_shape(tmp_path: Path) -> None:
    some = list(islice((excerpt for excerpt in faults() if not excerpt.kept_aside), 0, None, 23))
    missed = _missed(some, tmp_path)
    assert len(missed) <= (1 - SHARE) * len(some), missed


def test_healthy_logs_are_silent_in_every_shape(tmp_path: Path) -> None:
    some = [excerpt for excerpt in benign() if not excerpt.kept_aside][::29]
    assert [(excerpt.cause, excerpt.shape, codes) for excerpt in some if (codes := loud(excerpt, tmp_path))] == []


@pytest.mark.nightly
@pytest.mark.parametrize("aside", [False, True])
def test_all_causes_in_all_shapes(aside: bool, tmp_path: Path) -> None:
    chosen = [excerpt for excerpt in faults() if excerpt.kept_aside == aside]
    missed = _missed(chosen, tmp_path)
    assert len({excerpt.cause for excerpt in chosen}) >= 60
    assert len(missed) <= (1 - SHARE) * len(chosen), missed


@pytest.mark.nightly
def test_all_healthy_logs_in_all_shapes(tmp_path: Path) -> None:
    assert [(excerpt.cause, excerpt.shape, codes) for excerpt in benign() if (codes := loud(excerpt, tmp_path))] == []


def test_the_words_of_a_server_in_an_unknown_form_are_no_pass(tmp_path: Path) -> None:
    paste = tmp_path / "app.txt"
    paste.write_text("the monitor wrote: <<JetStream cluster stream 'APP > ORDERS' has NO quorum, stalled>> twice\n")
    command = [sys.executable, "-m", "jsdoctor", "check", "--isolated", "--logs", str(paste)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 3, run.stdout
    assert "inside a form that is not known" in " ".join(run.stdout.split())


def test_standard_input() -> None:
    command = [sys.executable, "-m", "jsdoctor", "check", "--isolated", "--quiet", "--logs", "-"]
    run = subprocess.run(command, input=DRESSED["message alone"](LINES), capture_output=True, text=True, check=False)
    assert "JSD702" in run.stdout, run.stdout


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_texts_of_windows(encoding: str, tmp_path: Path) -> None:
    log = (REAL / "2.15.1" / "c2-n1.log").read_text()
    (tmp_path / "plain.log").write_text(log)
    (tmp_path / "n1.log").write_bytes(log.encode(encoding))
    assert counts_of(evidence([tmp_path / "n1.log"])) == counts_of(evidence([tmp_path / "plain.log"]))


def test_zip(tmp_path: Path) -> None:
    log = (REAL / "2.15.1" / "c2-n1.log").read_bytes()
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("logs/n2.log", log.replace(b" n1", b" n2"))
    with zipfile.ZipFile(tmp_path / "all.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("logs/n1.log", log)
        archive.writestr("more.zip", inner.getvalue())
    read = evidence([tmp_path / "all.zip"])
    assert [file.problem for file in read.files if file.problem] == []
    assert {server.name for server in read.servers} == {"n1", "n2"}


def test_newest_first_is_turned_round(tmp_path: Path) -> None:
    log = (REAL / "2.15.1" / "c2-n1.log").read_text().splitlines()
    (tmp_path / "plain.log").write_text("\n".join(log) + "\n")
    (tmp_path / "n1.log").write_text("\n".join(log[::-1]) + "\n")
    turned, plain = evidence([tmp_path / "n1.log"]), evidence([tmp_path / "plain.log"])
    assert [run.end for run in turned.runs] == [run.end for run in plain.runs]
    assert not turned.clock_steps


def test_linked_directories(tmp_path: Path) -> None:
    (tmp_path / "pods").mkdir()
    (tmp_path / "pods" / "n1.log").write_text(LINES)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "nats").symlink_to(tmp_path / "pods")
    (tmp_path / "pods" / "back").symlink_to(tmp_path / "logs")
    (tmp_path / "logs" / "n2.log").write_text(LINES)
    assert sorted(file.path for file in evidence([tmp_path / "logs"]).files) == ["n2.log", "nats/n1.log"]


def test_pipes_that_are_named_in_dev(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, LINES.encode())
    os.close(writer)
    (file,) = evidence([f"/dev/fd/{reader}"]).files
    os.close(reader)
    assert (file.path, file.problem, file.lines) == ("stdin", "", 2)


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("shape", ["loki answer", "elasticsearch answer", "json array"])
def test_a_long_document_is_read_to_its_end(shape: str, indent: int | None, tmp_path: Path) -> None:
    """Its first 16 KiB are one line, or lines that are no records; the error stands in the last of them."""
    fill = "\n".join(f"[7] 2026/11/21 09:00:{n % 60:02}.{n:06} [INF] Client connection created" for n in range(500))
    text = json.dumps(json.loads(DRESSED[shape](f"{fill}\n{LINES}")), indent=indent)
    (tmp_path / "answer.json").write_text(text)
    assert len(text) > 2 * HEAD_BYTES
    assert "stream-quorum-lost" in {signature for signature, *_ in counts_of(evidence([tmp_path]))}


@pytest.mark.parametrize("name", ["google cloud", "datadog"])
def test_documents_that_are_cut_short(name: str) -> None:
    text = json.dumps([ENVELOPES[name](line) for line in LINES.splitlines()], indent=1)
    lines = document_lines(text[: len(text) * 3 // 4])
    assert lines is not None
    assert "no metadata leader" in lines[0]


_PIECES = [shape(LINES) for shape in DRESSED.values()]


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(
    pieces=st.lists(st.sampled_from(_PIECES), min_size=1, max_size=3),
    cuts=st.lists(st.tuples(st.integers(0, 4000), st.binary(max_size=6)), max_size=6),
)
def test_mutated_pastes_never_fail(pieces: list[str], cuts: list[tuple[int, bytes]]) -> None:
    data = "\n".join(pieces).encode()
    for at, put in cuts:
        data = data[:at] + put + data[at + len(put) :]
    Rewriter(MATCHER, LogYear(2026)).rewritten(data)
