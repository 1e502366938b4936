"""Several nats-servers that form any topology: each with a configuration of its own, all taken down together."""

import contextlib
import os
import signal
from collections.abc import Callable, Iterable
from pathlib import Path
from socket import socket
from typing import Any, Self

import httpx2

from jsdoctor.demo.server import NatsServer, free_ports
from tests.servers import server_binary, wait_until
from tests.servers.http import get

ACCOUNTS = """system_account: SYS
accounts {
  SYS: { users: [{ user: sys, password: sys }] }
  APP: { users: [{ user: app, password: app }], jetstream: enabled }
}
"""
"""The accounts that every server has unless it is told otherwise. The password is the user's name."""


class Landscape:
    """Servers by a key of the test's own: two servers may have the same `server_name`."""

    def __init__(self, directory: Path, version: str) -> None:
        """An empty landscape of servers of *version* below *directory*."""
        self.directory = directory
        self.version = version
        self._servers: dict[str, NatsServer] = {}
        self._configs: dict[str, str] = {}
        self._binaries: dict[str, Path] = {}
        self._ports: dict[str, int] = {}
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()
        for server in self._servers.values():
            server.kill()

    def keep(self, connection: socket) -> None:
        """Keep a connection open until the landscape is taken down."""
        self.closing(connection.close)

    def closing(self, close: Callable[[], None]) -> None:
        """Call that when the landscape is taken down, before its servers are."""
        self._open.callback(close)

    def port(self, name: str) -> int:
        """The port of that name: a free one, the same at every call."""
        if name not in self._ports:
            self._ports[name] = free_ports(1)[0]
        return self._ports[name]

    def start(self, key: str, config: str, version: str = "") -> None:
        """Start a server, or start one again with another configuration or version: store and ports stay."""
        before = self._servers.get(key)
        self._configs[key] = config
        self._binaries[key] = server_binary(version or self.version)
        self._servers[key] = NatsServer.start(
            self._binaries[key], config, self.directory / key, ports=before.ports if before else None
        )

    def again(self, key: str) -> None:
        """Start a server that was stopped."""
        self._servers[key] = NatsServer.start(
            self._binaries[key], self._configs[key], self.directory / key, ports=self._servers[key].ports
        )

    def node(self, key: str) -> NatsServer:
        """The process of that key."""
        return self._servers[key]

    def signal(self, key: str, number: int) -> None:
        """Send a signal: SIGUSR2 is lame duck mode, SIGSTOP suspends."""
        os.kill(self.node(key).pid, number)

    def resume(self, key: str) -> None:
        """Let a suspended server go on."""
        self.signal(key, signal.SIGCONT)

    def url(self, *keys: str, user: str = "app") -> str:
        """Client URLs of those servers, or of all, with a login: what `--server` takes."""
        servers = [self._servers[key] for key in keys or self._servers]
        return ",".join(server.url.replace("nats://", f"nats://{user}:{user}@") for server in servers)

    def monitor(self, key: str, path: str) -> Any:
        """GET on the monitoring port of one server: the decoded JSON."""
        return get(self.node(key).monitor_url + path).raise_for_status().json()

    def wait_for(self, condition: Callable[[], bool], what: str, timeout: float = 40) -> None:
        """Poll until it holds; a server that is not ready to answer counts as not yet."""

        def holds() -> bool:
            try:
                return condition()
            except (httpx2.HTTPError, KeyError):
                return False

        wait_until(holds, what, timeout=timeout)

    def wait_meta(self, *keys: str, size: int = 0) -> None:
        """Until those servers agree on a meta leader, which sees `size` (else as many as they are) current peers.

        When a cluster is first started, its meta leader may leave a server out (see `LeftOutError`): 4 of 328 starts of
        2.10.26 on a busy machine. A restart of that server brings it in, at times only the second one.
        """

        def agreed() -> bool:
            metas = {key: self.monitor(key, "/jsz")["meta_cluster"] for key in keys}
            leaders = {meta.get("leader") for meta in metas.values()}
            names = {self.monitor(key, "/varz")["server_name"]: key for key in keys}
            if len(leaders) != 1 or (leader := leaders.pop()) not in names:
                return False
            current = [peer for peer in metas[names[leader]].get("replicas") or [] if peer["current"]]
            healthy = all(get(self.node(key).monitor_url + "/healthz").is_success for key in keys)
            return len(current) + 1 >= (size or len(keys)) and healthy

        what = f"a meta leader of {', '.join(keys)}"
        for _ in range(4):
            try:
                self.wait_for(agreed, what, timeout=20)
            except TimeoutError:
                for key in self._outside(keys):
                    self.node(key).stop()
                    self.again(key)
            else:
                return
        self.wait_for(agreed, what, timeout=120)

    def _outside(self, keys: Iterable[str]) -> list[str]:
        """Those of the servers that the meta leader does not count as members; none if it does not answer."""
        names, metas = {}, {}
        for key in keys:
            with contextlib.suppress(httpx2.HTTPError, KeyError):
                names[key] = name = self.monitor(key, "/varz")["server_name"]
                metas[name] = self.monitor(key, "/jsz")["meta_cluster"]
        leader = next((name for name, meta in metas.items() if meta.get("leader") == name), None)
        if leader is None:
            return []
        members = {leader, *(peer["name"] for peer in metas[leader].get("replicas") or [])}
        return [key for key, name in names.items() if name not in members]

    def wait_leafs(self, key: str, count: int) -> None:
        """Until that server has so many leaf connections."""
        self.wait_for(lambda: int(self.monitor(key, "/varz")["leafnodes"]) >= count, f"{count} leaf connections")


