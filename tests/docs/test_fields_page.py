"""docs/fields.md answers for every configuration field that jsdoctor knows, and for every advisory of the server."""

import re

import msgspec

from jsdoctor.model.jetstream import ConsumerConfig, StreamConfig, StreamState
from jsdoctor.replies.decoding import ConsumerReply
from tests.servers import ROOT

PAGE = (ROOT / "docs" / "fields.md").read_text("utf-8")
ROW = re.compile(r"^\| `([a-z0-9_.]+)` \| (.+) \|$", re.MULTILINE)


def entries(heading: str) -> dict[str, str]:
    """The answer to each field or type of one table."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = ROW.findall(section)
    assert len({name for name, _ in rows}) == len(rows)
    return dict(rows)


def test_every_field_of_streams_and_consumers_has_an_answer() -> None:
    tables: dict[str, type[msgspec.Struct]] = {
        "Stream configuration": StreamConfig,
        "Consumer configuration": ConsumerConfig,
        "Stream state": StreamState,
        "Consumer state": ConsumerReply,
    }
    identity = {"stream_name", "config", "ts"}
    for heading, model in tables.items():
        known = {field.encode_name for field in msgspec.structs.fields(model) if field.name != "unseen"}
        known -= (identity | {"name"}) if model is ConsumerReply else set()
        assert entries(heading).keys() == known, heading
