"""Replies of servers that are compressed on request: real servers compress them, and a bomb takes little memory."""

import asyncio
import gzip
import json
import tracemalloc

import msgspec
import nats
import pytest
from nats.aio.msg import Msg

from jsdoctor.sources.connect.connection import Connection
from jsdoctor.sources.servers.ask import MAX_UNPACKED_BYTES, REQUEST_HEADERS, Asker, UnpacksTooLongError, unpacked
from jsdoctor.sources.servers.system import PING, SystemSource, find_servers
from tests.servers import ClusterFactory
from tests.sources.looking import NET_S, ONCE, connected, furnished

BODY = json.dumps({"server": {"name": "n1", "id": "N1"}, "data": list(range(500_000))}).encode()
PACKED = gzip.compress(BODY)


def reply(data: bytes, encoding: str = "gzip") -> Msg:
    return Msg(None, subject="a", data=data, headers={"Content-Encoding": encoding})  # type: ignore[arg-type]


@pytest.mark.parametrize("damaged", [PACKED[:-9], PACKED[: len(PACKED) // 2], b"", b"\x1f\x8b", BODY])
def test_a_damaged_reply_stays_as_it_is(damaged: bytes) -> None:
    assert unpacked(reply(damaged)) == damaged


def test_a_bomb_takes_no_more_memory_than_the_limit() -> None:
    bomb = gzip.compress(b" " * (3 * MAX_UNPACKED_BYTES), 1)
    tracemalloc.start()
    try:
        with pytest.raises(UnpacksTooLongError):
            unpacked(reply(bomb))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1.3 * MAX_UNPACKED_BYTES


@pytest.mark.real
def test_real_servers_compress(shared_cluster: ClusterFactory, server_version: str) -> None:
    cluster = furnished(shared_cluster, server_version, 3)

    async def main() -> list[tuple[int, int]]:
        client = await nats.connect(cluster.servers("sys"))
        sizes = []
        for headers in (None, REQUEST_HEADERS):
            payload = json.dumps({"accounts": True, "streams": True, "consumer": True, "config": True}).encode()
            message = await client.request(f"{PING}.JSZ", payload, timeout=NET_S, headers=headers)
            assert msgspec.json.decode(unpacked(message))["data"]["account_details"]
            sizes.append((len(message.data), len(unpacked(message))))
        await client.close()
        return sizes

    (plain, same), (packed, whole) = asyncio.run(main())
    assert plain == same
    assert 3 * packed < whole


@pytest.mark.real
def test_a_reply_that_unpacks_to_too_much_is_a_gap_of_its_server(
    shared_cluster: ClusterFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is lowered for real replies: servers of that size are too large for a test."""
    cluster = furnished(shared_cluster)
    monkeypatch.setattr("jsdoctor.sources.servers.ask.MAX_UNPACKED_BYTES", 6_000)

    async def use(connection: Connection) -> tuple[set[str], set[str], float]:
        asker = Asker(connection, 10 * NET_S)
        source = SystemSource(asker, await find_servers(asker), ONCE)
        started = asker.now_s()
        sample = await source.sample()
        took_s = asker.now_s() - started
        reasons = {gap.reason for gap in sample.gaps if gap.subject.name == "n1" and "JSZ" in gap.reason}
        return {exchange.endpoint.value for exchange in sample.exchanges}, reasons, took_s

    kept, reasons, took_s = asyncio.run(connected(cluster.servers("sys")[0], use))
    assert "JSZ" not in kept
    assert kept >= {"HEALTHZ"}
    assert [reason.partition(",")[0] for reason in reasons] == [
        f"its reply to {PING}.JSZ unpacks to more than {MAX_UNPACKED_BYTES // 1_000_000} MB"
    ]
    assert took_s < 10 * NET_S
