"""What a report draws of logs and deployments, to the value. `make golden` writes the file; its diff is to be read."""

import pytest

from tests.engine.pictures import PATH, golden, names, text_of


def test_each_picture_is_there() -> None:
    assert list(golden()) == names(), f"{PATH} differs; `make golden` accepts it"


@pytest.mark.parametrize("name", golden())
def test_picture_is_that_of_the_golden_file(name: str) -> None:
    assert text_of(name) == golden().get(name), f"{PATH} differs; `make golden` accepts it"
