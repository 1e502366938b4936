"""Deployments of several servers, how they are changed, and what clients do with them."""

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Coroutine
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

import nats
from nats.aio.client import Client

from tests.servers.landscape import ACCOUNTS, Landscape, gateways, leaf_listener, leaf_remotes, routed, server
from tests.support.deployment import add_consumer, add_stream
from tests.support.site import BOUNDED
from tests.support.stored import publish

T = TypeVar("T")
HUB = ["h1", "h2", "h3"]
THREE = ["n1", "n2", "n3"]


def single(land: Landscape, extra: str = "", accounts: str = ACCOUNTS) -> list[str]:
    """One server with JetStream."""
    land.start("n1", server("n1", accounts=accounts) + extra)
    return ["n1"]


def formed(land: Landscape, config: Callable[[str], str], keys: list[str] = THREE) -> list[str]:
    """Servers with these configurations that are one meta group."""
    for key in keys:
        land.start(key, config(key))
    land.wait_meta(*keys)
    return keys


def cluster(land: Landscape, extra: str = "", accounts: str = ACCOUNTS) -> list[str]:
    """Three servers."""
    return formed(land, lambda key: server(key, accounts=accounts) + routed(land, "C", key, THREE) + extra)


def upgrade(land: Landscape, key: str, keys: list[str], version: str) -> None:
    """Restart one server of `cluster` with another version."""
    land.node(key).stop()
    land.start(key, server(key) + routed(land, "C", key, keys), version)
    land.wait_meta(*keys)


def super_cluster(land: Landscape, clusters: tuple[str, ...] = ("west", "east", "north"), size: int = 1) -> list[str]:
    """Clusters of `size` servers each, connected by gateways."""
    members = {name: [f"{name}{number}" for number in range(1, size + 1)] for name in clusters}
    for name, keys in members.items():
        for key in keys:
            links = gateways(land, name, key, members)
            land.start(key, server(key) + routed(land, name, key, keys) + links)
    every = [key for keys in members.values() for key in keys]
    land.wait_meta(*every)
    return every


def hub(land: Landscape, domain: str = "hub") -> list[str]:
    """A cluster of three that lets leaf nodes in."""
    own = partial(server, domain=domain)
    return formed(land, lambda key: own(key) + routed(land, "HUB", key, HUB) + leaf_listener(land, key), HUB)


def sites(land: Landscape, count: int, users: tuple[str, ...] = ("app", "sys")) -> list[str]:
    """Single servers with a domain each that are leaf nodes of the hub."""
    keys = [f"site{number}" for number in range(1, count + 1)]
    for key in keys:
        land.start(key, server(key, domain=key) + leaf_remotes(land, HUB, users))
        land.wait_leafs(key, len(users))
    return keys


# What clients do


def do(url: str, work: Callable[[Client], Awaitable[T]], **login: Any) -> T:
    """What comes of some work with a connection."""

    async def run() -> T:
        client = await nats.connect(url.split(","), **login)
        try:
            return await work(client)
        finally:
            await client.close()

    return asyncio.run(run())


def stored(url: str, name: str, messages: int = 10, **config: object) -> None:
    """A stream with messages."""

    async def store(client: Client) -> None:
        await add_stream(client, name, **{"subjects": [name.lower()], **BOUNDED, **config})
        for _ in range(messages):
            await publish(client, name.lower(), b"x" * 100)

    do(url, store)


def furnished(land: Landscape, *assets: tuple[Any, ...]) -> None:
    """Streams `(name, config)` and consumers `(stream, name, config)`, as the API has them."""

    async def furnish(client: Client) -> None:
        for *names, config in assets:
            if len(names) == 1:
                await add_stream(client, names[0], **{"subjects": [names[0].lower()], **BOUNDED, **config})
            else:
                await add_consumer(client, *names, **config)

    do(land.url(), furnish)


def published(url: str, subject: str, count: int = 10) -> None:
    """Messages that a stream has stored."""

    async def send(client: Client) -> None:
        for _ in range(count):
            await client.request(subject, b"x" * 100, timeout=10)

    do(url, send)


def goes_on(land: Landscape, work: Callable[[threading.Event], Coroutine[Any, Any, None]]) -> None:
    """Let clients work in a thread of their own until the landscape is taken down."""
    end = threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(work(end)), daemon=True)
    thread.start()

    def stop() -> None:
        end.set()
        thread.join(20)

    land.closing(stop)


async def until(end: threading.Event, url: str, work: Callable[[Client], Coroutine[Any, Any, None]]) -> None:
    """Let a client work again and again, whether or not it succeeds."""
    client = await nats.connect(url.split(","))
    try:
        while not end.is_set():
            with contextlib.suppress(Exception):
                await work(client)
    finally:
        await client.close()


class Application:
    """The log of an application of that name, as Python's `logging` writes it."""

    def __init__(self, land: Landscape, name: str) -> None:
        directory = land.directory / "applications"
        directory.mkdir(exist_ok=True)
        self._path = directory / f"{name}.log"

    def log(self, level: str, text: str) -> None:
        now = datetime.now(UTC)
        with self._path.open("a", encoding="utf-8") as log:
            log.write(f"{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03d} {level} {text}\n")
