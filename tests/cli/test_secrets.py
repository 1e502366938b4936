"""No secret that a user gives comes out again, whatever happens."""

from pathlib import Path

import pytest

from tests.cli.invoke import jsdoctor

SECRET = "s3cr3t-w0rd"

GIVEN = [
    ("-s", f"nats://app:{SECRET}@127.0.0.1:1"),
    ("-s", f"nats://{SECRET}@127.0.0.1:1"),
    ("-s", f"htp://app:{SECRET}@127.0.0.1:1"),
    ("-s", "127.0.0.1:1", "--user", "app", "--password", SECRET),
    ("-s", "127.0.0.1:1", "--token", SECRET),
    ("--monitor", f"http://app:{SECRET}@127.0.0.1:1"),
    ("--monitor", f"ftp://app:{SECRET}@127.0.0.1:1"),
]


@pytest.mark.parametrize("arguments", GIVEN, ids=" ".join)
@pytest.mark.parametrize("format_", ["text", "json"])
def test_not_shown(arguments: tuple[str, ...], format_: str, tmp_path: Path) -> None:
    done = jsdoctor("check", *arguments, "--format", format_, "-vv", cwd=tmp_path)
    assert done.returncode in (1, 2, 3)
    assert SECRET not in done.stdout + done.stderr
