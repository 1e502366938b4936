"""What each symptom's differential says, to the word, on evidence of its causes."""

from __future__ import annotations

from itertools import zip_longest

import pytest

from tests.diagnosis.book import book
from tests.engine.differentials import path_of, written


@pytest.mark.parametrize("slug", [symptom.slug for symptom in book().symptoms])
def test_differential_is_that_of_the_golden_file(slug: str) -> None:
    path = path_of(slug)
    for wanted, line in zip_longest(path.read_text("utf-8").splitlines(), written(slug)):
        assert line == wanted, f"{path} differs; `make golden` accepts it"
