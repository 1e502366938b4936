"""The floor of a scan: nats-py reads the same messages, headers only, and only counts them. Arguments: URL STREAM N."""

import asyncio
import json
import sys

import nats
from nats.aio.msg import Msg

_BATCH = 2_500


async def main(url: str, stream: str, messages: int) -> None:
    """Pull requests as large, and as many at once, as those of a scan; a callback that does nothing but count."""
    client = await nats.connect(url.split(","))
    done, count, asked = asyncio.Event(), 0, 0
    config = {"name": "floor", "deliver_policy": "all", "ack_policy": "none", "headers_only": True, "mem_storage": True}
    request = {"stream_name": stream, "config": config | {"inactive_threshold": 10_000_000_000}}
    await client.request(f"$JS.API.CONSUMER.CREATE.{stream}.floor", json.dumps(request).encode(), timeout=10)

    async def pull_batch() -> None:
        nonlocal asked
        asked += _BATCH
        pull = json.dumps({"batch": _BATCH, "expires": 60_000_000_000}).encode()
        await client.publish(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.floor", pull, reply=inbox.subject)

    async def on_message(_: Msg) -> None:
        nonlocal count
        count += 1
        if count >= messages:
            done.set()
        elif asked - count <= 3 * _BATCH:
            await pull_batch()

    inbox = await client.subscribe(client.new_inbox(), cb=on_message, pending_bytes_limit=0)
    for _ in range(4):
        await pull_batch()
    await done.wait()
    await client.request(f"$JS.API.CONSUMER.DELETE.{stream}.floor", b"", timeout=10)
    await client.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