def jetstream(domain: str = "", limits: str = "max_memory_store: 64M, max_file_store: 4G") -> str:
    """The JetStream block."""
    named = f", domain: {domain}" if domain else ""
    return f"jetstream {{ store_dir: store, {limits}{named} }}\n"


def server(name: str, *, domain: str = "", accounts: str = ACCOUNTS, storage: bool = True, tags: str = "") -> str:
    """Name, tags, JetStream and accounts of one server."""
    own = f"server_name: {name}\n" + (f"server_tags: [{tags}]\n" if tags else "")
    return own + (jetstream(domain) if storage else "") + accounts


def routed(land: Landscape, cluster: str, key: str, keys: list[str]) -> str:
    """The cluster block of one of `keys`."""
    urls = ", ".join(f'"nats://127.0.0.1:{land.port(f"{cluster}/{other}")}"' for other in keys)
    own = land.port(f"{cluster}/{key}")
    return f'cluster {{ name: {cluster}, listen: "127.0.0.1:{own}", routes: [{urls}] }}\n'


def gateways(land: Landscape, cluster: str, key: str, all_clusters: dict[str, list[str]]) -> str:
    """The gateway block of one server of `cluster`; `all_clusters` are the keys of each."""
    remotes = ", ".join(
        f"{{ name: {name}, urls: {_urls(land.port(f'gw/{other}') for other in keys)} }}"
        for name, keys in all_clusters.items()
    )
    return f'gateway {{ name: {cluster}, listen: "127.0.0.1:{land.port(f"gw/{key}")}", gateways: [{remotes}] }}\n'


def leaf_listener(land: Landscape, key: str) -> str:
    """The block that lets leaf nodes in."""
    return f'leafnodes {{ listen: "127.0.0.1:{land.port(f"leaf/{key}")}" }}\n'


def leaf_remotes(land: Landscape, hubs: list[str], users: tuple[str, ...] = ("app", "sys")) -> str:
    """The block of a leaf node that connects to `hubs`, once for each user's account of the same name."""
    remotes = ", ".join(
        f"{{ urls: {_urls((land.port(f'leaf/{hub}') for hub in hubs), user)}, account: {user.upper()} }}"
        for user in users
    )
    return f"leafnodes {{ remotes: [{remotes}] }}\n"


def _urls(ports: Iterable[int], user: str = "") -> str:
    login = f"{user}:{user}@" if user else ""
    return "[" + ", ".join(f'"nats://{login}127.0.0.1:{port}"' for port in ports) + "]"
