"""Long runs of one sign or word are read in a time that grows with their length, wherever they stand."""

import re

import pytest

from tests.fuzz.long_runs import READERS, UNITS, TooSlowError, processor_time, read

_LENGTH, _SECONDS = 16_000, 1.0
_NIGHTLY_LENGTH, _NIGHTLY_SECONDS = 160_000, 10.0
_SHARE = 8
"""Of the units, one in so many is fed to a reader in each run of the tests, and all of them in the nightly ones."""


@pytest.mark.parametrize("reader", READERS)
def test_a_long_run_takes_a_time_that_grows_with_its_length(reader: str) -> None:
    """With the square of it, what takes 0.5 s for this length takes a minute for that of the nightly ones."""
    read(reader, b"x")  # rules and patterns are loaded
    for unit in UNITS[list(READERS).index(reader) % _SHARE :: _SHARE]:
        with processor_time(_SECONDS):
            read(reader, _run(unit, _LENGTH))


@pytest.mark.nightly
@pytest.mark.parametrize("reader", READERS)
def test_very_long_runs_take_a_time_that_grows_with_their_length(reader: str) -> None:
    read(reader, b"x")
    for unit in UNITS:
        with processor_time(_NIGHTLY_SECONDS):
            read(reader, _run(unit, _NIGHTLY_LENGTH))


def test_a_pattern_that_begins_again_at_each_sign_is_noticed() -> None:
    with pytest.raises(TooSlowError), processor_time(0.1):
        re.search(r"\s+x", " " * 40_000)


def _run(unit: str, length: int) -> bytes:
    return (unit * (length // len(unit))).encode()
