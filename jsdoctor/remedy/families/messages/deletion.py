"""The request that deletes one message."""

from __future__ import annotations

from jsdoctor.model.plan import Request

AT_MOST = 1_000
"""How many messages one step may delete."""


def deletion(stream: str, seq: int) -> Request:
    """STREAM.MSG.DELETE, without overwriting the message with noise first."""
    return Request(f"STREAM.MSG.DELETE.{stream}", {"seq": seq, "no_erase": True})
