"""`jsdoctor fix` and `rollback` as a user runs them, and how the configurations of a deployment looked."""

import json
from collections.abc import Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from nats.aio.client import Client

from tests.cli.invoke import jsdoctor
from tests.servers import Cluster
from tests.support.deployment import Json
from tests.support.outage import with_client

DYNAMIC = {"_nats.ver", "_nats.level"}


def fix(
    cluster: Cluster, cwd: Path, *arguments: str, user: str = "app", env: Mapping[str, str] | None = None
) -> CompletedProcess[str]:
    """`jsdoctor fix …` in a directory, with a login of account APP."""
    # One look is enough for the rules of these tests; none of them judges a rate.
    common = ("--isolated", "--samples", "1", "--server", cluster.url(user))
    return jsdoctor("fix", *arguments, *common, cwd=cwd, env=env, timeout=240)


def apply(cluster: Cluster, cwd: Path, *arguments: str, journal: str = "j.jsonl", user: str = "app") -> list[Json]:
    """`fix --apply` of a fresh plan without questions; how its steps ended."""
    done = fix(cluster, cwd, "--apply", "--yes", "--journal", journal, "--format", "json", *arguments, user=user)
    assert done.stdout, done.stderr
    steps: list[Json] = json.loads(done.stdout)["steps"]
    return steps


def rollback(cluster: Cluster, cwd: Path, journal: str = "j.jsonl", user: str = "app") -> CompletedProcess[str]:
    """`jsdoctor rollback …` without questions."""
    where = ("--isolated", "--server", cluster.url(user))
    return jsdoctor("rollback", journal, "--yes", "--format", "json", *where, cwd=cwd, timeout=240)


def config_of(cluster: Cluster, stream: str, consumer: str = "") -> bytes:
    """The configuration byte for byte as the server sends it."""
    return json.dumps(info_of(cluster, stream, consumer)["config"]).encode()


def own(config: bytes) -> Json:
    """A configuration without what a server adds to its answers alone."""
    configuration: Json = json.loads(config)
    if metadata := {key: value for key, value in configuration.get("metadata", {}).items() if key not in DYNAMIC}:
        return configuration | {"metadata": metadata}
    return {key: value for key, value in configuration.items() if key != "metadata"}


def info_of(cluster: Cluster, stream: str, consumer: str = "") -> Json:
    """STREAM.INFO or CONSUMER.INFO, also of one that is not there."""

    async def read(client: Client) -> Json:
        subject = f"CONSUMER.INFO.{stream}.{consumer}" if consumer else f"STREAM.INFO.{stream}"
        reply: Json = json.loads((await client.request(f"$JS.API.{subject}", b"", timeout=10)).data)
        return reply

    return with_client(cluster, read)


def endings(steps: list[Json]) -> dict[str, str]:
    """How steps ended, by action and subject (`stream.bound S`)."""
    return {f"{step['action']} {_label(step['subject'])}": step["ending"] for step in steps}


def events(path: Path) -> list[tuple[str, str]]:
    """Event and step of each line of a journal."""
    lines = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    return [(line["event"], line.get("step", "")) for line in lines]


def _label(subject: Mapping[str, Any]) -> str:
    return "/".join(part for part in (subject.get("stream"), subject.get("name")) if part)
