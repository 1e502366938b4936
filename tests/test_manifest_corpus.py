"""Manifests as people write them, good and bad of every kind: exactly the findings that are expected, and no secret."""

import tomllib
from functools import cache
from pathlib import Path

import pytest

from jsdoctor.model.finding import Finding, Outcome
from jsdoctor.model.manifest import Manifests
from jsdoctor.model.report import Result
from jsdoctor.render.places import places
from jsdoctor.sources.manifests.load import load_manifests
from tests.support.manifest_cases import CORPUS, ROOT, manifest_evidence_of
from tests.support.rule_case import label, loud
from tests.support.ruleset import run_all

EXPECTED: dict[str, dict[str, list[str]]] = tomllib.loads((CORPUS / "expected.toml").read_text())
FILES = sorted(str(path.relative_to(CORPUS)) for path in CORPUS.rglob("*") if path.is_file() and path.parent != CORPUS)
SECRETS = ("not-shown", "hunter2", "$2a$11$")


@pytest.fixture(autouse=True)
def _in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("file", FILES)
def test_findings(file: str) -> None:
    """Each as `CODE subject severity line:column`, or the problem that keeps the file from being read."""
    results = judged(file)
    assert [r.finding.message for r in results if r.finding.outcome is Outcome.ERROR] == []
    findings = [
        f"{r.rule.code} {label(r.finding.subject)} {r.severity} {spot(r.finding)}"
        for r in results
        if r.finding.outcome is Outcome.FAIL
    ]
    problems = [read_file.problem for read_file in read(file).files if read_file.problem]
    expected = EXPECTED.get(file, {})
    assert (sorted(findings), problems) == (sorted(expected.get("findings", [])), expected.get("problems", []))


@pytest.mark.parametrize("file", [file for file in FILES if "good" in file])
def test_good_ones_give_nothing(file: str) -> None:
    assert loud(judged(file)) == []


@pytest.mark.parametrize("file", FILES)
def test_no_secret_is_kept(file: str) -> None:
    """Neither in what is found nor in what is read: what is not there cannot leak."""
    everything = f"{read(file)!r} {judged(file)!r}"
    assert [secret for secret in SECRETS if secret in everything] == []


def test_bad_ones_hold_secrets() -> None:
    """Else the test above would show nothing."""
    assert any("not-shown" in (CORPUS / file).read_text() for file in FILES)


def test_the_whole_corpus_at_once() -> None:
    """Files that others include are no servers of their own."""
    manifests = load_manifests([str(CORPUS.relative_to(ROOT))])
    assert not [server for server in manifests.servers if Path(server.place.file).name == "accounts.conf"]
    read_ones = {file.path for file in manifests.files if file.found}
    assert read_ones >= {f"fixtures/manifests/{file}" for file in FILES if "good" in file}


@cache
def judged(file: str) -> tuple[Result, ...]:
    return run_all(manifest_evidence_of({"files": [file]})).results


def spot(finding: Finding) -> str:
    first = places(finding)[0]
    return f"{first.line}:{first.column}"


def read(file: str) -> Manifests:
    return load_manifests([f"fixtures/manifests/{file}"])
