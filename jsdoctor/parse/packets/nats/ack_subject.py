"""The reply subject of a JetStream delivery, which says what is delivered: `$JS.ACK.…`.

Nine tokens: `$JS.ACK.STREAM.CONSUMER.DELIVERED.STREAM_SEQ.CONSUMER_SEQ.TIME.PENDING`; eleven or more with domain and
hash of the account before the stream (feature flag js_ack_fc_v2). Between servers `@SUBJECT` follows.
Source: nats-server consumer.go (ackReply), route.go.
"""

from __future__ import annotations

from typing import NamedTuple

PREFIX = b"$JS.ACK."
_SHORT, _LONG = 9, 11
_MAX_DIGITS = 19
"""More digits do not fit into 64 bits: the subject is damaged, or not one of the server."""


class Delivered(NamedTuple):
    """What a delivery says of itself. `delivered` counts attempts from 1; `stored_ns` is the server's clock."""

    domain: bytes
    account_hash: bytes
    stream: bytes
    consumer: bytes
    delivered: int
    stream_seq: int
    consumer_seq: int
    stored_ns: int


def delivered(reply: bytes) -> Delivered | None:
    """The delivery that this reply subject belongs to, or None."""
    tokens = reply.split(b".")
    if len(tokens) == _SHORT or (len(tokens) > _SHORT and b"@" in tokens[_SHORT - 1]):
        return _told(b"", b"", tokens[2:])
    if len(tokens) >= _LONG:
        domain = b"" if tokens[2] == b"_" else tokens[2]
        return _told(domain, tokens[3], tokens[4:])
    return None


def _told(domain: bytes, account_hash: bytes, tokens: list[bytes]) -> Delivered | None:
    stream, consumer, count, stream_seq, consumer_seq, stored_ns = tokens[:6]
    if not (count.isdigit() and stream_seq.isdigit() and consumer_seq.isdigit() and stored_ns.isdigit()):
        return None
    if max(len(count), len(stream_seq), len(consumer_seq), len(stored_ns)) > _MAX_DIGITS:
        return None
    return Delivered(
        domain, account_hash, stream, consumer, int(count), int(stream_seq), int(consumer_seq), int(stored_ns)
    )
