"""Every error text in the sources of the clients is in the table of client errors, with a page or a reason.

Runs where `JSDOCTOR_CLIENT_SOURCES` names a directory with checkouts of the clients, such as a new release.
"""

import os
from pathlib import Path

import pytest

from tests.diagnosis.client_sources import CLIENTS, VARIABLE, error_texts, telling_part
from tests.support.evidence import FIXTURES

TABLE = FIXTURES / "symptoms" / "client_errors.tsv"
MIN = {"nats.c": 150, "nats.go": 250, "nats.java": 130, "nats.js": 60, "nats.net": 90, "nats.py": 60, "nats.rs": 120}
"""Fewer texts than these mean that the sources have moved, and the patterns find nothing any more."""


@pytest.fixture
def sources() -> Path:
    directory = os.environ.get(VARIABLE)
    if not directory:
        pytest.skip(f"{VARIABLE} names no directory with checkouts of {', '.join(CLIENTS)}")
    return Path(directory)


@pytest.mark.parametrize("client", CLIENTS)
def test_every_error_text_of_a_client_is_in_the_table(client: str, sources: Path) -> None:
    table = [row.split("\t")[1].casefold() for row in TABLE.read_text("utf-8").splitlines()]
    texts = list(error_texts(sources, client))
    assert len(texts) >= MIN[client]
    assert [text for text in texts if not any(telling_part(text) in row for row in table)] == []
