"""What each symptom's differential says, to the word, on evidence of its causes."""

from itertools import zip_longest

import pytest

from tests.diagnosis.book import book
from tests.engine.differentials import PATH, golden, written


@pytest.mark.parametrize("slug", [symptom.slug for symptom in book().symptoms])
def test_differential_is_that_of_the_golden_file(slug: str) -> None:
    for wanted, line in zip_longest(golden()[slug], (*written(slug), "")):
        assert line == wanted, f"{PATH} differs; `make golden` accepts it"
