"""A page of a list is decoded once; an item that cannot be read takes no other with it."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from jsdoctor.model.exchange import Access, Endpoint, Exchange
from jsdoctor.parse import lists
from jsdoctor.parse.lists import ListPage, read_consumers, read_streams
from jsdoctor.parse.replies import ReplyError, decode

Read = Callable[[Exchange], ListPage[Any]]

STREAM = {"config": {"name": "ORDERS"}, "state": {"messages": 3}}
CONSUMER = {"stream_name": "ORDERS", "name": "a", "config": {"sample_freq": "100"}}
LISTS = [(read_streams, "streams", STREAM), (read_consumers, "consumers", CONSUMER)]


def exchange(body: bytes) -> Exchange:
    return Exchange(Access.ACCOUNT, Endpoint.STREAM_LIST, "$JS.API.STREAM.LIST", datetime.now(UTC), 0, body)


def page(key: str, *items: object, **more: object) -> Exchange:
    return exchange(json.dumps({"total": 7, "limit": 256, key: items, **more}).encode())


@pytest.mark.parametrize(("read", "key", "item"), LISTS)
def test_all_of_a_page_is_read(read: Read, key: str, item: object) -> None:
    result = read(page(key, item, missing=["LATE"], offline={"OFF": "why"}))
    assert (result.head.total, result.head.limit) == (7, 256)
    assert len(result.items) == 1
    assert result.unresponsive == {"LATE", "OFF"}
    assert result.errors == ()


@pytest.mark.parametrize(("read", "key", "item"), LISTS)
def test_an_item_that_cannot_be_read_takes_no_other_with_it(read: Read, key: str, item: object) -> None:
    result = read(page(key, item, {"config": {"name": 1}}, 5, missing=["LATE"]))
    assert len(result.items) == 1
    assert len(result.errors) == 2
    assert result.head.total == 7
    assert result.unresponsive == {"LATE"}


@pytest.mark.parametrize(("read", "key", "item"), LISTS)
def test_a_list_may_have_no_items_or_be_an_error(read: Read, key: str, item: object) -> None:
    assert item
    assert read(exchange(json.dumps({"total": 0, key: None}).encode())).items == ()
    refused = read(exchange(b'{"error":{"code":503,"err_code":10008,"description":"no"}}'))
    assert refused.head.error is not None
    assert refused.head.error.err_code == 10008
    for body in (b"", b'{"total":"many"}', b"[]"):
        with pytest.raises(ReplyError):
            read(exchange(body))


@pytest.mark.parametrize(("read", "key", "item"), LISTS)
def test_a_page_is_decoded_once_and_then_not_needed(
    monkeypatch: pytest.MonkeyPatch, read: Read, key: str, item: object
) -> None:
    decoded: list[int] = []

    def counting(body: bytes, shape: Any) -> Any:
        decoded.append(len(body))
        return decode(body, shape)

    monkeypatch.setattr(lists, "decode", counting)
    received = page(key, item)
    first = read(received)
    assert read(received) is first
    assert read(received.without_body()) is first
    assert decoded == [len(received.body)]
