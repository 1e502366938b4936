"""Servers that misbehave on purpose: a run ends in time, in a sentence, in bounded memory."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.sources import measured
from tests.sources.hostile_http import HTTP_SCENARIOS
from tests.sources.hostile_nats import ADDRESSES, NATS_SCENARIOS
from tests.sources.hostile_server import Handler, listening

TIMEOUT_S = 2
MAX_MB = 300
IN_CI = (
    "a line of 100 MB after INFO",
    "INFO of wrong types",
    "a message of 2^60 bytes",
    "system replies without end",
    "system replies that unpack to 1 GB",
    "a list of 100 MB",
    "100 MB",
    "gzip bomb",
)
"""The others run nightly."""


@dataclass(frozen=True)
class Ended:
    """How a run ended."""

    code: int
    output: str
    took_s: float
    peak_mb: int


def check(option: str, url: str, tmp_path: Path, *subcommand: str, timeout_s: int = TIMEOUT_S) -> Ended:
    subcommand = subcommand or ("check",)
    command = [sys.executable, "-m", "jsdoctor", *subcommand, "--isolated", "--timeout", f"{timeout_s}s"]
    output, result = tmp_path / "output", tmp_path / "result.json"
    with output.open("wb") as file:
        subprocess.run(
            [sys.executable, measured.__file__, str(result), *command, "--interval", "0.1s", option, url],
            stdout=file,
            stderr=file,
            check=True,
        )
    return Ended(output=output.read_text(), **json.loads(result.read_text()))


def _marked(scenarios: dict[str, Handler]) -> list[object]:
    return [pytest.param(name, marks=() if name in IN_CI else pytest.mark.nightly) for name in scenarios]


def _assert_sane(ended: Ended, timeout_s: int = TIMEOUT_S) -> None:
    assert ended.code in (0, 1, 3), ended.output
    assert ended.output.strip()
    assert "Traceback" not in ended.output
    assert "internal error" not in ended.output
    assert not set(ended.output) & {chr(n) for n in range(32) if chr(n) not in "\n\r\t"}
    # Connecting, finding out what the login sees, two rounds of a sample, and the start of Python.
    assert ended.took_s < 4 * timeout_s + 4, ended.output
    assert ended.peak_mb < MAX_MB, ended.output


@pytest.mark.parametrize("name", _marked(NATS_SCENARIOS))
def test_nats_servers(name: str, tmp_path: Path) -> None:
    with listening(NATS_SCENARIOS[name]) as port:
        _assert_sane(check("--server", f"nats://127.0.0.1:{port}", tmp_path))


def test_addresses_of_every_kind_are_tried(tmp_path: Path) -> None:
    with listening(NATS_SCENARIOS["addresses of every kind"]) as port:
        url = f"nats://127.0.0.1:{port}"
        ended = check("--server", url, tmp_path, "check", "--addresses")
    _assert_sane(ended)
    assert f"{len(ADDRESSES)} of {len(ADDRESSES)} addresses that servers give to clients cannot be reached" in " ".join(
        ended.output.split()
    )


@pytest.mark.parametrize(
    "name",
    [
        "system replies without end",
        # On a busy machine the two seconds are over before there are too many.
        pytest.param("system replies of more and more servers", marks=pytest.mark.nightly),
    ],
)
def test_a_capture_of_replies_without_end_states_it(name: str, tmp_path: Path) -> None:
    with listening(NATS_SCENARIOS[name]) as port:
        url, capture = f"nats://127.0.0.1:{port}", ("capture", "-o", str(tmp_path / "c.zip"))
        ended = check("--server", url, tmp_path, *capture, timeout_s=2 * TIMEOUT_S)
    _assert_sane(ended, 2 * TIMEOUT_S)
    assert ended.code == 3
    assert "did not end" in ended.output


@pytest.mark.parametrize("name", _marked(HTTP_SCENARIOS))
def test_monitoring_ports(name: str, tmp_path: Path) -> None:
    with listening(HTTP_SCENARIOS[name]) as port:
        _assert_sane(check("--monitor", f"http://127.0.0.1:{port}", tmp_path))
