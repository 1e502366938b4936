"""`jsdoctor capture` and `check --bundle` as users run them, on real servers with secrets planted in them."""

import asyncio
import base64
import json
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from urllib.parse import quote

import jsonschema
import nats
import nkeys
import pytest

from tests.cli.invoke import jsdoctor
from tests.servers import DEFAULT_VERSION, VERSIONS, ClusterFactory, wait_until
from tests.servers.binaries import ROOT
from tests.sources.certificates import Certificates
from tests.sources.operator_mode import Key
from tests.support.deployment import add_consumer, add_stream

SCHEMA = json.loads((ROOT / "docs" / "schema" / "report-v1.json").read_text())
PASSWORD = 'c0rrect"h\\rse<ä'
LEAF, ROUTE, TOKEN = "l3af-Passw0rd", "r0ute-Passw0rd", "t0ken-Of-Somebody"
SEED = Key(nkeys.PREFIX_BYTE_ACCOUNT).seed
USER = Key(nkeys.PREFIX_BYTE_USER)
JWT = USER.jwt(USER.public, "app", {"type": "user"})
ACCOUNT = (
    f"DOC {{ jetstream: enabled, users: [{{user: doc, password: {json.dumps(PASSWORD, ensure_ascii=False)}}}] }}\n"
)
REMOTE = f'leafnodes {{ remotes: [{{ urls: ["nats-leaf://leaf:{LEAF}@127.0.0.1:1"], account: APP }}] }}\n'


