"""The configurations of streams and consumers as servers sent them, unread: what is sent back must not lose a key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from jsdoctor.model.exchange import Endpoint, Exchange
from jsdoctor.model.finding import Subject
from jsdoctor.model.typed import decode_plain
from jsdoctor.parse.replies import ReplyError, user_of

Json = dict[str, Any]
_KINDS = {Endpoint.STREAM_LIST, Endpoint.CONSUMER_LIST, Endpoint.JSZ}


def raw_configs(exchanges: Iterable[Exchange]) -> dict[Subject, Json]:
    """Configuration by stream or consumer. Of several copies the one of the leader counts. Bad replies are left out."""
    seen = list(exchanges)
    accounts = _accounts(seen)
    configs: dict[Subject, tuple[bool, Json]] = {}
    for exchange in seen:
        if exchange.endpoint not in _KINDS:
            continue
        try:
            reply = decode_plain(exchange.body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        if isinstance(reply, dict):
            for subject, info, server in _assets(exchange.endpoint, reply, accounts.get(exchange.login, "")):
                led = not server or (info.get("cluster") or {}).get("leader", server) == server
                if isinstance(info.get("config"), dict) and (led or subject not in configs):
                    configs[subject] = (led, info["config"])
    return {subject: config for subject, (_, config) in configs.items()}


def _assets(endpoint: Endpoint, reply: Json, account: str) -> Iterator[tuple[Subject, Json, str]]:
    """Each asset, and the server that responded if it is known."""
    if endpoint is Endpoint.STREAM_LIST:
        for info in _items(reply, "streams"):
            yield _stream(account, info), info, ""
    elif endpoint is Endpoint.CONSUMER_LIST:
        for info in _items(reply, "consumers"):
            yield _consumer(account, str(info.get("stream_name")), info), info, ""
    else:
        server = str((reply.get("server") or {}).get("name") or "")
        for detail in _items(reply.get("data") or {}, "account_details"):
            name = str(detail.get("name") or "")
            for info in _items(detail, "stream_detail"):
                yield _stream(name, info), info, server
                for consumer in _items(info, "consumer_detail"):
                    yield _consumer(name, str(info.get("name")), consumer), consumer, server


def _items(holder: Mapping[str, Any], key: str) -> Iterator[Json]:
    listed = holder.get(key)
    yield from (item for item in (listed if isinstance(listed, list) else ()) if isinstance(item, dict))


def _stream(account: str, info: Json) -> Subject:
    name = info.get("name") or (info.get("config") or {}).get("name")
    return Subject(kind="stream", name=str(name), account=account)


def _consumer(account: str, stream: str, info: Json) -> Subject:
    return Subject(kind="consumer", name=str(info.get("name")), account=account, stream=stream)


def _accounts(exchanges: Iterable[Exchange]) -> dict[int, str]:
    """The account of each login."""
    names: dict[int, str] = {}
    for exchange in exchanges:
        if exchange.endpoint is Endpoint.USER_INFO:
            try:
                names.setdefault(exchange.login, user_of(exchange.body).label)
            except ReplyError:
                continue
    return names
