"""What a step would delete of a stream, judged as by JSD615 (`jsdoctor.checks.declared.deletions`) right before it.

What cannot be judged counts as a loss: a step must not delete data without consent.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from jsdoctor.checks.declared.deletions import of_change
from jsdoctor.model.jetstream import StreamConfig, StreamState
from jsdoctor.model.plan import Json
from jsdoctor.model.snapshot import Stream
from jsdoctor.model.typed import convert_to


def would_delete(target: Mapping[str, Any], info: Json) -> str:
    """What setting `target` would delete of a stream now, in words; empty when nothing. `info` is from STREAM.INFO."""
    try:
        config = convert_to(target, StreamConfig)
        stream = Stream(
            account="",
            name=config.name,
            config=convert_to(info["config"], StreamConfig),
            state=convert_to(info.get("state") or {}, StreamState),
            at=msgspec.convert(info["ts"], datetime) if info.get("ts") else datetime.max.replace(tzinfo=UTC),
            consumers_seen=False,
        )
    except msgspec.ValidationError as error:
        return f"whether it would delete messages is not known: {error}"
    ages = config.max_age_ns > 0 and config.max_age_ns != stream.config.max_age_ns and not config.mirror
    if stream.state.messages and ages and stream.state.first_ts is None:
        return "how old its messages are is not known, and those older than max_age would be deleted"
    deletions = tuple(of_change(config, stream))
    if not deletions:
        return ""
    sure = "may" if all(deletion.unsure for deletion in deletions) else "would"
    return f"messages {sure} be deleted: {'; '.join(deletion.says for deletion in deletions)}"
