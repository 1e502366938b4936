"""A real JetStream deployment of one server or of three, on free local ports, always taken down again."""

import contextlib
import os
import shutil
import signal
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, Self

import httpx2

from jsdoctor.demo.errors import ServerStartError
from jsdoctor.demo.server import NatsServer, Ports, free_ports
from tests.servers.binaries import DEFAULT_VERSION, server_binary
from tests.servers.http import get
from tests.servers.waiting import wait_until

LIMITS = "max_memory_store: 256M\n  max_file_store: 2G"
_LAUNCH_ATTEMPTS = 5


class LeftOutError(TimeoutError):
    """A new cluster left a server out of its meta group, until that server is restarted.

    A meta leader that has heard of all servers, and not yet that each has JetStream, takes the others for servers
    without it (server: checkClusterSize). 2.10.26 does so, at 13 of 270 starts on a busy machine.
    """


class ClusterFactory(Protocol):
    """What the fixtures `cluster_factory` and `shared_cluster` are; the options are those of `Cluster.launch`."""

    def __call__(self, version: str = ..., nodes: int = ..., **options: Any) -> "Cluster": ...


class Cluster:
    """One server (`nodes=1`) or a JetStream cluster, with accounts SYS, APP and, on request, OTHER."""

    def __init__(self, binary: Path, directory: Path, configs: Mapping[str, str], name: str | None) -> None:
        """Prepare the nodes of *configs* (node name to configuration text). Callers use `launch`."""
        self.name = name
        self.directory = directory
        self._binary = binary
        self._configs = dict(configs)
        self._servers: dict[str, NatsServer] = {}
        self._paused: set[str] = set()

    @classmethod
    def launch(
        cls,
        directory: Path,
        version: str = DEFAULT_VERSION,
        nodes: int = 1,
        *,
        extra_config: str = "",
        jetstream: str = LIMITS,
        app_account: str = "",
        accounts: str = "",
        node_config: Callable[[str], str] | None = None,
        route_port: Callable[[str, int], int] | None = None,
    ) -> Self:
        """Start *nodes* servers below *directory* and return when the deployment is ready for JetStream.

        `route_port` gives the port of a proxy in front of a node's routes, from its name and its own port.
        """
        binary = server_binary(version)
        for attempt in range(1, _LAUNCH_ATTEMPTS + 1):
            name = f"C-{uuid.uuid4().hex[:8]}" if nodes > 1 else None
            names = [f"n{number}" for number in range(1, nodes + 1)]
            routes = dict(zip(names, free_ports(nodes), strict=True)) if name else {}
            shared = _accounts(app_account, accounts) + extra_config
            reached = {node: route_port(node, own) if route_port else own for node, own in routes.items()}
            configs = {
                node: _node(node, jetstream)
                + _routes(node, name, routes, reached)
                + shared
                + (node_config(node) if node_config else "")
                for node in names
            }
            cluster = cls(binary, directory, configs, name)
            try:
                cluster._launch_all()
            except BaseException as error:
                cluster.close()
                cluster._set_aside(directory.with_name(f"{directory.name}-attempt-{attempt}"))
                # Another program was faster to a port, or took the port of a route and let nobody in; or a server
                # was left out.
                taken = isinstance(error, ServerStartError) and "address already in use" in str(error)
                if not (taken or isinstance(error, TimeoutError)) or attempt == _LAUNCH_ATTEMPTS:
                    raise
            else:
                return cluster
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _launch_all(self) -> None:
        for node in self._configs:
            self.start(node, wait=False)
        if self.name:
            wait_until(self._is_whole, "a meta leader with all peers current", timeout=90)
        self.wait_ready()

    def _set_aside(self, directory: Path) -> None:
        """Move what a failed start left to `directory`. Stores are emptied where they are: one may be a mount."""
        for node in self._configs:
            for left in self.store_dir(node).glob("*"):
                shutil.rmtree(left) if left.is_dir() else left.unlink()
            for file in [path for path in (self.directory / node).glob("*") if path.is_file()]:
                (directory / node).mkdir(parents=True, exist_ok=True)
                file.rename(directory / node / file.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def names(self) -> list[str]:
        """Every node's name, running or not."""
        return list(self._configs)

    @property
    def urls(self) -> list[str]:
        """Every node's client URL, without credentials."""
        return [server.url for server in self._servers.values()]

    @property
    def monitor_urls(self) -> list[str]:
        """Every node's monitoring URL."""
        return [server.monitor_url for server in self._servers.values()]

    def servers(self, user: str = "app") -> list[str]:
        """Client URLs with *user* (app, sys, other) and its password, which is the same word."""
        return [url.replace("nats://", f"nats://{user}:{user}@") for url in self.urls]

    def url(self, user: str = "app") -> str:
        """The same as one comma-separated string, as command lines take it."""
        return ",".join(self.servers(user))

    def node(self, name: str) -> NatsServer:
        """The server process of *name*, running or not."""
        return self._servers[name]

    def store_dir(self, name: str) -> Path:
        """Where *name* keeps its streams."""
        return self.directory / name / "store"

    def monitor(self, name: str, path: str) -> Any:
        """GET *path* (`/jsz?streams=true`) on the monitoring port of *name*: the decoded JSON."""
        return get(self.node(name).monitor_url + path).raise_for_status().json()

    def meta_leader(self) -> str | None:
        """Name of the meta leader on which all running nodes agree, None while they do not."""
        leaders = {self._meta(node).get("leader") for node in self._running()}
        return leaders.pop() if len(leaders) == 1 else None

    def start(self, name: str, *, wait: bool = True, through: Callable[[Path], Path] | None = None) -> None:
        """Start *name*, after a kill or stop with the same store and ports; then wait for a healthy deployment.

        `through` gives the executable to start instead of the server's own: one that starts it in another way.
        """
        before = self._servers.get(name)
        ports: Ports | None = before.ports if before else None
        binary = through(self._binary) if through else self._binary
        self._servers[name] = NatsServer.start(binary, self._configs[name], self.directory / name, ports=ports)
        self._paused.discard(name)
        if wait:
            self.wait_ready()

    def stop(self, name: str) -> None:
        """Shut *name* down cleanly."""
        self.node(name).stop()

    def kill(self, name: str) -> None:
        """Kill *name* (SIGKILL), as a crash does."""
        self.node(name).kill()

    def pause(self, name: str) -> None:
        """Suspend *name* (SIGSTOP): its connections stay open and nothing answers."""
        os.kill(self.node(name).pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.node(name).pid, os.WSTOPPED)  # it answers until all its threads have stopped
        self._paused.add(name)

    def resume(self, name: str) -> None:
        """Let a suspended *name* go on."""
        os.kill(self.node(name).pid, signal.SIGCONT)
        self._paused.discard(name)

    def wait_ready(self, timeout: float = 90.0) -> None:
        """Wait until the running nodes agree on a meta leader, its peers are current, and every node is healthy."""
        if self.name:
            wait_until(self._meta_is_current, "a meta leader with all running peers current", timeout=timeout)
        # Only now: a failed health check leaves a warning in the server's log, which a test may want to read.
        for node in self._running():
            wait_until(lambda node=node: self._healthy(node), f"{node} to be healthy", timeout=timeout)  # type: ignore[misc]

    def close(self) -> None:
        """Take every node down. Nothing of a test's deployment is worth a clean shutdown."""
        for server in self._servers.values():
            server.kill()

    def _running(self) -> list[str]:
        return [name for name, server in self._servers.items() if server.running and name not in self._paused]

    def _meta(self, node: str) -> dict[str, Any]:
        """Of a server that has just been started, and does not listen yet, nothing is known."""
        with contextlib.suppress(httpx2.HTTPError):
            meta = self.monitor(node, "/jsz").get("meta_cluster")
            return meta if isinstance(meta, dict) else {}
        return {}

    def _meta_is_current(self) -> bool:
        leader, running = self.meta_leader(), self._running()
        if leader not in running:
            return False
        meta = self._meta(leader)
        current = {peer["name"] for peer in meta.get("replicas", []) if peer["current"] and not peer.get("offline")}
        # A leader that lost its quorum goes on calling itself leader for seconds: count the peers, too.
        return current >= set(running) - {leader} and 2 * len(running) > meta.get("cluster_size", len(self.names))

    def _is_whole(self) -> bool:
        """Whether the meta group of a new cluster has all servers and is current. Raises LeftOutError."""
        if leader := self.meta_leader():
            size = self._meta(leader).get("cluster_size", len(self.names))
            if size < len(self.names):
                raise LeftOutError(f"the meta group has {size} of {len(self.names)} servers")
        return self._meta_is_current()

    def _healthy(self, node: str) -> bool:
        with contextlib.suppress(httpx2.HTTPError):
            return get(self.node(node).monitor_url + "/healthz").is_success
        return False


def _node(name: str, jetstream: str) -> str:
    return f"server_name: {name}\njetstream {{\n  store_dir: store\n  {jetstream}\n}}\n"


def _accounts(app_account: str, more: str) -> str:
    def account(name: str, body: str) -> str:
        user = name.lower()
        return f"  {name}: {{ users: [{{ user: {user}, password: {user} }}]\n{body}\n  }}\n"

    jetstream = "" if "jetstream" in app_account else "jetstream: enabled\n"
    accounts = account("SYS", "") + account("APP", jetstream + app_account) + more
    return f"system_account: SYS\naccounts {{\n{accounts}}}\n"


def _routes(node: str, cluster: str | None, ports: Mapping[str, int], reached: Mapping[str, int]) -> str:
    """`ports`: where each node listens. `reached`: where the others reach it, a proxy's port where there is one."""
    if cluster is None:
        return ""
    urls = ", ".join(f'"nats://127.0.0.1:{port}"' for port in reached.values())
    advertise = "" if reached[node] == ports[node] else f'  advertise: "127.0.0.1:{reached[node]}"\n'
    listen = f'  listen: "127.0.0.1:{ports[node]}"\n'
    return f"cluster {{\n  name: {cluster}\n{listen}{advertise}  routes: [{urls}]\n}}\n"


@contextlib.contextmanager
def cluster_factories(directory: Path, *, reuse: bool = False) -> Iterator[ClusterFactory]:
    """A factory that launches below *directory*; leaving the context closes whatever it launched.

    With `reuse`, equal arguments give the deployment that runs already.
    """
    launched: dict[tuple[object, ...], Cluster] = {}
    with contextlib.ExitStack() as running:

        def launch(version: str = DEFAULT_VERSION, nodes: int = 1, **options: Any) -> Cluster:
            number = 0 if reuse else len(launched)
            key = (number, version, nodes, *sorted(options.items()))
            if key not in launched:
                home = directory / f"deployment-{len(launched) + 1}"
                launched[key] = running.enter_context(Cluster.launch(home, version, nodes, **options))
            return launched[key]

        yield launch
