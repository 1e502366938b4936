"""What the engine makes of evidence, to the word. `make golden` writes the files; their diff is to be read."""

import pytest

from tests.engine.golden import ROOT, TEXTS, text_of


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_text_is_that_of_the_golden_file(name: str) -> None:
    path = ROOT / f"{name}.txt"
    assert text_of(name) == path.read_text(encoding="utf-8"), f"{path} differs; `make golden` accepts it"
