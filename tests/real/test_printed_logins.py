"""Every command of a report works as it is printed, with the logins of that run, before and after what it fixes."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from jsdoctor.demo.server import NatsServer
from jsdoctor.model.commands import changes_something
from tests.cli.invoke import jsdoctor
from tests.real.fixing import config_of
from tests.real.test_fix import ASSETS, SELECTED, plant
from tests.servers import DEFAULT_VERSION, Cluster, ClusterFactory, server_binary, wait_until
from tests.servers.natscli import run_printed
from tests.sources.operator_mode import Operator, creds
from tests.support.deployment import add_stream
from tests.support.outage import with_client

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("fix")]

Json = dict[str, Any]
_WATCHES = " events "
_IN_TEXT = re.compile(r"^ *(?:Look|Fix \(\w+\)|→)((?: \(with [^)]*\))?):? (nats .*)$", re.MULTILINE)


@pytest.fixture
def cluster(shared_cluster: ClusterFactory) -> Cluster:
    furnished = shared_cluster(DEFAULT_VERSION, 1, extra_config="# printed\n")
    with_client(furnished, plant)
    return furnished


def contexts(directory: Path, **values: Mapping[str, str]) -> None:
    """Contexts of these names, where commands with that directory as their home of configuration look for them."""
    folder = directory / "config" / "nats" / "context"
    folder.mkdir(parents=True)
    for name, of in values.items():
        (folder / f"{name}.json").write_text(json.dumps(of))


def two_contexts(cluster: Cluster, directory: Path) -> list[str]:
    contexts(directory, sys={"url": cluster.url("sys")}, app={"url": cluster.url("app")})
    return ["--context", "sys", "--context", "app"]


def one_user(cluster: Cluster, directory: Path) -> list[str]:
    """In a URL, while a context of another account is selected."""
    contexts(directory, other={"url": "nats://127.0.0.1:1", "user": "nobody", "password": "nothing"})
    (directory / "config" / "nats" / "context.txt").write_text("other")
    return ["-s", cluster.url("app")]


def printed_by(directory: Path, *where: str) -> dict[str, str]:
    """Each command of a report with the login that it lacks; text and JSON have the same ones."""
    common = ("--isolated", "--samples", "1", *where)
    text = jsdoctor("check", *common, cwd=directory, env={"COLUMNS": "100"}, timeout=120)
    report = json.loads(jsdoctor("check", *common, "--format", "json", cwd=directory, timeout=120).stdout)
    remedies = [result["remedy"] for result in report["results"] if result["remedy"]]
    commands = {c: r["logins"].get(c, "") for r in remedies for c in r["commands"] if c.startswith("nats ")}
    shown = {command: login for login, command in _IN_TEXT.findall(text.stdout)}
    assert shown.keys() <= commands.keys()
    assert {c: login for c, login in shown.items() if login} == {
        c: f" (with {login})" for c, login in commands.items() if login and c in shown
    }
    assert commands, text.stdout
    return commands


def run_all(nats_cli: Path, directory: Path, commands: list[str]) -> None:
    """Run them as they are, in a shell without a server in its environment."""
    environment = {"XDG_CONFIG_HOME": str(directory / "config"), "NATS_URL": ""}
    for command in commands:
        done = run_printed(nats_cli, command, **environment)
        previewed = "--dry-run" in command and done.stdout.startswith("Differences")  # then it ends with 1
        assert done.returncode == 0 or previewed, f"{command}: {done.stdout}{done.stderr}"


@pytest.mark.parametrize("logins", [two_contexts, one_user])
def test_each_command_works_as_it_is_printed(
    cluster: Cluster, logins: Callable[[Cluster, Path], list[str]], nats_cli: Path, tmp_path: Path
) -> None:
    commands = printed_by(tmp_path, *logins(cluster, tmp_path))
    assert set(commands.values()) <= ({""} if logins is two_contexts else {"", "a login of the system account"})
    ready = [c for c, login in commands.items() if not login and _WATCHES not in c]
    changing = [command for command in ready if changes_something(command)]
    assert len(changing) >= 3
    run_all(nats_cli, tmp_path, [command for command in ready if command not in changing])
    run_all(nats_cli, tmp_path, changing)
    run_all(nats_cli, tmp_path, ready)


def test_the_system_account_alone_names_the_login_that_commands_need(cluster: Cluster, tmp_path: Path) -> None:
    commands = printed_by(tmp_path, "-s", cluster.url("sys"))
    needed = {login for command, login in commands.items() if "FIX_" in command}
    assert needed == {"a login of account APP"}


def test_creds(nats_cli: Path, tmp_path: Path) -> None:
    operator = Operator(jetstream=True)
    jetstream = "jetstream { store_dir: store, max_file_store: 2G, max_memory_store: 64M }\n"
    with NatsServer.start(server_binary(), operator.config + jetstream, tmp_path / "server") as server:
        paths = {}
        for name, account in (("app", operator.app), ("sys", operator.system)):
            paths[name] = tmp_path / f"{name} user.creds"
            paths[name].write_text(creds(*operator.user(account)))
        environment = {"NATS_URL": "", "XDG_CONFIG_HOME": str(tmp_path)}
        login = f"nats -s {server.url} --creds {shlex.quote(str(paths['app']))}"
        made = run_printed(nats_cli, f"{login} stream add FREE --subjects free --defaults", **environment)
        assert made.returncode == 0, made.stderr
        printed = printed_by(tmp_path, "-s", server.url, "--creds", str(paths["app"]))
        assert "" in printed.values()
        run_all(nats_cli, tmp_path, [c for c, missing in printed.items() if not missing and _WATCHES not in c])
        contexts(tmp_path, **{name: {"url": server.url, "creds": str(path)} for name, path in paths.items()})
        printed = printed_by(tmp_path, "--context", "sys", "--context", "app")
        assert set(printed.values()) == {""}, "the account has a name and a key, and servers show either"
        run_all(nats_cli, tmp_path, [command for command in printed if _WATCHES not in command])


def test_fix_takes_each_step_through_the_login_of_its_account(cluster: Cluster, tmp_path: Path) -> None:
    where = two_contexts(cluster, tmp_path)
    before = {asset: config_of(cluster, *asset) for asset in ASSETS}
    planned = jsdoctor("fix", "--isolated", "--samples", "1", *where, "--format", "html", cwd=tmp_path, timeout=120)
    assert "<code>jsdoctor fix --context sys --context app --plan FILE.json --apply</code>" in planned.stdout
    done = jsdoctor(
        *("fix", "--isolated", "--samples", "1", *where, *SELECTED, "--apply", "--yes", "--journal", "j.jsonl"),
        *("--format", "json"),
        cwd=tmp_path,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    endings = {step["action"]: step["ending"] for step in json.loads(done.stdout)["steps"]}
    assert endings["stream.raise_limits"] == endings["stream.raise_duplicate_window"] == "verified"
    assert {asset: config_of(cluster, *asset) for asset in ASSETS} != before
    hint = re.search(r"(jsdoctor rollback .*) takes it back", done.stderr)
    assert hint
    assert hint[1] == "jsdoctor rollback --context sys --context app j.jsonl"
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }
    back = subprocess.run(
        ["sh", "-c", f"{hint[1]} --yes"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert back.returncode == 0, back.stdout + back.stderr
    assert {asset: config_of(cluster, *asset) for asset in ASSETS} == before


def test_a_limit_is_one_that_the_account_has_room_for(
    cluster_factory: ClusterFactory, nats_cli: Path, tmp_path: Path
) -> None:
    """An account of 100 MB, 60 of them reserved: the usual suggestion of a gibibyte would be refused (10047)."""
    limited = cluster_factory(DEFAULT_VERSION, 1, app_account="jetstream: { max_file: 100M }")

    async def furnish(client: Client) -> None:
        await add_stream(client, "BIG", subjects=["big"], max_bytes=60_000_000, max_age=3600 * 10**9)
        await add_stream(client, "FREE", subjects=["free"])

    with_client(limited, furnish)
    for logins in (two_contexts(limited, tmp_path), ["-s", limited.url("app")]):
        commands = printed_by(tmp_path, *logins)
        (preview,) = [command for command in commands if "stream edit FREE --max-bytes" in command]
        run_all(nats_cli, tmp_path, [preview])
        edit = preview.replace(" --dry-run", "")
        run_all(nats_cli, tmp_path, [edit, edit.replace(edit.split("--max-bytes=")[1].split()[0], "-1")])


def test_with_a_server_down_each_command_works_as_well(
    cluster_factory: ClusterFactory, nats_cli: Path, tmp_path: Path
) -> None:
    """One stream has its only copy there: nothing printed needs its leader, and the plan begins with the cause."""
    cluster = cluster_factory(DEFAULT_VERSION, 3)

    async def furnish(client: Client) -> str:
        await add_stream(client, "FULL", subjects=["full"], max_msgs=2, discard="new", num_replicas=3)
        for _ in range(2):
            await client.request("full", b"x", timeout=10)
        made = await add_stream(client, "AUDIT", subjects=["audit"])
        return str(made["cluster"]["leader"])

    holder = with_client(cluster, furnish)
    cluster.stop(holder)
    where = two_contexts(cluster, tmp_path)

    def steps() -> list[Json]:
        words = ("fix", "--isolated", "--samples", "1", *where, "--format", "json")
        planned = jsdoctor(*words, cwd=tmp_path, timeout=120)
        return list(json.loads(planned.stdout)["steps"]) if planned.stdout else []

    wait_until(lambda: "JSD703" in str(steps()), "the loss to show", timeout=60)
    first = steps()[0]
    assert (first["subject"]["name"], first["risk"]) == (holder, "manual")
    assert first["effect"].startswith("Start ")
    commands = printed_by(tmp_path, *where)
    assert set(commands.values()) == {""}
    assert [command for command in commands if " AUDIT" in command] == []
    run_all(nats_cli, tmp_path, list(commands))
    cluster.start(holder)
    run_all(nats_cli, tmp_path, list(commands))
