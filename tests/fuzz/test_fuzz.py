"""A few inputs of every target make no parser crash, and what is planted is found."""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from jsdoctor.redaction.redact import Redacted
from jsdoctor.render.formats import FORMATS
from tests.fuzz import clipboard, targets
from tests.fuzz.targets import TARGETS, Target
from tests.support.ruleset import checks

_TIMES = int(os.environ.get("JSDOCTOR_FUZZ", "1"))
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


def feed(target: Target, rounds: int) -> None:
    """Raise what one of that many mutated inputs raises and may not. Those that failed before are tried first."""
    corpus = target.corpus()

    @settings(max_examples=rounds, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
    @given(st.integers(0, 2**32))
    def attempt(seed: int) -> None:
        random = Random(seed)  # noqa: S311 - it is to be foreseen
        data = target.mutate(random, random.choice(corpus), corpus)
        try:
            target.run(data)
        except target.refusals:
            return

    attempt()


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_recorded_and_shipped_is_read(name: str) -> None:
    """Else all that is made from it is refused at the door, and nothing is tested."""
    corpus = TARGETS[name].corpus()
    assert corpus
    refused = 0
    for data in corpus[:6]:
        try:
            TARGETS[name].run(data)
        except TARGETS[name].refusals:
            refused += 1
    assert refused <= 1


@pytest.mark.parametrize("name", TARGETS)
def test_a_few_inputs_of_every_target(name: str) -> None:
    feed(TARGETS[name], _TIMES * ROUNDS.get(name, 1000))


@pytest.mark.nightly
@pytest.mark.parametrize("name", TARGETS)
def test_many_inputs_of_every_target(name: str) -> None:
    feed(TARGETS[name], 20 * ROUNDS.get(name, 1000))


def test_a_check_that_crashes_is_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    """Evaluation turns it into an outcome, which must not hide it here."""

    def broken(**_: object) -> Any:
        raise KeyError("planted")

    name = next(name for name in checks() if name.endswith("lag_high"))
    book = {**checks(), name: replace(checks()[name], predicate=broken)}
    monkeypatch.setattr(targets, "checks", lambda: book)
    is_found(lambda: feed(TARGETS["bundle"], 10), "planted")


def test_a_secret_that_stays_is_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "redact", lambda samples, _: Redacted(tuple(samples), {}))
    is_found(lambda: feed(TARGETS["redaction"], 10), "still there")


def test_an_echoed_secret_or_escape_is_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clipboard, "scrub_line", str)
    is_found(lambda: feed(TARGETS["clip line"], 10), "still there")
    monkeypatch.setattr(clipboard, "scrubbed", lambda report: report)
    monkeypatch.setattr(clipboard, "FORMATS", {name: lambda *_: "\x1b[31m" for name in FORMATS})
    is_found(lambda: feed(TARGETS["clip shown"], 1), "repeats a secret")


def is_found(fed: Callable[[], None], message: str) -> None:
    with pytest.raises((AssertionError, ExceptionGroup)) as raised:
        fed()
    shown = raised.value.exceptions if isinstance(raised.value, ExceptionGroup) else (raised.value,)
    assert any(message in str(error) for error in shown)
