"""docs/peers.md has every check of the real nats command, and the parameters of our rules with their defaults."""

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
from jsdoctor.engine.select import find_rule
from jsdoctor.model.duration import format_duration
from jsdoctor.model.rule import Param, Unit
from jsdoctor.render.wording import size
from tests.servers import ClusterFactory
from tests.servers.binaries import ROOT
from tests.support.deployment import add_consumer, add_stream
from tests.support.ruleset import rules

PAGE = (ROOT / "docs" / "peers.md").read_text("utf-8")
VERSION = "v0.5.1"
OURS = re.compile(r"\[(JSD\d+)\]\([^)]+\)(?:: ([^|;]+))?")
HELP_FLAGS = re.compile(r"^Flags:\n(.*?)\n\n", re.MULTILINE | re.DOTALL)
FLAG = re.compile(r"^ {2,6}(?:-\w, )?--(?:\[no-\])?(?P<name>[\w-]+)(?:=(?P<value>\S+))?", re.MULTILINE)


def section(heading: str) -> str:
    """The text below a heading of the page."""
    return PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def rows(text: str, columns: int) -> list[tuple[str, ...]]:
    """The first columns of the rows of tables."""
    table = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [tuple(cell.strip("| ") for cell in row[:columns]) for row in table if not row[0].startswith("| ---")]


def options(command: str) -> dict[str, str]:
    """The options of `nats server check COMMAND` on the page, with their defaults."""
    table = section("`nats server check`").partition(f"| `{command}` |")[2].partition("\n\n")[0]
    return {option.strip("`"): default.strip("`") for option, default in rows(table, 2) if option.startswith("`--")}


COMMANDS = re.findall(r"^\| `(\w+)` \|", section("`nats server check`"), re.MULTILINE)


def output(nats_cli: Path, *words: str) -> str:
    return subprocess.run([nats_cli, "--no-context", *words], capture_output=True, text=True, check=True).stdout


def test_parameters_have_the_defaults_of_their_pages() -> None:
    named = OURS.findall(PAGE)
    assert len(named) > 100
    for code, params in named:
        rule = find_rule(rules(), code)
        for name, value in re.findall(r"`(\w+)` ([^`]+?)(?:, (?=`)|$)", params.strip()):
            assert value == default_of(rule.params[name]), f"{code}.{name}"


def default_of(param: Param) -> str:
    if param.default is None:
        return "not set"
    if param.unit is Unit.DURATION:
        return format_duration(int(param.default))
    if param.unit is Unit.RATIO:
        return f"{param.default * 100:g} %"
    if param.unit is Unit.BYTES:
        return size(param.default)
    return f"{param.default:,}" + ("/s" if param.unit is Unit.PER_SECOND else "")


@pytest.mark.parametrize(
    ("command", "code", "keys"), [("stream", "JSD608", STREAM_KEYS), ("consumer", "JSD415", CONSUMER_KEYS)]
)
def test_every_metadata_key_is_an_option_there_and_a_parameter_here(
    command: str, code: str, keys: dict[str, Any]
) -> None:
    assert set(keys) == {option.removeprefix("--") for option in options(command)} - {"stream", "consumer"}
    params = find_rule(rules(), code).params
    assert set(params) == {key.replace("-", "_") for key in keys}
    assert all(param.default is None for param in params.values())


def test_the_real_command_has_these_checks(nats_cli: Path) -> None:
    assert output(nats_cli, "--version").strip() == VERSION
    assert VERSION in PAGE
    theirs = {
        f"{check['code']} {check['name']}": {
            key: f"{option['default']:,}" for key, option in check["configuration"].items()
        }
        for check in json.loads(output(nats_cli, "audit", "checks", "--json"))
    }
    listed = rows(section("`nats audit`"), 2)[1:]
    assert theirs == {name: dict(re.findall(r"(\w+) ([\d.,]*\d)\b", thresholds)) for name, thresholds in listed}
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
    assert theirs == options(command)


def test_the_real_command_has_no_other_checks(nats_cli: Path) -> None:
    listed = re.findall(r"^  server check (\w+) ", output(nats_cli, "server", "check", "--help"), re.MULTILINE)
    assert sorted(listed) == sorted(COMMANDS)


def test_the_real_command_knows_these_states(nats_cli: Path) -> None:
    program = nats_cli.read_bytes()
    states = [state.strip("`") for _, state in rows(section("`nats server stream-check` and `consumer-check`"), 2)[1:]]
    assert states
    assert [state for state in states if state.encode() not in program] == []


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
