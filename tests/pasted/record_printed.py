"""`python -m tests.pasted.record_printed DIRECTORY`: what clients print of a consumer at its limit (fixtures/pasted).

DIRECTORY has tests/clients/js with its packages installed (`npm ci`). Each file has the reply of one request as nats.js
(`js_`) or nats.py (`py_`) prints it, and as the server sends it (`.json`).
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import nats
from nats.js.api import ConsumerConfig, StreamConfig

from tests.servers.cluster import Cluster
from tests.support.evidence import FIXTURES

PRINTED = FIXTURES / "pasted" / "printed"
REQUESTS = {
    "consumer": "CONSUMER.INFO.ORDERS.billing",
    "consumers": "CONSUMER.LIST.ORDERS",
    "stream": "STREAM.INFO.ORDERS",
    "account": "INFO",
}
PAST_ACK_WAIT_S = 3


async def record(url: str, programs: Path) -> None:
    """Let a worker take all messages that it may without an acknowledgement, and write what each client prints."""
    client = await nats.connect(url)
    js = client.jetstream()
    await js.add_stream(
        StreamConfig("ORDERS", subjects=["orders.>"], max_age=86_400, max_bytes=10 << 20, metadata={"of": "a'b"})
    )
    await js.add_consumer(
        "ORDERS",
        ConsumerConfig(
            durable_name="billing", ack_wait=1, max_ack_pending=50, filter_subjects=["orders.a", "orders.b"]
        ),
    )
    await js.add_consumer("ORDERS", ConsumerConfig(durable_name="audit", backoff=[1, 5], max_deliver=3))
    for _ in range(200):
        await js.publish("orders.a", b"x")
    worker = await js.pull_subscribe_bind(durable="billing", stream="ORDERS")
    await worker.fetch(50)
    await asyncio.sleep(PAST_ACK_WAIT_S)
    printed = {
        "consumer": await js.consumer_info("ORDERS", "billing"),
        "consumers": await js.consumers_info("ORDERS"),
        "stream": await js.stream_info("ORDERS"),
        "account": await js.account_info(),
    }
    for name, request in REQUESTS.items():
        reply = json.loads((await client.request(f"$JS.API.{request}")).data)
        (PRINTED / f"{name}.json").write_text(json.dumps(reply, indent=2) + "\n", "utf-8")
        (PRINTED / f"py_{name}.txt").write_text(f"{printed[name]!r}\n", "utf-8")
        command = ["node", str(programs / "show.mjs"), url, name]
        shown = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=True)
        (PRINTED / f"js_{name}.txt").write_text(shown.stdout, "utf-8")
    await client.close()


def main() -> None:
    """Start a server and record."""
    PRINTED.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, Cluster.launch(Path(scratch)) as cluster:
        asyncio.run(record(cluster.url("app"), Path(sys.argv[1])))


if __name__ == "__main__":
    main()
