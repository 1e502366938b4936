"""The flags of printed commands repeat what the command line states, and show no secret."""

import json
from base64 import b64encode
from pathlib import Path

import nkeys
import pytest

from jsdoctor.sources.connect.options import ConnectionOptions
from jsdoctor.sources.connect.settings import resolve

SECRET = "s3cr3t-w0rd"
SEED = nkeys.encode_seed(bytes(range(32)), nkeys.PREFIX_BYTE_USER).decode()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "nats" / "context"
    folder.mkdir(parents=True)
    contexts = {
        "app": {"url": "nats://app:4222", "user": "app", "password": SECRET},
        "bare": {"url": "nats://bare:4222", "jetstream_domain": "hub"},
        "cut": {"url": "nats://cut:4222", "user": "cut", "password": SECRET, "jetstream_domain": "hub"},
    }
    for name, values in contexts.items():
        (folder / f"{name}.json").write_text(json.dumps(values))
    (tmp_path / "user.nk").write_text(SEED)
    return tmp_path


@pytest.mark.parametrize(
    ("options", "environ", "flags"),
    [
        (ConnectionOptions(), {}, ""),
        (ConnectionOptions(context="app"), {}, "--context app"),
        (ConnectionOptions(), {"NATS_CONTEXT": "app"}, ""),
        (ConnectionOptions(), {"NATS_URL": f"nats://app:{SECRET}@h:4222"}, ""),
        (
            ConnectionOptions(server=f"nats://app:{SECRET}@h:4222,nats://i:4222"),
            {},
            '-s nats://h:4222,nats://i:4222 --user app --password "$NATS_PASSWORD"',
        ),
        (ConnectionOptions(server=f"nats://{SECRET}@h:4222"), {}, '-s nats://h:4222 --token "$NATS_TOKEN"'),
        (ConnectionOptions(user=SECRET), {}, '--token "$NATS_TOKEN"'),
        (ConnectionOptions(token=SECRET), {}, '--token "$NATS_TOKEN"'),
        (ConnectionOptions(user="a b", password=SECRET), {}, "--user 'a b' --password \"$NATS_PASSWORD\""),
        (ConnectionOptions(user="app"), {"NATS_PASSWORD": SECRET}, "--user app"),
        (ConnectionOptions(server="tls://h", no_context=True), {}, "--no-context -s tls://h:4222"),
        (
            ConnectionOptions(js_domain="hub", tlsfirst=True, inbox_prefix="_I"),
            {},
            "--js-domain hub --inbox-prefix _I --tlsfirst",
        ),
    ],
)
def test_what_the_command_line_states_is_repeated(
    options: ConnectionOptions, environ: dict[str, str], flags: str, home: Path
) -> None:
    shown = " ".join(resolve(options, environ, home).flags)
    assert SECRET not in shown
    assert shown == flags


def test_files_of_logins_are_named(home: Path) -> None:
    seed = str(home / "user.nk")
    assert resolve(ConnectionOptions(nkey=seed), {}, home).flags == (f"--nkey {seed}",)
    assert resolve(ConnectionOptions(nkey=f"data:;base64,{b64encode(SEED.encode()).decode()}"), {}, home).flags == (
        '--nkey "$NATS_NKEY"',
    )


def test_a_context_with_another_login_is_spelled_out(home: Path) -> None:
    """The `nats` command would merge the two, and prefer the user of the context."""
    assert resolve(ConnectionOptions(context="cut", token=SECRET), {}, home).flags == (
        "--no-context",
        "-s nats://cut:4222",
        '--token "$NATS_TOKEN"',
        "--js-domain hub",
    )
    assert resolve(ConnectionOptions(context="bare", token=SECRET), {}, home).flags == (
        "--context bare",
        '--token "$NATS_TOKEN"',
    )
