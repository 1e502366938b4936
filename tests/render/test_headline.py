"""The line on what was looked at."""

from typing import Any

import pytest

from jsdoctor.sources.headline import headline
from tests.support.evidence import evidence_of

DEAD = {"server": "n3", "drop": True}
SILENT = {"server": "n3", "endpoint": "JSZ", "drop": True}


@pytest.mark.parametrize(
    ("base", "edits", "words"),
    [
        ("three-nodes-2.15.1", (), "3 servers"),
        ("three-nodes-2.15.1", (DEAD,), "2 of 3 servers"),
        ("three-nodes-2.15.1", (SILENT,), "3 servers"),
        ("one-node-2.15.1", (), "1 server"),
    ],
)
def test_servers_that_did_not_respond_are_counted(base: str, edits: tuple[Any, ...], words: str) -> None:
    assert headline(evidence_of({"base": base, "edit": list(edits)}), ()).startswith(f"{words} (2.15.1), ")
