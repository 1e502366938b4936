"""Remedy actions on streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsdoctor.model.finding import Subject
from jsdoctor.remedy.actions import command


def stream_edit(subject: Subject, values: Mapping[str, Any], *flags: str) -> str:
    """An edit of a stream without questions.

    The CLI turns acknowledgements on with any edit unless told otherwise, so a stream that has them off
    (`values["no_ack"]`) needs `--no-ack` to stay as it is.
    """
    keep = ("--no-ack",) if values.get("no_ack") else ()
    return command("nats", "stream", "edit", subject.name, *flags, *keep, "-f")
