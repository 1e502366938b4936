"""What really happens when servers stop: publishers, consumers and the meta group, as clients of the others see it."""

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise

import nats
from nats.aio.client import Client

from tests.support.deployment import api

PATIENCE_S = 20.0
"""Elections take four to nine seconds: what does not work after this time has stopped."""
_LEAST_S = 5.0
_GRACE_S = 1.0


@dataclass
class Drill:
    """The streams and consumers to watch: subject by stream, and `stream/durable` of pull consumers.

    `creates`: a stream is made while the servers are down, which needs the meta group.
    """

    subjects: dict[str, str] = field(default_factory=dict)
    durables: tuple[str, ...] = ()
    creates: bool = True


@dataclass
class Outcome:
    """`stopped`: what did not work again while the servers were down. `lost`: acknowledged messages that are gone.

    `pauses`: the longest time without an acknowledgement or a message, in seconds.
    """

    stopped: set[str] = field(default_factory=set)
    lost: dict[str, int] = field(default_factory=dict)
    pauses: dict[str, float] = field(default_factory=dict)

    @property
    def hurt(self) -> bool:
        """Whether something was lost or stopped."""
        return bool(self.stopped or self.lost)


class _Track:
    """When something worked, and the newest sequence that was acknowledged."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.newest = 0

    def worked(self) -> None:
        self.times.append(time.monotonic())

    def works(self, down: float) -> bool:
        """Whether it works since the servers are down, and did a moment ago."""
        return bool(self.times) and self.times[-1] > max(down + 2.0, time.monotonic() - 3.0)


async def _publish(client: Client, subject: str, track: _Track, over: asyncio.Event) -> None:
    while not over.is_set():
        with contextlib.suppress(nats.errors.Error, asyncio.TimeoutError):
            ack = json.loads((await client.request(subject, b"x" * 200, timeout=1)).data)
            if "seq" in ack:
                track.worked()
                track.newest = max(track.newest, ack["seq"])
        await asyncio.sleep(0.02)


async def _consume(client: Client, place: str, track: _Track, over: asyncio.Event) -> None:
    stream, durable = place.split("/")
    wanted = json.dumps({"batch": 1, "expires": 900_000_000}).encode()
    inbox = client.new_inbox()
    subscription = await client.subscribe(inbox)
    while not over.is_set():
        await client.publish(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{durable}", wanted, reply=inbox)
        with contextlib.suppress(nats.errors.Error, asyncio.TimeoutError):
            message = await subscription.next_msg(timeout=1)
            if not (message.headers or {}).get("Status") and message.reply:
                track.worked()
                await message.respond(b"+ACK")
                continue
        await asyncio.sleep(0.02)


async def _change(client: Client, streams: Iterable[str], track: _Track, over: asyncio.Event) -> None:
    """Propose changes to the meta group: a stream is made, else the description of one that is there changes.

    2.10.26 and 2.12.8 place new streams with one copy on a killed server for more than 45 s: their creation gets no
    reply, and the meta group goes on with everything else.
    """
    known = [(await api(client, f"STREAM.INFO.{stream}"))["config"] for stream in streams]
    number = 0
    while not over.is_set():
        number += 1
        new = {"name": f"DRILL{number}", "subjects": [f"drill.{number}"], "storage": "memory"}
        for subject, config in (
            (f"CREATE.DRILL{number}", new),
            *((f"UPDATE.{old['name']}", {**old, "description": f"{number}"}) for old in known),
        ):
            with contextlib.suppress(nats.errors.Error, asyncio.TimeoutError):
                body = json.dumps(config).encode()
                made = json.loads((await client.request(f"$JS.API.STREAM.{subject}", body, timeout=1)).data)
                if "error" not in made:
                    track.worked()
                    break
        await asyncio.sleep(0.3)


async def drilled(
    urls: Iterable[str],
    drill: Drill,
    stop: Callable[[], None],
    back: Callable[[], None],
    afterwards: Iterable[str] = (),
) -> Outcome:
    """Stop the servers while clients on `urls`, which stay, go on; then start them and count what was lost.

    `afterwards`: where the streams can be read then, if not there.
    """
    client = await nats.connect(list(urls), max_reconnect_attempts=-1)
    tracks = {name: _Track() for name in (*drill.subjects, *drill.durables)}
    over = asyncio.Event()
    works = [_publish(client, subject, tracks[stream], over) for stream, subject in drill.subjects.items()]
    works += [_consume(client, place, tracks[place], over) for place in drill.durables]
    if drill.creates:
        works.append(_change(client, drill.subjects, tracks.setdefault("meta group", _Track()), over))
    tasks = [asyncio.create_task(work) for work in works]
    outcome = Outcome()
    try:
        await asyncio.sleep(_GRACE_S)
        began = time.monotonic()
        await asyncio.to_thread(stop)
        outcome.stopped = await _stopped(tracks)
        for name, track in tracks.items():
            times = [began, *(at for at in track.times if at > began), time.monotonic()]
            outcome.pauses[name] = max(later - earlier for earlier, later in pairwise(times))
    finally:
        over.set()  # Python 3.11 loses a cancellation that comes as a wait ends
        await asyncio.gather(*tasks, return_exceptions=True)
    await client.close()
    try:
        await asyncio.to_thread(back)
    except TimeoutError as error:
        outcome.stopped.add(f"after the return: {error}")
    reader = await nats.connect(list(afterwards) or list(urls), max_reconnect_attempts=-1)
    try:
        outcome.lost = await _lost(reader, drill, tracks)
    finally:
        await reader.close()
    return outcome


async def _stopped(tracks: dict[str, _Track]) -> set[str]:
    """What does not work again, once everything does or the patience ends."""
    down = time.monotonic()
    while (now := time.monotonic()) < down + PATIENCE_S:
        await asyncio.sleep(0.2)
        if now > down + _LEAST_S and all(track.works(down) for track in tracks.values()):
            break
    return {name for name, track in tracks.items() if not track.works(down)}


async def _lost(client: Client, drill: Drill, tracks: dict[str, _Track]) -> dict[str, int]:
    """The number of acknowledged messages that each stream does not have; consumers may have taken some away."""
    lost = {}
    for stream in drill.subjects:
        state = (await api(client, f"STREAM.INFO.{stream}", attempts=100))["state"]
        missing = tracks[stream].newest - state["last_seq"]
        if not any(place.startswith(f"{stream}/") for place in drill.durables):
            missing = max(missing, tracks[stream].newest - state["messages"])
        if missing > 0:
            lost[stream] = missing
    return lost
