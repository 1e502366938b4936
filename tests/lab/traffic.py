"""JetStream traffic both ways: `python -m tests.lab.traffic URL --messages N`. Prints what was stored and delivered."""

import argparse
import asyncio
import json

import nats
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import StorageType

_ATTEMPTS = 100


async def traffic(url: str, messages: int, size: int, in_flight: int, replicas: int) -> dict[str, int]:
    """Publish numbered messages, `in_flight` at a time, and have all of them delivered."""
    publisher = await nats.connect(url, connect_timeout=10, max_reconnect_attempts=_ATTEMPTS, name="lab publisher")
    subscriber = await nats.connect(url, connect_timeout=10, max_reconnect_attempts=_ATTEMPTS, name="lab subscriber")
    js = publisher.jetstream(timeout=30)
    await _created(js, replicas)
    delivered: set[int] = set()
    everything = asyncio.Event()

    async def received(message: Msg) -> None:
        await message.ack()
        delivered.add(message.metadata.sequence.stream)
        if len(delivered) == messages:
            everything.set()

    await subscriber.jetstream(timeout=30).subscribe("lab.>", durable="reader", cb=received, manual_ack=True)
    room = asyncio.Semaphore(in_flight)

    async def publish(number: int) -> None:
        async with room:
            headers = {"Nats-Msg-Id": f"lab-{number:06d}"}
            await js.publish("lab.orders", b"%06d" % number + b"." * size, timeout=30, headers=headers)

    await asyncio.gather(*(publish(number) for number in range(messages)))
    await asyncio.wait_for(everything.wait(), 60)
    state = (await js.stream_info("LAB")).state
    await publisher.close()
    await subscriber.close()
    return {"stored": state.messages, "delivered": len(delivered)}


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    for name, default in (("messages", 300), ("size", 300), ("in-flight", 8), ("replicas", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    done = asyncio.run(_connected(options))
    print(json.dumps(done))  # noqa: T201 - the lab reads it


async def _connected(options: argparse.Namespace) -> dict[str, int]:
    """Wait for the server first: it has only just been started."""
    for attempt in range(_ATTEMPTS):
        try:
            probe = await nats.connect(options.url, connect_timeout=2, allow_reconnect=False)
        except (TimeoutError, OSError, nats.errors.Error):
            if attempt == _ATTEMPTS - 1:
                raise
            await asyncio.sleep(0.1)
        else:
            await probe.close()
            break
    return await traffic(options.url, options.messages, options.size, options.in_flight, options.replicas)


async def _created(js: JetStreamContext, replicas: int) -> None:
    """Create the stream; a cluster needs a leader first."""
    for attempt in range(_ATTEMPTS):
        try:
            await js.add_stream(name="LAB", subjects=["lab.>"], storage=StorageType.MEMORY, num_replicas=replicas)
        except nats.errors.Error:
            if attempt == _ATTEMPTS - 1:
                raise
            await asyncio.sleep(0.2)
        else:
            return


if __name__ == "__main__":
    main()
