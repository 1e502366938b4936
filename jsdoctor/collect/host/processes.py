"""The nats-server processes of this host (proc(5)): their configuration, files, limits and processor time.

Only what is needed is read: never the environment of a process, which may hold logins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from jsdoctor.collect.host.volumes import volume_of
from jsdoctor.model.host import ServerProcess
from jsdoctor.model.manifest import FilePosition
from jsdoctor.parse.manifests.conf_tree import configuration
from jsdoctor.parse.manifests.server_arguments import Arguments, Word
from jsdoctor.parse.manifests.server_config import server_config
from jsdoctor.parse.manifests.tree import ManifestError

_PROC = Path("/proc")
_CGROUPS = Path("/sys/fs/cgroup")
_MAX_CONFIG_BYTES = 1 << 20
_DEFAULT_STORE = "/tmp/nats/jetstream"  # noqa: S108 - the server's default (os.TempDir)


@dataclass(frozen=True, slots=True)
class _Settings:
    name: str = ""
    jetstream: bool = False
    store_dir: str = ""


def server_processes() -> list[ServerProcess]:
    """Every nats-server that this user can see, by process number. Where two have one name, each gets its number."""
    processes = list(_servers())
    times = Counter(server.name for server in processes)
    return [
        replace(server, name=f"{server.name} (pid {server.pid})") if times[server.name] > 1 else server
        for server in processes
    ]


def _servers() -> Iterator[ServerProcess]:
    for process in sorted(_PROC.glob("[0-9]*"), key=lambda path: int(path.name)):
        if _text(process / "comm").strip() == "nats-server" and (server_process := _server(process)):
            yield server_process


def _server(process: Path) -> ServerProcess | None:
    """None for a process that has ended meanwhile."""
    words = _text(process / "cmdline").split("\0")[:-1]
    if not words:
        return None
    settings = _settings(process, words)
    store_dir = settings.store_dir or (_DEFAULT_STORE if settings.jetstream else "")
    periods, throttled = _throttled(process)
    return ServerProcess(
        name=settings.name or f"nats-server {process.name}",
        pid=int(process.name),
        store_dir=store_dir,
        volume=volume_of(process, store_dir) if store_dir else None,
        open_files=_open_files(process),
        max_open_files=_max_open_files(process),
        cpu_periods=periods,
        cpu_throttled=throttled,
    )


def _settings(process: Path, words: list[str]) -> _Settings:
    """From the arguments, and from the configuration file where it can be read: arguments win."""
    arguments = Arguments()
    place = FilePosition("arguments")
    arguments.read([Word(word, place) for word in words[1:]])
    set_ = {**_of_file(process, arguments.config), **arguments.settings}
    store_dir = _absolute(process, str(set_.get("store_dir", "")))
    return _Settings(str(set_.get("server_name", "")), bool(set_.get("jetstream")), store_dir)


def _of_file(process: Path, config: str) -> dict[str, object]:
    if not (path := _absolute(process, config)):
        return {}

    def include(of: str, name: str) -> tuple[str, str] | None:
        included = str(Path(of).parent / name)
        text = _text(_inside(process, included))
        return (included, text) if text else None

    text = _text(_inside(process, path))
    try:
        tree = configuration(path, text, include)
        return dict(server_config(tree.tree, dict(tree.missing)).settings)
    except ManifestError:
        return {}


def _absolute(process: Path, path: str) -> str:
    """A path of the process, by its working directory; empty where that cannot be read."""
    if not path or path.startswith("/"):
        return path
    try:
        return str((process / "cwd").readlink() / path)
    except OSError:
        return ""


def _inside(process: Path, path: str) -> Path:
    """A path of the process, which may have a root of its own, as in a container."""
    return Path(f"{process}/root{path}")


def _open_files(process: Path) -> int | None:
    try:
        return sum(1 for _ in (process / "fd").iterdir())
    except OSError:
        return None


def _max_open_files(process: Path) -> int | None:
    """The soft limit: `Max open files            1024                 524288               files`."""
    line = next((line for line in _text(process / "limits").splitlines() if line.startswith("Max open files")), "")
    words = line.split()
    return int(words[3]) if len(words) > 3 and words[3].isdigit() else None


def _throttled(process: Path) -> tuple[int | None, int | None]:
    """Periods of the processor limit and how many of them stopped the process, of version 2 or 1 of cgroups."""
    for line in _text(process / "cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        base = _CGROUPS / controllers if controllers else _CGROUPS
        lines = _text(Path(f"{base}{path}/cpu.stat")).splitlines()
        stat = {name: value for name, _, value in (line.partition(" ") for line in lines)}
        if stat.get("nr_periods", "0") != "0":
            return int(stat["nr_periods"]), int(stat.get("nr_throttled", 0))
    return None, None


def _text(path: Path) -> str:
    """What is in it; empty where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(_MAX_CONFIG_BYTES).decode(errors="replace")
    except OSError:
        return ""
