"""A reply about JetStream is decoded once; what cannot be read in it takes nothing else with it."""

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from jsdoctor.model.exchange import Access, Endpoint, Exchange
from jsdoctor.replies import jsz
from jsdoctor.replies.decoding import ReplyError, decode
from jsdoctor.replies.jsz import accounts_of, read_jsz, sender_name
from jsdoctor.replies.opening import sender_of

SERVER = {"name": "n1", "id": "N1", "cluster": "C", "ver": "2.15.1"}


def consumer(name: str, **more: Any) -> dict[str, Any]:
    return {"stream_name": "ORDERS", "name": name, **more}


def stream(*consumers: dict[str, Any]) -> dict[str, Any]:
    state = {"consumer_count": len(consumers)}
    return {"name": "ORDERS", "config": {"name": "ORDERS"}, "state": state, "consumer_detail": list(consumers)}


def reply(*streams: dict[str, Any], access: Access = Access.SYSTEM) -> Exchange:
    data = {"server_id": "N1", "streams": 1, "account_details": [{"name": "APP", "stream_detail": list(streams)}]}
    whole = data if access is Access.MONITOR else {"server": SERVER, "data": data}
    return exchange(json.dumps(whole, separators=(",", ":")).encode(), access)


def exchange(body: bytes, access: Access = Access.SYSTEM) -> Exchange:
    return Exchange(access, Endpoint.JSZ, "http://h:1/jsz", datetime.now(UTC), 0, body)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"server":{"name":"n1"},"error":{"code":500,"description":"no"}}', "n1 replied: no"),
        (b'{"server":{"name":"n1"}}', "truncated"),
        (b'{"server":{"name":"n1"},"data":null}', "got `null`"),
        (b'{"server":{"name":"n1"},"data":{"stre', "truncated"),
        (b"", "truncated"),
    ],
)
def test_an_error_is_reported(body: bytes, words: str) -> None:
    with pytest.raises(ReplyError, match=words):
        read_jsz(exchange(body))
    assert accounts_of([exchange(body)]) == []
    assert sender_name(exchange(body)) == ""


def test_a_reply_is_decoded_once_and_then_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[int] = []

    def counting(body: bytes, shape: Any) -> Any:
        decoded.append(len(body))
        return decode(body, shape)

    monkeypatch.setattr(jsz, "decode", counting)
    received = reply(stream(consumer("a")))
    first = read_jsz(received)
    emptied = received.without_body()
    assert read_jsz(received) is first
    assert read_jsz(emptied) is first
    assert (emptied.body, emptied.asked_at) == (b"", received.asked_at)
    assert accounts_of([emptied])[0][1].name == "APP"
    assert sender_name(emptied) == "n1"
    assert read_jsz(emptied.of_login(1)) is first, "one of several logins"
    assert decoded == [len(received.body)]
    # What was decoded belongs to that body alone.
    assert read_jsz(msgspec.structs.replace(received, body=reply().body)) is not first


def test_the_sender_is_read_without_the_rest() -> None:
    head = b'{"server":' + json.dumps(SERVER, separators=(",", ":")).encode()
    assert sender_of(head + b',"data":{"broken').name == "n1"
    assert sender_of(reply().body).id == "N1"
    assert sender_of(b'{"data":{},"server":{"name":"n2"}}').name == "n2"
    long = json.dumps({"server": {"tags": ["x" * 20_000], "name": "n3"}}, separators=(",", ":")).encode()
    assert sender_of(long).name == "n3"
    for broken in (b"", b"No Raft nodes", b'{"server":{"name":1}}', b'{"server":{"name":"n4"'):
        assert sender_of(broken).name == ""
