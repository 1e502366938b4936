"""The most lines within a window, beside counting every window by itself."""

import random

from jsdoctor.checks.logs.bursts import are_within, most_within
from jsdoctor.model.histogram import Histogram
from jsdoctor.model.log import Occurrence


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


def one_by_one(occurrences: list[Occurrence], window_us: int, field: str) -> int:
    starts = {first for event in occurrences for first, _, _ in event.histogram.spans()}
    users = {event.value(field) for event in occurrences} - {""}
    return max(
        (
            sum(event.between(start, start + window_us) for event in occurrences if event.value(field) == user)
            for start in starts
            for user in users
        ),
        default=0,
    )


def test_whether_so_many_are_within_a_window() -> None:
    occurrences = [occurrence("a", (0, 5, 3), (100, 100, 1)), occurrence("b", (7, 7, 4), (12, 12, 1))]
    assert are_within(7, occurrences, 10)
    assert are_within(2, [occurrence("a", (0, 0, 1), (9, 9, 1))], 10)
    assert not are_within(2, [occurrence("a", (0, 0, 1), (10, 10, 1))], 10)
    assert not are_within(9, occurrences, 10)
    assert not are_within(1, [], 10)


def test_as_counting_every_window() -> None:
    chance = random.Random(3)  # noqa: S311 - the same again is what is wanted
    for _ in range(500):
        width, occurrences = chance.choice((10, 60, 200)), []
        for _ in range(chance.randrange(1, 5)):
            spans = []
            for key in sorted(chance.sample(range(20), chance.randrange(8))):
                first, last = sorted(chance.choices(range(key * width, (key + 1) * width), k=2))
                spans.append((first, last, chance.randrange(1, 9)))
            occurrences.append(occurrence(chance.choice(("", "u", "v")), *spans))
        window = chance.choice((1, 5, 30, 100, 1000))
        assert most_within(occurrences, window, lambda event: event.value("user")) == one_by_one(
            occurrences, window, "user"
        )
        assert all(are_within(n, occurrences, window) == (most_within(occurrences, window) >= n) for n in range(1, 30))
