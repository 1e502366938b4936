"""Configurations as servers sent them, unread, for what is sent back; and with users' texts withheld, for plans.

A `description` and the values of `metadata` are free text. No step needs them to decide, so they are replaced as a
whole: a password has no form by which it could be found. What has the shape of a secret goes from all other strings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from jsdoctor.model.exchange import Endpoint, Exchange
from jsdoctor.model.finding import Subject
from jsdoctor.model.typed import decode_plain
from jsdoctor.redaction.redact import scrub_line
from jsdoctor.replies.decoding import ReplyError, user_of

MARK = "[redacted:text]"
_SERVERS_OWN = ("_nats.", "io.nats.")


def without_user_texts(value: Any, key: str = "") -> Any:
    """The same value of a JSON document without texts of users. `key` is the one it stands under."""
    if key == "description":
        return MARK if value else value
    if isinstance(value, dict):
        if key == "metadata":
            return {name: text if name.startswith(_SERVERS_OWN) else MARK for name, text in value.items()}
        # In a change of a configuration, `before` and `after` are values of the key that it names.
        about = str(value.get("key", "")) if "before" in value or "after" in value else ""
        sides = {"before": about, "after": about}
        return {name: without_user_texts(inner, sides.get(name) or name) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [without_user_texts(inner) for inner in value]
    return scrub_line(value) if isinstance(value, str) else value


def is_withheld(value: Any) -> bool:
    """Whether anything in it was replaced."""
    if isinstance(value, dict):
        return any(map(is_withheld, value.values()))
    if isinstance(value, list | tuple):
        return any(map(is_withheld, value))
    return bool(value == MARK)


def agree(first: Any, second: Any) -> bool:
    """Whether two values are equal as far as neither is withheld: a text that is withheld is like any text."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(agree(first[key], second[key]) for key in first)
    if MARK in (first, second) and isinstance(first, str) and isinstance(second, str):
        return bool(first and second)
    return bool(first == second)


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
