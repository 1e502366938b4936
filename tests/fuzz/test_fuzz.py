"""A few inputs of every target make no parser crash."""

import os
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.targets import TARGETS, Target

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
    feed(TARGETS[name], _TIMES * ROUNDS.get(name, 400))


@pytest.mark.nightly
@pytest.mark.parametrize("name", TARGETS)
def test_many_inputs_of_every_target(name: str) -> None:
    feed(TARGETS[name], 50 * ROUNDS.get(name, 400))
