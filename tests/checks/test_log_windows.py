"""The most lines within a window, beside counting every window by itself."""

from __future__ import annotations

import random

from jsdoctor.checks.logs.windows import most_within
from jsdoctor.model.log import Histogram, Occurrence


def occurrence(user: str, *spans: tuple[int, int, int]) -> Occurrence:
    return Occurrence(
        signature="login-refused",
        logged_by="n1",
        fields=(("user", user),),
        count=sum(count for _, _, count in spans),
        dated=sum(count for _, _, count in spans),
        zoned=True,
        histogram=Histogram.of(spans),
    )


def one_by_one(found: list[Occurrence], window_us: int, field: str) -> int:
    starts = {first for one in found for first, _, _ in one.histogram.spans()}
    users = {one.value(field) for one in found} - {""}
    return max(
        (
            sum(one.between(start, start + window_us) for one in found if one.value(field) == user)
            for start in starts
            for user in users
        ),
        default=0,
    )


def test_of_one_and_of_all() -> None:
    found = [occurrence("a", (0, 5, 3), (100, 100, 1)), occurrence("b", (7, 7, 4)), occurrence("", (7, 9, 50))]
    assert most_within(found, 10) == 57
    assert most_within(found, 10, lambda one: one.value("user")) == 4
    assert most_within(found, 1000, lambda one: one.value("user")) == 4
    assert most_within([], 10) == 0


def test_as_counting_every_window() -> None:
    chance = random.Random(3)  # noqa: S311 - the same again is what is wanted
    for _ in range(500):
        width, found = chance.choice((10, 60, 200)), []
        for _ in range(chance.randrange(1, 5)):
            spans = []
            for key in sorted(chance.sample(range(20), chance.randrange(8))):
                first, last = sorted(chance.choices(range(key * width, (key + 1) * width), k=2))
                spans.append((first, last, chance.randrange(1, 9)))
            found.append(occurrence(chance.choice(("", "u", "v")), *spans))
        window = chance.choice((1, 5, 30, 100, 1000))
        assert most_within(found, window, lambda one: one.value("user")) == one_by_one(found, window, "user")
