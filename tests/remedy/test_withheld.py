"""Secrets in descriptions and metadata are in no plan, journal or outcome, and are restored all the same."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from jsdoctor.redaction.raw_configs import MARK, agree, is_withheld, without_user_texts
from jsdoctor.remedy.replies import changes_text, differences
from jsdoctor.sources.connect.secret_refs import shown_path
from tests.cli.invoke import jsdoctor
from tests.real.fixing import config_of, fix, rollback
from tests.servers import Cluster, ClusterFactory
from tests.support.deployment import add_consumer, add_stream
from tests.support.outage import with_client

SECOND_NS = 1_000_000_000
SECRETS = {
    "password": "correct horse battery",
    "note": "hunter2hunter2",
    "seed": "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY",
    "jwt": "eyJ0eXAiOiJKV1QifQ.eyJqdGkiOiJBQkNERUYifQ.c2lnbmF0dXJl",
    "url": "nats://app:s3cr3t-in-url@host:4222",
    "aws_secret_access_key": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "github": "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "pem": "-----BEGIN PRIVATE KEY-----MIIEvQIBADANBgkqhkiG9w0BAQEFAASC-----END PRIVATE KEY-----",
    "basic": "Authorization: Basic dXNlcjpwYXNzd29yZA==",
}
DESCRIPTION = "consumer of the shop, login shop / pa55-for-the-shop"
PLANTED = (*SECRETS.values(), DESCRIPTION, "s3cr3t-in-url", "pa55-for-the-shop")
TEXTS: dict[str, Any] = {"description": DESCRIPTION, "metadata": SECRETS}


def test_texts_of_users_are_withheld_and_agree_with_any() -> None:
    config = {"name": "S", **TEXTS, "metadata": {**SECRETS, "_nats.ver": "2.15.1"}, "max_bytes": 1}
    shown = without_user_texts({"config": config, "changes": [{"key": "metadata", "before": SECRETS, "after": None}]})
    text = json.dumps(shown)
    assert not [secret for secret in PLANTED if secret in text]
    assert shown["config"]["metadata"]["_nats.ver"] == "2.15.1"
    assert is_withheld(shown)
    assert without_user_texts(shown) == shown
    assert differences(shown["config"], config) == ()
    assert [difference.key for difference in differences(shown["config"], {**config, "max_bytes": 2})] == ["max_bytes"]
    assert [difference.key for difference in differences(shown["config"], {**config, "metadata": {"more": "1"}})] == [
        "metadata"
    ]
    assert not agree(MARK, None)
    assert DESCRIPTION not in changes_text(differences({"description": "other"}, {"description": DESCRIPTION}))


async def plant(client: Client) -> None:
    await client.request("$JS.API.STREAM.DELETE.PRIVATE", b"", timeout=10)
    config = {"max_bytes": 1 << 20, "max_msg_size": 1000, "duplicate_window": SECOND_NS // 10}
    await add_stream(client, "PRIVATE", subjects=["private"], **config, **TEXTS)
    await add_consumer(client, "PRIVATE", "hasty", ack_wait=SECOND_NS // 20, **TEXTS)
    await client.request("private", b"x", timeout=10)


def leaks(directory: Path, *outputs: str) -> list[str]:
    """Planted secrets in what was said, and in files that anybody but their owner may read or that may be shared."""
    texts = {f"output {number}": text for number, text in enumerate(outputs)}
    for path in directory.rglob("*"):
        if path.is_file() and path.suffix != ".private":
            texts[path.name] = path.read_text(errors="replace")
    return [f"{secret} in {name}" for name, text in texts.items() for secret in PLANTED if secret in text]


@pytest.mark.real
@pytest.mark.xdist_group("fix")
def test_nothing_leaks_and_a_recreated_consumer_has_its_texts_again(
    shared_cluster: ClusterFactory, tmp_path: Path
) -> None:
    cluster: Cluster = shared_cluster()
    with_client(cluster, plant)
    before = [config_of(cluster, "PRIVATE", name) for name in ("", "hasty")]
    outputs = []
    rules = ("--select", "JSD301,JSD410")
    for name in ("plan.json", "plan.md"):
        done = fix(cluster, tmp_path, *rules, "-o", name)
        outputs += [done.stdout, done.stderr]
    outputs.append(fix(cluster, tmp_path, *rules).stdout)
    words = ("--remedy", "JSD410=consumer.recreate,seq=1", "--apply", "--yes", "--allow", "destructive")
    done = fix(cluster, tmp_path, *rules, *words, "--patience", "1s", "--journal", "j.jsonl")
    outputs += [done.stdout, done.stderr]
    # A consumer that was created again still fails the rule, so the step was taken back.
    assert config_of(cluster, "PRIVATE", "hasty") == before[1], done.stdout
    done = rollback(cluster, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    outputs += [done.stdout, done.stderr]
    assert [config_of(cluster, "PRIVATE", name) for name in ("", "hasty")] == before
    assert leaks(tmp_path, *outputs) == []
    private = tmp_path / "j.jsonl.private"
    assert DESCRIPTION in private.read_text()
    assert {stat.S_IMODE(path.stat().st_mode) for path in (private, tmp_path / "j.jsonl")} == {0o600}


@pytest.mark.parametrize("secret", [SECRETS["seed"], "hunter2", "hunter2hunter2", SECRETS["jwt"], "dGhpcyBpcyBz/eA=="])
def test_what_does_not_look_like_a_path_is_not_shown(secret: str) -> None:
    assert secret not in shown_path(secret)


@pytest.mark.parametrize("path", ["/etc/nats/app.creds", "~/app.nk", "./key", "app.creds", "$HOME/x"])
def test_paths_are_shown(path: str) -> None:
    assert path in shown_path(path)


@pytest.mark.parametrize("option", ["--creds", "NATS_NKEY"])
def test_a_secret_in_place_of_a_path_is_not_echoed(option: str, tmp_path: Path) -> None:
    secret = SECRETS["seed"]
    words = (option, secret) if option.startswith("--") else ()
    environment = {} if words else {option: secret}
    done = jsdoctor("check", "--isolated", "-s", "127.0.0.1:1", *words, cwd=tmp_path, env=environment)
    assert done.returncode == 2
    assert secret not in done.stdout + done.stderr
    assert "cannot read the value that was given" in done.stderr
