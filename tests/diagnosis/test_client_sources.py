"""Every error text in the sources of the clients is in the table of client errors, with a page or a reason.

Runs where `JSDOCTOR_CLIENT_SOURCES` names a directory with checkouts of the clients, such as a new release.
"""

from __future__ import annotations

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


def test_texts_are_found_in_sources_of_each_language(tmp_path: Path) -> None:
    written = {
        "nats.c/src/js.c": "s = nats_setError(NATS_ERR, \"failed to delete consumer '%s'\", name);",
        "nats.go/jsm.go": 'return fmt.Errorf("nats: duplicate stream name (%s and %s)", a, b)',
        "nats.java/src/main/java/Checks.java": 'throw new IllegalArgumentException(label + " cannot be null");',
        "nats.js/core/src/a.ts": "throw new Error(`'${v}' is not a semver value`);",
        "nats.net/src/A/B.cs": 'throw new NatsJSException($"Can\'t serialize {typeof(T)}");',
        "nats.py/nats/src/nats/a.py": 'raise ValueError("nats: invalid hostname in connect url")',
        "nats.rs/async-nats/src/a.rs": '#[error("cannot parse nkey from the credentials file")]',
    }
    for name, source in written.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(source)
    assert [[telling_part(text) for text in error_texts(tmp_path, name)] for name in CLIENTS] == [
        ["failed to delete consumer"],
        ["nats: duplicate stream name"],
        ["cannot be null"],
        ["is not a semver value"],
        ["can't serialize"],
        ["nats: invalid hostname in connect url"],
        ["cannot parse nkey from the credentials file"],
    ]
