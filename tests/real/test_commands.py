"""Every command that jsdoctor prints is one that the real `nats` command accepts."""

import asyncio
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import nats
import pytest

from tests.diagnosis.book import book
from tests.servers import ClusterFactory
from tests.support.deployment import CONSUMERS, add_consumer, api, furnish
from tests.support.ruleset import rules
from tools.golden_results import path_of

pytestmark = pytest.mark.real


def printed() -> dict[str, str]:
    """Every command in the golden files, with the rule that prints it. `test_rules` keeps these files true."""
    rule_by_command: dict[str, str] = {}
    for rule in rules():
        for line in path_of(rule.code).read_text(encoding="utf-8").splitlines():
            mark, _, command = line.strip().partition(" ")
            if mark == "$":
                rule_by_command.setdefault(command, rule.code)
    return rule_by_command


PRINTED = printed()
NATS = sorted(command for command in PRINTED if command.startswith("nats "))
EDITS = [c for c in NATS if c.split()[1:3] in (["stream", "edit"], ["consumer", "edit"])]
OBSERVATIONS = sorted({c for symptom in book().symptoms for c in re.findall(r"`(nats [^`]+)`", symptom.shown_by)})
"""The commands by which symptom pages say that a symptom is recognised."""
# What people run on a host rather than against a server. Anything else that is no `nats` command is a mistake.
HOST_COMMANDS = {"chronyc", "timedatectl", "systemctl", "df", "cp", "kubectl"}


def run(nats_cli: Path, command: str, url: str) -> subprocess.CompletedProcess[str]:
    words = [str(nats_cli), *shlex.split(command)[1:]]
    environment = {**os.environ, "NATS_URL": url, "XDG_CONFIG_HOME": "/nonexistent", "NATS_TIMEOUT": "3s"}
    return subprocess.run(
        words, env=environment, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL
    )


@pytest.mark.parametrize("command", NATS)
def test_syntax_is_accepted(nats_cli: Path, command: str) -> None:
    """Against a closed port the command gets as far as connecting, and no farther: flags and arguments were right."""
    done = run(nats_cli, command, "nats://127.0.0.1:1")
    output = (done.stdout + done.stderr).lower()
    assert "unknown long flag" not in output, output
    assert "unknown short flag" not in output, output
    assert "unexpected" not in output, output
    assert "required" not in output, output
    assert "connection refused" in output or "no servers available" in output or done.returncode == 0, output


@pytest.mark.parametrize("command", OBSERVATIONS)
def test_commands_of_symptom_pages_exist(nats_cli: Path, command: str) -> None:
    """Some lack the arguments that the reader has to add."""
    done = run(nats_cli, command, "nats://127.0.0.1:1")
    output = (done.stdout + done.stderr).lower()
    assert [words for words in ("unknown", "unexpected", "expected command") if words in output] == [], output


def test_other_commands_are_host_commands() -> None:
    assert {shlex.split(c)[0] for c in PRINTED if c not in NATS} <= HOST_COMMANDS


def test_no_command_asks_a_question() -> None:
    assert [c for c in EDITS if "-f" not in shlex.split(c) and "--dry-run" not in c] == []


@pytest.fixture(scope="module")
def furnished(shared_cluster: ClusterFactory) -> str:
    cluster = shared_cluster("2.15.1", 1, extra_config="# commands\n")
    asyncio.run(furnish(cluster.url("app"), 1))
    return cluster.url("app")


@pytest.fixture
def as_furnished(furnished: str) -> Iterator[str]:
    """The deployment, and each consumer as it was afterwards: an edit that adds a backoff would refuse the next one."""
    yield furnished
    asyncio.run(_restore_consumers(furnished))


async def _restore_consumers(url: str) -> None:
    client = await nats.connect(url)
    try:
        for stream, name, config in CONSUMERS:
            now = (await api(client, f"CONSUMER.INFO.{stream}.{name}"))["config"]
            if now.get("backoff") != config.get("backoff"):
                await api(client, f"CONSUMER.DELETE.{stream}.{name}")
                await add_consumer(client, stream, name, **config)
    finally:
        await client.close()


@pytest.mark.parametrize("command", EDITS)
def test_edits_work_on_a_real_server(nats_cli: Path, as_furnished: str, command: str) -> None:
    """The recordings and this deployment have the same streams, so most printed edits can be run as they are.

    Edits of what only a case knows (another name, more servers) are refused for that reason and no other.
    """
    done = run(nats_cli, command, as_furnished)
    output = (done.stdout + done.stderr).lower()
    # The command asks which stream, where there is none of the name that it was given.
    unknown = "could not pick a stream" in output and "GOVERNOR_" in command
    not_here = (unknown, "not found" in output, "replicas > 1 not supported" in output)
    # A preview ends with 1 when it has differences to show.
    previewed = "--dry-run" in command and done.returncode == 1 and "maxbytes" in output
    assert done.returncode == 0 or previewed or any(not_here), output
