"""The proof takes every test module once, resumes where it stopped, and its page says what was not run."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from tests.proof.causes import load_causes
from tests.proof.dependencies import dependencies, module_digest
from tests.proof.page import PAGE, page, verdict
from tests.proof.published import publish, restore
from tests.proof.recorder import Order
from tests.proof.results import (
    Collected,
    Result,
    State,
    append,
    collected_path,
    digest_of,
    failures_path,
    forget_unfinished,
    read_results,
    results_path,
)
from tests.proof.slices import Slice, load_slices, modules, modules_of
from tests.servers import BETWEEN, ROOT

SAMPLE_MODULE = "test_sample.py"
AT = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
SAMPLE = """
import pytest

def test_passes(record_property):
    record_property("assets", 100)

def test_fails():
    assert 1 == 2

@pytest.mark.skip(reason="needs a lake")
def test_is_skipped():
    pass

@pytest.fixture
def broken():
    yield
    raise OSError("no room")

def test_fails_after_its_end(broken):
    pass
"""


def test_each_module_is_in_one_slice_and_each_selection_takes_something() -> None:
    slices = load_slices()
    chosen = modules_of(slices)
    assert sorted(module for of_slice in chosen.values() for module in of_slice) == modules()
    for proof_slice in slices:
        for glob in proof_slice.select:
            assert any(msgspec.structs.replace(proof_slice, select=(glob,)).takes(module) for module in modules()), glob


def test_releases_between_are_run_by_the_slices_that_have_them() -> None:
    every = Slice(name="every", shows="", select=("*",), between=True)
    assert BETWEEN
    for version in BETWEEN:
        assert every.includes(version, nightly=True)
        assert not msgspec.structs.replace(every, between=False).includes(version, nightly=True)
    assert all(msgspec.structs.replace(every, between=False).includes(v, nightly=True) for v in ("", "2.15.1"))
    assert not msgspec.structs.replace(every, nightly=False).includes("", nightly=True)
    assert any(proof_slice.between for proof_slice in load_slices())


def run(order: Order, scratch: Path, *options: str) -> None:
    (scratch / "order.json").write_bytes(msgspec.json.encode(order))
    module = scratch / "test_sample.py"
    module.write_text(SAMPLE)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.proof.recorder",
        "-p",
        "no:cacheprovider",
        "-c",
        "/dev/null",
    ]
    command += ["--rootdir", str(scratch), "--proof-order", str(scratch / "order.json"), *options, str(module)]
    subprocess.run(command, cwd=ROOT, check=False, capture_output=True)


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["one process", "workers"])
def test_what_a_test_gave_is_kept(tmp_path: Path, options: tuple[str, ...]) -> None:
    run(Order(collect_to=str(tmp_path / "collected")), tmp_path)
    tests = [msgspec.json.decode(line)["test"] for line in (tmp_path / "collected").read_bytes().splitlines()]
    results = tmp_path / "results"
    order = Order(tests=frozenset(tests[:4]), results={SAMPLE_MODULE: str(results)}, until=time.time() + 60)
    run(order, tmp_path, *options)
    ended = {r.test.partition("::")[2]: r for r in read_results(results) if r.outcome != "started"}
    assert {name: result.outcome for name, result in ended.items()} == {
        "test_passes": "passed",
        "test_fails": "failed",
        "test_is_skipped": "skipped",
        "test_fails_after_its_end": "failed",
    }
    assert ended["test_passes"].figures == {"assets": 100}
    assert ended["test_is_skipped"].reason == "needs a lake"
    assert "no room" in ended["test_fails_after_its_end"].reason
    failures = failures_path(results).read_text()
    assert failures.count("=== ") == 2
    assert "test_sample.py::test_fails (call)" in failures
    assert "test_sample.py::test_fails_after_its_end (teardown)" in failures


def test_only_tests_of_the_order_run_and_none_after_its_time(tmp_path: Path) -> None:
    name = "test_sample.py::test_passes"
    results = tmp_path / "results"
    run(Order(tests=frozenset({name}), results={SAMPLE_MODULE: str(results)}, until=time.time() + 60), tmp_path)
    assert [result.outcome for result in read_results(results)] == ["started", "passed"]
    late = tmp_path / "late"
    both = frozenset({name, "test_sample.py::test_fails"})
    run(Order(tests=both, results={SAMPLE_MODULE: str(late)}, until=time.time() - 1), tmp_path)
    assert len({result.test for result in read_results(late)}) == 1


def result(outcome: str, test: str = "tests/real/test_ward.py::test_a[2.15.1]", **more: object) -> Result:
    return msgspec.convert({"test": test, "outcome": outcome, "at": AT, **more}, Result)


def test_a_run_that_did_not_end_is_no_pass_and_one_failure_of_many_is_flaky() -> None:
    test = Collected(test="tests/real/test_ward.py::test_a[2.15.1]", version="2.15.1")
    assert verdict(test, []).outcome == "not run"
    assert verdict(test, [result("started")]).outcome == "cut off"
    assert verdict(test, [result("started"), result("passed")]).outcome == "passed"
    runs = [result("started"), result("failed"), result("started"), result("passed")]
    assert verdict(test, runs).outcome == "flaky"
    assert verdict(test, runs).failures == 1


def test_what_was_interrupted_runs_again(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    lines = [result("started"), result("failed"), result("started"), result("started", "b"), result("passed", "b")]
    for line in lines:
        append(path, line)
    forget_unfinished(path)
    assert [(kept.test[-1], kept.outcome) for kept in read_results(path)] == [
        ("]", "started"),
        ("]", "failed"),
        ("b", "started"),
        ("b", "passed"),
    ]


def note_state(kept: Path, digest: str) -> None:
    state = State(
        digest=digest,
        tests="t",
        commit=digest * 40,
        committed="2026-01-01",
        clean=False,
        python="3.11",
        system="Linux",
        processors=2,
        settings=("JSDOCTOR_A=1",),
    )
    (kept / digest).mkdir(parents=True)
    (kept / digest / "state.json").write_bytes(msgspec.json.encode(state))


def test_the_page_names_failures_reasons_figures_and_what_was_not_run(tmp_path: Path) -> None:
    note_state(tmp_path, "d")
    ward, many = "tests/real/test_ward.py::test_{}[2.15.1]", "tests/real/test_many_checks.py::test_all"
    for name in "abcd":
        append(collected_path("d", tmp_path), Collected(test=ward.format(name), version="2.15.1"))
    append(collected_path("d", tmp_path), Collected(test=many))
    path = results_path("d", "faults", "real/test_ward.py", tmp_path)
    append(path, result("passed", ward.format("a")))
    append(path, result("failed", ward.format("b"), reason="assert `1` == 2"))
    append(path, result("skipped", ward.format("c"), reason="no tc | on this machine"))
    checks = results_path("d", "load", "real/test_many_checks.py", tmp_path)
    append(checks, result("passed", many, figures={"rows": [{"reader": "a", "inputs": 6}]}))
    rows = [{"reader": "a", "inputs": 1200}, {"reader": "b", "inputs": 34}]
    append(checks, result("passed", many, figures={"rows": rows}))
    causes = tmp_path / "causes.toml"
    causes.write_text(
        f"[[cause]]\ntest = '{ward.format('b')}'\ncause = 'The disk was full.'\n"
        "[[cause]]\ntest = 'tests/real/test_ward.py'\ncause = 'Not found.'\n"
    )
    text = page(load_slices(), "d", kept=tmp_path, causes=causes)
    assert "with changes that are in no commit" in text
    assert "| Settings | `JSDOCTOR_A=1` |" in text
    assert "| faults | 4 | 2 | 1 | 1 | 0 | 1 | 0 | 1 | 0 |" in text
    assert f"- `{ward.format('b')}`: `assert '1' == 2`. The disk was full.\n" in text
    assert "Not found." not in text
    assert "- 1: `no tc | on this machine`" in text
    assert "Not run: `real/test_ward.py` (1)." in text
    assert (
        "| reader | inputs |\n| --- | --- |\n| a | 1,200 |\n| b | 34 |\n\n1,240 inputs in all runs of this state.\n"
        in text
    )
    assert text.count("This slice was not run.") == len(load_slices()) - 2


def test_a_page_of_a_former_state_has_what_was_run_again_for_a_later_one(tmp_path: Path) -> None:
    here, there, file = tmp_path / "here", tmp_path / "there", tmp_path / "proof.tar.xz"
    test = "tests/real/test_ward.py::test_a[2.15.1]"
    for digest, outcome in (("d", "failed"), ("e", "passed")):
        note_state(here, digest)
        append(collected_path(digest, here), Collected(test=test, version="2.15.1"))
        # Written for tests that are no longer as they were.
        former = results_path(digest, "faults", "real/test_ward.py", here).with_name(f"real.test_ward.{digest}1.jsonl")
        append(former, result(outcome, test, reason="too late" if outcome == "failed" else ""))
        earlier = result("skipped", test, at=AT - timedelta(hours=1))
        append(former.with_name(f"real.test_ward.{digest}2.jsonl"), earlier)
    text = page(load_slices(), "d", ("e",), here, former=True)
    head, _, again = text.partition("## Run again for later states")
    assert "| faults | 1 | 1 | 0 | 1 | 0 | 0 | 0 | 0 | 0 |" in head
    later, _, details = again.partition("\n## ")
    assert "### State `e`" in later
    assert "| faults | 1 | 1 | 1 | 0 | 0 | 0 | 0 | 0 | 0 |" in later
    assert "| Commit | `eeeeeeeeeeee` of" in later
    assert "| healthy |" not in later
    assert f"- `{test}`: `too late`" in details
    publish(["d", "e"], here, file)
    assert restore("e", there, file)
    assert not (there / "d").exists()
    assert restore("d", there, file)
    assert page(load_slices(), "d", ("e",), there, former=True) == text


def test_published_results_are_gone_on_from_in_another_clone(tmp_path: Path) -> None:
    here, there, file = tmp_path / "here", tmp_path / "there", tmp_path / "proof.tar.xz"
    (here / "d").mkdir(parents=True)
    (here / "d" / "state.json").write_text("{}")
    collected_path("d", here).write_text("")
    path = results_path("d", "faults", "real/test_ward.py", here)
    for outcome in ("started", "passed", "started"):
        append(path, result(outcome))
    failures_path(path).write_text("/a/path/of/a/machine")
    publish(["d"], here, file)
    first = file.read_bytes()
    publish(["d"], here, file)
    assert file.read_bytes() == first
    assert not restore("another", there, file)
    assert restore("d", there, file)
    assert read_results(results_path("d", "faults", "real/test_ward.py", there)) == read_results(path)
    assert not list(there.rglob("*.failures.txt"))
    assert not restore("d", there, file)


def test_a_change_of_a_watched_directory_is_another_state(tmp_path: Path) -> None:
    for name in ("jsdoctor", "rules", "tests", "fixtures", "docs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("one")
    commit = ["git", "-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "--quiet", "--message", "one"]
    for command in (["git", "init", "--quiet"], ["git", "add", "."], commit):
        subprocess.run(command, cwd=tmp_path, check=True)
    before = digest_of(tmp_path)
    (tmp_path / "docs" / "file").write_text("two")
    (tmp_path / "tests" / "file").write_text("two")
    assert digest_of(tmp_path) == before
    (tmp_path / "rules" / "file").write_text("two")
    assert digest_of(tmp_path) != before


def test_a_module_depends_on_what_it_imports_or_starts_and_on_the_data_there(tmp_path: Path) -> None:
    for name, text in {
        "conftest.py": "",
        "real/__init__.py": "",
        "real/test_a.py": "from tests.lab import net\nPLAYER = ['-m', 'tests.play.one']\nCLIENTS = 'clients'\n",
        "real/test_b.py": "",
        "lab/__init__.py": "",
        "lab/net.py": "import tests.base\n",
        "lab/rules.toml": "",
        "lab/other.py": "",
        "base.py": "",
        "play/one.py": "",
        "clients/main.mjs": "",
        "clients/__init__.py": "",
    }.items():
        path = tmp_path / "tests" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    names = {path.relative_to(tmp_path / "tests").as_posix() for path in dependencies("real/test_a.py", tmp_path)}
    own = {"conftest.py", "real/__init__.py", "real/test_a.py"}
    assert names == own | {
        *("lab/__init__.py", "lab/net.py", "lab/rules.toml", "base.py"),
        *("play/one.py", "clients/main.mjs", "clients/__init__.py"),
    }


def test_a_change_of_a_dependency_is_another_state_of_the_module(tmp_path: Path) -> None:
    for place, text in (("one", "a = 1\n"), ("two", "a = 2\n")):
        (tmp_path / place / "tests").mkdir(parents=True)
        (tmp_path / place / "tests" / "test_a.py").write_text("import tests.base\n")
        (tmp_path / place / "tests" / "test_b.py").write_text("")
        (tmp_path / place / "tests" / "base.py").write_text(text)
    assert module_digest("test_a.py", tmp_path / "one") != module_digest("test_a.py", tmp_path / "two")
    assert module_digest("test_b.py", tmp_path / "one") == module_digest("test_b.py", tmp_path / "two")


def test_each_cause_is_of_tests_that_exist() -> None:
    for known in load_causes():
        module, _, name = known.test.partition("::")
        text = (ROOT / module).read_text("utf-8")
        assert f"def {name.partition('[')[0]}" in text, known.test


def test_the_page_in_the_repository_was_written_by_the_tool() -> None:
    text = PAGE.read_text("utf-8")
    assert text.startswith("<!-- Written by `make proof-page`")
    for proof_slice in load_slices():
        assert f"\n## {proof_slice.name.capitalize()}\n\n{proof_slice.shows}\n" in text, proof_slice.name
