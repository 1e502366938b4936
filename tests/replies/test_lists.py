"""A page of a list is decoded once; an item that cannot be read takes no other with it."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from jsdoctor.model.exchange import Access, Endpoint, Exchange
from jsdoctor.replies.jsz import ListPage, read_consumers, read_streams

Read = Callable[[Exchange], ListPage[Any]]

STREAM = {"config": {"name": "ORDERS"}, "state": {"messages": 3}}
CONSUMER = {"stream_name": "ORDERS", "name": "a", "config": {"sample_freq": "100"}}
LISTS = [(read_streams, "streams", STREAM), (read_consumers, "consumers", CONSUMER)]


def exchange(body: bytes) -> Exchange:
    return Exchange(Access.ACCOUNT, Endpoint.STREAM_LIST, "$JS.API.STREAM.LIST", datetime.now(UTC), 0, body)


def page(key: str, *items: object, **more: object) -> Exchange:
    return exchange(json.dumps({"total": 7, "limit": 256, key: items, **more}).encode())


@pytest.mark.parametrize(("read", "key", "item"), LISTS)
def test_an_item_that_cannot_be_read_takes_no_other_with_it(read: Read, key: str, item: object) -> None:
    result = read(page(key, item, {"config": {"name": 1}}, 5, missing=["LATE"]))
    assert len(result.items) == 1
    assert len(result.errors) == 2
    assert result.head.total == 7
    assert result.unresponsive == {"LATE"}
