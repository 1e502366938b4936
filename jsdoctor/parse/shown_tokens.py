"""Tokens that servers show as the name of a user: before 2.11.2, CONNZ gives the token of a login by token there.

Names and tokens cannot be distinguished there, so on those versions all of them are removed. Measured on 2.10.26;
2.11.2 shows none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from jsdoctor.model.exchange import Access, Endpoint, Exchange, Sample
from jsdoctor.parse.opening import monitor_base
from jsdoctor.parse.replies import ReplyError, SystemEnvelope, decode

_FIXED_IN = (2, 11, 2)
_LISTS = (Endpoint.CONNZ, Endpoint.CONNZ_CLOSED)
_USER = re.compile(rb'("authorized_user"\s*:\s*)"(?:[^"\\]|\\.)*"')
_MARK = rb'\1"[redacted:login]"'
_NUMBERS = re.compile(r"(\d+)\.(\d+)\.(\d+)")


class _Version(msgspec.Struct, frozen=True):
    version: str = ""


def hide_shown_tokens(samples: Sequence[Sample]) -> tuple[tuple[Sample, ...], int]:
    """The samples without the users of such servers' connections, and how many those were."""
    versions = _monitored_versions(samples)
    hidden = 0

    def clean(exchange: Exchange) -> Exchange:
        nonlocal hidden
        if exchange.endpoint not in _LISTS or _is_fixed(_version(exchange, versions)):
            return exchange
        body, count = _USER.subn(_MARK, exchange.body)
        hidden += count
        return msgspec.structs.replace(exchange, body=body)

    kept = tuple(msgspec.structs.replace(s, exchanges=tuple(map(clean, s.exchanges))) for s in samples)
    return kept, hidden


def _version(exchange: Exchange, monitored: dict[str, str]) -> str:
    if exchange.access is Access.MONITOR:
        return monitored.get(monitor_base(exchange.target), "")
    try:
        return decode(exchange.body, SystemEnvelope).server.ver
    except ReplyError:
        return ""


def _monitored_versions(samples: Iterable[Sample]) -> dict[str, str]:
    versions: dict[str, str] = {}
    for exchange in (exchange for sample in samples for exchange in sample.exchanges):
        if exchange.access is Access.MONITOR and exchange.endpoint is Endpoint.VARZ:
            try:
                versions[monitor_base(exchange.target)] = decode(exchange.body, _Version).version
            except ReplyError:
                continue
    return versions


def _is_fixed(version: str) -> bool:
    numbers = _NUMBERS.match(version)
    return numbers is not None and tuple(map(int, numbers.groups())) >= _FIXED_IN
