"""The fuzzer finds planted bugs, gives the same inputs again, and finds none in a few inputs of every target."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from jsdoctor.parse import duration
from jsdoctor.parse.redact import Redacted
from jsdoctor.render.formats import FORMATS
from tests.fuzz import __main__ as program
from tests.fuzz import clipboard, runner, targets
from tests.fuzz.mutation import mutate_bytes
from tests.fuzz.runner import attempt, fuzz, keep
from tests.fuzz.targets import TARGETS, Target
from tests.support.ruleset import checks

SEED = 20261121
_NIGHTLY_S = float(os.environ.get("JSDOCTOR_FUZZ_SECONDS", "60"))
"""For each target."""
ROUNDS = {
    "pasted log": 40,
    "manifest": 300,
    "bundle": 25,
    "archive": 25,
    "reply": 40,
    "page": 300,
    "configuration": 300,
    "paste": 100,
    "clip page": 200,
    "clip question": 200,
    "clip shown": 10,
}


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_recorded_and_shipped_is_read(name: str) -> None:
    """Else all that is made from it is refused at the door, and nothing is tested."""
    corpus = TARGETS[name].corpus()
    assert corpus
    assert sum(attempt(TARGETS[name], data) == (False, None) for data in corpus[:6]) >= min(len(corpus), 5)


@pytest.mark.parametrize("name", TARGETS)
def test_a_few_inputs_of_every_target(name: str) -> None:
    outcome = fuzz({name: TARGETS[name]}, SEED, rounds=ROUNDS.get(name, 1000))
    assert [crash.error for crash in outcome.crashes.values()] == []
    assert outcome.refused[name] < outcome.inputs[name]


def test_the_same_seed_gives_the_same_inputs() -> None:
    def inputs(seed: int) -> list[bytes]:
        seen: list[bytes] = []
        fuzz(
            {name: Target(target.corpus, target.mutate, seen.append) for name, target in TARGETS.items()},
            seed,
            rounds=5,
        )
        return seen

    assert inputs(1) == inputs(1)
    assert inputs(1) != inputs(2)


def test_time_is_shared_among_targets() -> None:
    slow, quick = TARGETS["reply"], TARGETS["setting"]
    outcome = fuzz({"slow": slow, "quick": quick, "empty": Target(list, mutate_bytes, len)}, SEED, seconds=2)
    assert outcome.inputs["quick"] > outcome.inputs["slow"] > 0
    assert "empty" not in outcome.inputs


def test_a_planted_bug_is_found_kept_and_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it was once: hundreds of digits overflow, and tens of thousands take minutes to look at."""
    monkeypatch.setattr(duration, "_MAX_TEXT_LENGTH", 1 << 30)
    monkeypatch.setattr(duration, "Decimal", float)
    monkeypatch.setattr(runner, "MAX_S", 1.0)
    outcome = fuzz({"duration": TARGETS["duration"]}, SEED, rounds=1500)
    crash = next(crash for crash in outcome.crashes.values() if "OverflowError" in crash.error)
    assert crash.place.startswith("OverflowError at duration.py:")
    path = keep(crash, tmp_path)
    assert path.read_bytes() == crash.data
    with pytest.raises(OverflowError):
        program.main(["--target", "duration", "--replay", str(path)])
    monkeypatch.undo()
    assert program.main(["--target", "duration", "--replay", str(path)]) == 0


def test_the_program_reports_what_it_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def picky(data: bytes) -> None:
        if b"9" in data:
            raise ZeroDivisionError("planted")

    monkeypatch.setattr(program, "TARGETS", {"picky": Target(lambda: [b"0123"], mutate_bytes, picky)})
    monkeypatch.setattr(program, "FOUND", tmp_path / "found")
    monkeypatch.setattr(program, "ROOT", tmp_path)
    monkeypatch.setattr(program, "MEMORY_BYTES", resource.getrlimit(resource.RLIMIT_AS)[0])
    assert program.main(["--seconds", "1", "--seed", "7"]) == 1
    output = capsys.readouterr().out
    assert "seed 7" in output
    assert "ZeroDivisionError: planted" in output
    (path,) = (tmp_path / "found").iterdir()
    assert f"--target picky --replay {path.relative_to(tmp_path)}" in output
    assert b"9" in path.read_bytes()


def test_a_check_that_crashes_is_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    """Evaluation turns it into an outcome, which must not hide it here."""

    def broken(**_: object) -> Any:
        raise KeyError("planted")

    name = next(name for name in checks() if name.endswith("lag_high"))
    book = {**checks(), name: replace(checks()[name], predicate=broken)}
    monkeypatch.setattr(targets, "checks", lambda: book)
    outcome = fuzz({"bundle": TARGETS["bundle"]}, SEED, rounds=10)
    assert any("planted" in crash.error for crash in outcome.crashes.values())


def test_a_secret_that_stays_is_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "redact", lambda samples, _: Redacted(tuple(samples), {}))
    outcome = fuzz({"redaction": TARGETS["redaction"]}, SEED, rounds=10)
    assert any("still there" in crash.error for crash in outcome.crashes.values())


def test_an_input_that_hangs_is_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    def hangs(_: bytes) -> None:
        while True:
            pass

    monkeypatch.setattr(runner, "MAX_S", 0.05)
    outcome = fuzz({"hangs": Target(lambda: [b"x"], mutate_bytes, hangs)}, SEED, rounds=1)
    (crash,) = outcome.crashes.values()
    assert "HangError" in crash.error


def test_an_echoed_secret_or_escape_is_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clipboard, "scrub_line", str)
    outcome = fuzz({"clip line": TARGETS["clip line"]}, SEED, rounds=10)
    assert any("still there" in crash.error for crash in outcome.crashes.values())
    monkeypatch.setattr(clipboard, "scrubbed", lambda report: report)
    monkeypatch.setattr(clipboard, "FORMATS", {name: lambda *_: "\x1b[31m" for name in FORMATS})
    outcome = fuzz({"clip shown": TARGETS["clip shown"]}, SEED, rounds=1)
    assert any("repeats a secret" in crash.error for crash in outcome.crashes.values())


@pytest.mark.nightly
@pytest.mark.parametrize("name", TARGETS)
def test_a_target_for_a_while(name: str, record_property: Callable[[str, object], None]) -> None:
    """What was found before is tried first; what is found now is kept for the next night."""
    target = TARGETS[name]
    again = [
        (path.name, error)
        for path in sorted(program.FOUND.glob(f"{name}-*"))
        if (error := attempt(target, path.read_bytes())[1]) is not None
    ]
    assert again == []
    seed = int(time.time())
    outcome = fuzz({name: target}, seed, seconds=_NIGHTLY_S)
    figures = {"reader": name, "seed": str(seed), "inputs": outcome.inputs[name], "refused": outcome.refused[name]}
    figures |= {"crashes": len(outcome.crashes), "slowest, s": round(outcome.slowest_s[name], 3)}
    record_property("rows", [figures])
    kept = [keep(crash, program.FOUND) for crash in outcome.crashes.values()]
    assert [(path.name, crash.error) for path, crash in zip(kept, outcome.crashes.values(), strict=True)] == []
    assert max(outcome.slowest_s.values()) < runner.MAX_S
