"""Deployments of several servers, each a function that starts it and returns when it is ready."""

from __future__ import annotations

from tests.topologies.landscape import ACCOUNTS, Landscape, gateways, leaf_listener, leaf_remotes, routed, server

HUB = ["h1", "h2", "h3"]


def single(land: Landscape, extra: str = "", accounts: str = ACCOUNTS) -> list[str]:
    """One server with JetStream."""
    land.start("n1", server("n1", accounts=accounts) + extra)
    return ["n1"]


def cluster(land: Landscape, extra: str = "", accounts: str = ACCOUNTS) -> list[str]:
    """Three servers."""
    keys = ["n1", "n2", "n3"]
    for key in keys:
        land.start(key, server(key, accounts=accounts) + routed(land, "C", key, keys) + extra)
    land.wait_meta(*keys)
    return keys


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
    for key in HUB:
        land.start(key, server(key, domain=domain) + routed(land, "HUB", key, HUB) + leaf_listener(land, key))
    land.wait_meta(*HUB)
    return HUB


def sites(land: Landscape, count: int, users: tuple[str, ...] = ("app", "sys")) -> list[str]:
    """Single servers with a domain each that are leaf nodes of the hub."""
    keys = [f"site{number}" for number in range(1, count + 1)]
    for key in keys:
        land.start(key, server(key, domain=key) + leaf_remotes(land, HUB, users))
        land.wait_leafs(key, len(users))
    return keys
