"""The floor of a check: the replies of the same servers to the same requests, and nothing else. Arguments: URL SAMPLES.

A client of bare nats-py sends what a check with a login of the system account sends (docs/collection.md) and throws the
bodies away, packed as they are. Left out are requests for the clocks, which spread over a fifth of a second. Prints how
many replies there were, and their bytes.
"""

import asyncio
import json
import sys

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg

PING = "$SYS.REQ.SERVER.PING"
_QUIET_S = 0.5
_TIMEOUT_S = 60.0
Options = dict[str, object]
_ASSETS: Options = {"accounts": True, "limit": 1 << 30, "streams": True, "config": True, "consumer": True}
_CONNECTIONS: Options = {"auth": True, "limit": 10_000}
_CLOSED: Options = _CONNECTIONS | {"state": 1, "sort": "stop"}
_ONCE: tuple[tuple[str, Options], ...] = (
    ("HEALTHZ", {"details": True}),
    ("CONNZ", _CONNECTIONS),
    ("CONNZ", _CLOSED),
    ("ACCOUNTZ", {}),
)
_ALWAYS: tuple[tuple[str, Options], ...] = (
    ("JSZ", _ASSETS),
    ("VARZ", {}),
    ("GATEWAYZ", {}),
    ("LEAFZ", {}),
    ("ROUTEZ", {}),
)
_ACCOUNTS = ("", "APP")
"""Whose Raft groups a check of the benchmark's cluster requests, after JSZ has named the accounts."""


async def main(url: str, samples: int) -> tuple[int, int]:
    """How many replies there were, and of how many bytes, as they came over the wire."""
    client = await nats.connect(url.split(","))
    taken: list[int] = []
    servers = await _servers(client, taken)

    async def ask(endpoint: str, options: Options) -> None:
        replies = await _everyone(client, f"{PING}.{endpoint}", json.dumps(options).encode(), servers)
        taken.extend(map(len, replies))

    async def assets() -> None:
        await ask(*_ALWAYS[0])
        await asyncio.gather(*(ask("RAFTZ", {"account": name} if name else {}) for name in _ACCOUNTS))

    for number in range(samples):
        others = [*_ALWAYS[1:], *(() if number else _ONCE)]
        await asyncio.gather(assets(), *(ask(*other) for other in others))
    await client.close()
    return len(taken), sum(taken)


async def _servers(client: Client, taken: list[int]) -> int:
    """As many as reply to a request to all, of those that the replies count."""
    inbox = await client.subscribe(client.new_inbox())
    await client.publish(PING, b"", reply=inbox.subject)
    count = 0
    known = 1
    while count < known:
        reply = await inbox.next_msg(timeout=_TIMEOUT_S if count == 0 else _QUIET_S)
        taken.append(len(reply.data))
        known = max(known, int(json.loads(reply.data)["statsz"]["active_servers"]))
        count += 1
    await inbox.unsubscribe()
    return count


async def _everyone(client: Client, subject: str, payload: bytes, servers: int) -> list[bytes]:
    inbox = await client.subscribe(client.new_inbox(), pending_bytes_limit=0)
    await client.publish(subject, payload, reply=inbox.subject, headers={"Accept-Encoding": "gzip"})
    replies: list[Msg] = [await inbox.next_msg(timeout=_TIMEOUT_S) for _ in range(servers)]
    await inbox.unsubscribe()
    return [reply.data for reply in replies]


if __name__ == "__main__":
    print(*asyncio.run(main(sys.argv[1], int(sys.argv[2]))))
