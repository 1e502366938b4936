"""A browser for the tests of a module."""

from collections.abc import Iterator

import pytest

from tests.html.browser import Tab, browser


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened
