"""Plays what it is told on standard input, one JSON object a line, with nats-py; answers each line when it is done."""

import asyncio
import json
import sys
from collections.abc import Coroutine
from typing import Any

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.client import JetStreamContext

Step = dict[str, Any]
_ANSWERS: set[asyncio.Future[None]] = set()


async def settle(message: Msg, action: str) -> None:
    """Answer a delivery."""
    match action:
        case "nak":
            await message.nak()
        case "term":
            await message.term()
        case "progress":
            await message.in_progress()
            await message.ack()
        case "ack":
            await message.ack()


class Player:
    """Holds the connection."""

    nc: Client
    js: JetStreamContext

    def __init__(self, url: str, user: str, password: str) -> None:
        self._url, self._user, self._password = url, user, password

    async def play(self, step: Step) -> None:  # noqa: C901 - one branch for each kind of step
        """One step."""
        body = json.dumps(step["data"]).encode() if "data" in step else b""
        data = body or bytes(step.get("size", 4))
        timeout = step.get("timeout", 5000) / 1000
        match step["do"]:
            case "connect":
                user, password = step.get("user", self._user), step.get("pass", self._password)
                self.nc = await nats.connect(
                    self._url, user=user, password=password, name=step["name"], allow_reconnect=False
                )
                self.js = self.nc.jetstream()
            case "publish":
                await self.js.publish(step["subject"], data, headers=step.get("headers"), timeout=timeout)
            case "core":
                await self.nc.publish(step["subject"], data, reply=step.get("reply", ""))
            case "listen":
                await self.nc.subscribe(step["subject"], cb=_ignore)
            case "request":
                await self.nc.request(step["subject"], body, timeout=timeout)
            case "fetch":
                worker = await self.js.pull_subscribe_bind(step["consumer"], step["stream"])
                messages = await worker.fetch(step["batch"], timeout=step["expires"] / 1000)
                await asyncio.sleep(step.get("delay", 0) / 1000)
                for message in messages:
                    await settle(message, step["action"])
            case "push":
                info = await self.js.consumer_info(step["stream"], step["consumer"])

                async def callback(message: Msg) -> None:
                    loop = asyncio.get_running_loop()
                    loop.call_later(step.get("delay", 0) / 1000, _begin, settle(message, step["action"]))

                await self.js.subscribe_bind(
                    step["stream"], info.config, step["consumer"], cb=callback, manual_ack=True
                )
            case "flush":
                await self.nc.flush()
            case "close":
                await self.nc.close()


def _begin(answer: Coroutine[Any, Any, None]) -> None:
    task = asyncio.ensure_future(answer)
    _ANSWERS.add(task)
    task.add_done_callback(_ANSWERS.discard)


async def _ignore(_: Msg) -> None:
    """Nobody reads it."""


async def main() -> None:
    """Read steps until the end of input."""
    player = Player(*sys.argv[1:4])
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        step, problem = json.loads(line), ""
        for _ in range(step.get("times", 1)):
            try:
                await player.play(step)
            except Exception as error:  # noqa: BLE001 - a refused step is what most of them are about
                problem = repr(error)
        sys.stdout.write(json.dumps({"done": step["do"], "problem": problem}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
