"""Arguments of nats-server: the same are known here as by the real servers."""

import subprocess
from pathlib import Path

import pytest

from jsdoctor.manifests.server_arguments import BOOLEANS, NUMBERS, TEXTS, Arguments, Word
from jsdoctor.model.manifest import FilePosition
from tests.servers import DEFAULT_VERSION, VERSIONS, server_binary

NOT_THERE = ("max_memory", "max_file", "max_payload", "domain", "routes_x", "jetstreams")
REFUSED = (["-js=maybe"], ["-m", "abc"], ["-sd"], ["-m", "52428800"], ["--port", "70000"], ["--max_file=1GB"])


@pytest.mark.parametrize(
    "version", [v if v == DEFAULT_VERSION else pytest.param(v, marks=pytest.mark.nightly) for v in VERSIONS]
)
def test_servers_know_the_same_arguments(tmp_path: Path, version: str) -> None:
    (tmp_path / "n.conf").write_text("port: -1\n")
    unknown = []
    for name in sorted(BOOLEANS | NUMBERS | TEXTS | set(NOT_THERE)):
        if name in ("signal", "sl"):
            continue  # they would signal servers of this machine
        value = "" if name in BOOLEANS else "=5" if name in NUMBERS else "=x"
        done = subprocess.run(
            [server_binary(version), f"--{name}{value}", "-c", str(tmp_path / "n.conf"), "-t"],
            capture_output=True,
            text=True,
            check=False,
            timeout=20,
        )
        if "provided but not defined" in done.stdout + done.stderr:
            unknown.append(name)
    assert unknown == sorted(NOT_THERE)


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_what_no_server_starts_with_is_a_mistake(words: list[str]) -> None:
    assert len(read(words).mistakes) == 1


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_no_server_starts_with_these(words: list[str]) -> None:
    """Usage, or a fatal error: none of them listens."""
    port = [] if words[0] == "--port" else ["-p", "-1"]
    done = subprocess.run(
        [server_binary(DEFAULT_VERSION), "-a", "127.0.0.1", *port, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    assert "Server is ready" not in done.stdout + done.stderr


def test_what_they_set() -> None:
    words = [
        "nats-server",
        "-js",
        "--sd=/data",
        "-m",
        "8222",
        "-n",
        "$(POD_NAME)",
        "--user",
        "a",
        "-D",
        "-c",
        "/n.conf",
    ]
    arguments = read(words)
    assert arguments.settings == {"jetstream": True, "store_dir": "/data", "monitoring": True, "auth": True}
    assert (arguments.config, "server_name" in arguments.unclear, arguments.mistakes) == ("/n.conf", True, [])


def read(words: list[str]) -> Arguments:
    arguments = Arguments()
    arguments.read([Word(word, FilePosition("c.yaml")) for word in words])
    return arguments
