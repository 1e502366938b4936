"""docs/peers.md is what its data and the rule pages say, and its data is what the real nats command says of itself."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import nats
import pytest

from jsdoctor.checks.consumer_lag.metadata_threshold import KEYS as CONSUMER_KEYS
from jsdoctor.checks.stream_limits.metadata_threshold import KEYS as STREAM_KEYS
from tests.servers import ClusterFactory
from tests.support.deployment import add_consumer, add_stream
from tests.support.ruleset import rules
from tools.peers_page import PAGE, load_peers, page

PEERS = load_peers()
BOOK = {rule.code: rule for rule in rules()}
COMMANDS = list(dict.fromkeys(entry.command for entry in PEERS.check))
HELP_FLAGS = re.compile(r"^Flags:\n(.*?)\n\n", re.MULTILINE | re.DOTALL)
FLAG = re.compile(r"^ {2,6}(?:-\w, )?--(?:\[no-\])?(?P<name>[\w-]+)(?:=(?P<value>\S+))?", re.MULTILINE)


def output(nats_cli: Path, *words: str) -> str:
    return subprocess.run([nats_cli, "--no-context", *words], capture_output=True, text=True, check=True).stdout


def test_the_page_is_what_the_generator_writes() -> None:
    assert PAGE.read_text("utf-8") == page(), "run python -m tools.peers_page"


def test_every_rule_named_is_there_or_planned() -> None:
    for entry in PEERS.entries():
        for reference in entry.ours:
            code, _, param = reference.partition(".")
            assert code in BOOK or code in PEERS.planned, entry
            if param and param != "*":
                assert param in BOOK[code].params, f"{reference}: {entry}"


@pytest.mark.parametrize(
    ("command", "code", "keys"), [("stream", "JSD608", STREAM_KEYS), ("consumer", "JSD415", CONSUMER_KEYS)]
)
def test_every_metadata_key_is_an_option_there_and_a_parameter_here(
    command: str, code: str, keys: dict[str, Any]
) -> None:
    options = {entry.option.removeprefix("--") for entry in PEERS.check if entry.command == command}
    assert set(keys) == options - {"stream", "consumer"}
    assert set(BOOK[code].params) == {key.replace("-", "_") for key in keys}
    assert all(param.default is None for param in BOOK[code].params.values())


def test_the_real_command_has_these_checks(nats_cli: Path) -> None:
    assert output(nats_cli, "--version").strip() == PEERS.nats_version
    listed = json.loads(output(nats_cli, "audit", "checks", "--json"))
    theirs = {
        check["code"]: (check["name"], {key: option["default"] for key, option in check["configuration"].items()})
        for check in listed
    }
    assert theirs == {check.code: (check.name, check.defaults) for check in PEERS.audit}
    assert len(theirs) == 21


@pytest.mark.parametrize("command", COMMANDS)
def test_the_real_command_has_these_options(command: str, nats_cli: Path) -> None:
    match = HELP_FLAGS.search(output(nats_cli, "server", "check", command, "--help"))
    assert match
    # What stands after `=` is a default, or in capital letters the name of a value.
    theirs = {
        f"--{flag['name']}": "" if re.fullmatch(r"[A-Z][A-Z-]*", flag["value"] or "") else flag["value"] or ""
        for flag in FLAG.finditer(match[1])
    }
    assert theirs == {entry.option: entry.default for entry in PEERS.check if entry.command == command}


def test_the_real_command_has_no_other_checks(nats_cli: Path) -> None:
    listed = re.findall(r"^  server check (\w+) ", output(nats_cli, "server", "check", "--help"), re.MULTILINE)
    assert sorted(listed) == sorted(COMMANDS)


def test_the_real_command_knows_these_states(nats_cli: Path) -> None:
    program = nats_cli.read_bytes()
    assert [state.name for state in PEERS.state if state.name.encode() not in program] == []


@pytest.mark.real
def test_what_the_page_states_of_metadata_in_server_check(shared_cluster: ClusterFactory, nats_cli: Path) -> None:
    """Of a stream it replaces what is on the command line, enabled or not; of a consumer nobody looks at it."""
    cluster = shared_cluster()
    asyncio.run(_threshold_of_five(cluster.url("app")))
    login = ("-s", cluster.url("app"), "server", "check")

    def status(*words: str) -> str:
        done = subprocess.run(
            [nats_cli, "--no-context", *login, *words, "--format", "json"], capture_output=True, text=True, check=False
        )
        answer: dict[str, str] = json.loads(done.stdout)
        return answer["status"]

    stream = ("stream", "--stream", "PEERS")
    assert status(*stream) == "CRITICAL"
    assert status(*stream, "--msgs-critical", "1") == "CRITICAL"
    consumer = ("consumer", "--stream", "PEERS", "--consumer", "idle")
    assert status(*consumer) == "OK"
    assert status(*consumer, "--unprocessed-critical", "2") == "CRITICAL"


async def _threshold_of_five(url: str) -> None:
    client = await nats.connect(url)
    try:
        await add_stream(client, "PEERS", subjects=["peers"], metadata={"io.nats.monitor.msgs-critical": "5"})
        kept = {"io.nats.monitor.enabled": "true", "io.nats.monitor.unprocessed-critical": "2"}
        await add_consumer(client, "PEERS", "idle", metadata=kept)
        for _ in range(3):
            await client.jetstream().publish("peers", b"")
    finally:
        await client.close()