def everything(path: Path) -> bytes:
    """The file, and its members unpacked."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return path.read_bytes() + b"\n".join(archive.read(name) for name in archive.namelist())


async def plant(url: str, key: str) -> None:
    """Copies of every secret where users leave them: in descriptions and metadata, of streams and consumers."""
    client = await nats.connect(url, user="doc", password=PASSWORD)
    try:
        metadata = {
            "password": PASSWORD,
            "note": f"leaf uses {LEAF}, route {ROUTE}, ask {TOKEN}",
            "auth_token": TOKEN,
            "of the account": SEED,
            "creds": f"-----BEGIN NATS USER JWT-----\n{JWT}\n------END NATS USER JWT------",
            "connect": f"nats://doc:{quote(PASSWORD, safe='')}@h:4222,nats://leaf:{LEAF}@h:4222",
            "link": f"https://r:{ROUTE}@wiki/page",
            "basic": base64.b64encode(PASSWORD.encode()).decode(),
            PASSWORD: "as a key",
            "tls": key,
        }
        await add_stream(client, "S", subjects=["s"], max_bytes=1 << 20, description=f"{JWT} {SEED}", metadata=metadata)
        await add_consumer(client, "S", "c", metadata=metadata, description=f"log in with {PASSWORD}")
    finally:
        await client.close()


@pytest.mark.real
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("user", ["doc", "sys"])
def test_no_secret_is_kept(version: str, user: str, cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    key = Certificates(tmp_path).client[1].read_text()
    server = cluster_factory(version, accounts=ACCOUNT, extra_config=REMOTE)
    asyncio.run(plant(server.urls[0], key))
    login = ("--user", "doc", "--password", PASSWORD) if user == "doc" else ("--user", "sys", "--password", "sys")
    monitors = ("--monitor", server.monitor_urls[0].replace("://", "://op:M0nitor-Passw0rd@"))
    arguments = ("-s", server.urls[0], *login, *monitors, "--interval", "100ms")
    done = jsdoctor("capture", "-o", "b.zip", *arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    kept = everything(tmp_path / "b.zip")
    # A system login was not given this password: there it goes with the key, the URL and the copies of both.
    for secret in (PASSWORD, LEAF, ROUTE, TOKEN, SEED, JWT, JWT.split(".")[2], "M0nitor-Passw0rd"):
        for written in (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], quote(secret)):
            assert written.encode() not in kept, secret
    assert b"h\\\\rse" not in kept
    assert base64.b64encode(PASSWORD.encode()) not in kept
    assert b"as a key" in kept
    assert key.splitlines()[1].encode() not in kept
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        manifest = json.loads(archive.read("manifest.json"))
        replies = [archive.read(member["name"]) for member in manifest["members"]]
    assert all(json.loads(reply) for reply in replies if reply != b"No Raft nodes registered")  # so says HTTP
    assert {"seed", "jwt", "url_login", "key"} <= set(manifest["redactions"])
    assert {"name": "n1", "version": version} in manifest["servers"]
    assert PASSWORD not in done.stdout + done.stderr
    again = jsdoctor("check", "--bundle", "b.zip", "--format", "json", cwd=tmp_path)
    report = json.loads(again.stdout)
    assert not [gap for gap in report["gaps"] if gap["requested"]]
    assert any(rule["outcome"] == "pass" for rule in report["rules"])


@pytest.mark.real
def test_capture_and_check(shared_cluster: ClusterFactory, tmp_path: Path) -> None:
    server = shared_cluster(DEFAULT_VERSION)
    done = jsdoctor("capture", "-o", "b.zip", "-s", server.url("sys"), "--interval", "100ms", cwd=tmp_path)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 1
    assert done.stdout.startswith("b.zip: ")
    assert "0 gaps" in done.stdout
    assert "shorter than" in done.stderr  # the password of sys is sys
    assert (tmp_path / "b.zip").stat().st_mode & 0o777 == 0o600

    checked = jsdoctor("check", "--bundle", "b.zip", "--format", "json", cwd=tmp_path, env={"NATS_URL": "nats://no:1"})
    report = json.loads(checked.stdout)
    jsonschema.validate(report, SCHEMA)
    assert [(source["kind"], source["name"]) for source in report["sources"]] == [("bundle", "b.zip")]
    assert not any(gap["kind"] == "samples" for gap in report["gaps"]), "two samples were taken"
    assert "captured at 20" in jsdoctor("check", "--bundle", "b.zip", cwd=tmp_path).stdout.replace("\n  ", " ")

    refused = jsdoctor("capture", "-o", "b.zip", "-s", server.url("sys"), cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--force" in refused.stderr
    forced = jsdoctor(
        "capture", "-o", "b.zip", "--force", "-q", "-s", server.url("sys"), "--samples", "1", cwd=tmp_path
    )
    assert forced.returncode == 0
    once = jsdoctor("check", "--bundle", "b.zip", "--format", "json", cwd=tmp_path)
    assert any(gap["kind"] == "samples" for gap in json.loads(once.stdout)["gaps"])


@pytest.mark.real
def test_what_was_missed_is_reported_and_kept(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    server = cluster_factory()
    addresses = ("--monitor", server.monitor_urls[0], "--monitor", "http://127.0.0.1:1")
    done = jsdoctor("capture", "-o", "b.zip", "--samples", "1", *addresses, cwd=tmp_path)
    assert done.returncode == 3
    assert "1 gap" in done.stdout
    assert "http://127.0.0.1:1" in done.stderr
    checked = jsdoctor("check", "--bundle", "b.zip", "--format", "json", cwd=tmp_path)
    assert checked.returncode == 3
    assert [gap["kind"] for gap in json.loads(checked.stdout)["gaps"] if gap["requested"]]


@pytest.mark.real
def test_interrupted_in_the_middle(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    server = cluster_factory()
    command = [sys.executable, "-m", "jsdoctor", "capture", "-o", "b.zip", "-s", server.url("sys"), "--interval", "60s"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: server.monitor("n1", "/connz")["num_connections"] == 1, "the capture to connect")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert not [entry for entry in tmp_path.iterdir() if "b.zip" in entry.name]


def test_nothing_responds(tmp_path: Path) -> None:
    done = jsdoctor("capture", "-o", "b.zip", "-s", "nats://127.0.0.1:1", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert "connection refused" in done.stderr
    assert not list(tmp_path.glob("*.zip"))
    done = jsdoctor("capture", "-o", "b.zip", "--monitor", "http://127.0.0.1:1", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert not list(tmp_path.glob("*.zip"))


@pytest.mark.parametrize("format_", ["text", "json"])
def test_a_bundle_that_cannot_be_read(format_: str, tmp_path: Path) -> None:
    (tmp_path / "b.zip").write_bytes(b"PK\x03\x04 no bundle")
    done = jsdoctor("check", "--bundle", "b.zip", "--format", format_, cwd=tmp_path)
    assert done.returncode == 3
    assert "b.zip cannot be read" in done.stderr
    if format_ == "text":
        assert done.stdout == ""
    else:
        jsonschema.validate(json.loads(done.stdout), SCHEMA)
        assert any(gap["kind"] == "bundle" for gap in json.loads(done.stdout)["gaps"])


def test_no_such_bundle(tmp_path: Path) -> None:
    done = jsdoctor("check", "--bundle", "b.zip", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no such file" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("-s", "127.0.0.1:1"), "--server"),
        (("--monitor", "http://127.0.0.1:1"), "--monitor"),
        (("--samples", "3"), "--samples"),
        (("--interval", "3s"), "--interval"),
        (("--tlsfirst",), "--tlsfirst"),
        (("--password", "hunter22"), "--password"),
    ],
)
def test_connection_options_beside_a_bundle(arguments: tuple[str, ...], named: str, tmp_path: Path) -> None:
    done = jsdoctor("check", "--bundle", "b.zip", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert named in done.stderr
    assert "hunter22" not in done.stderr


def test_output_is_required(tmp_path: Path) -> None:
    assert jsdoctor("capture", "-s", "127.0.0.1:1", cwd=tmp_path).returncode == 2
    done = jsdoctor("capture", "-o", "no/where.zip", "-s", "127.0.0.1:1", cwd=tmp_path)
    assert done.returncode == 2
    assert "no directory" in done.stderr
