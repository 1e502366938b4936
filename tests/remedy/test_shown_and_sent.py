"""What a plan shows is what is sent: its requests byte for byte, and its `nats` commands the same change."""

import asyncio
import contextlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from jsdoctor.model.jetstream import ConsumerConfig, StreamConfig
from jsdoctor.model.plan import MANUAL, Plan, Request, Step
from jsdoctor.model.rule import Risk
from jsdoctor.model.setting import rows
from jsdoctor.remedy.families.peers import jsz_of_all_servers, meta_group_by_leader
from jsdoctor.remedy.families.settings import BUCKET_FLAGS
from jsdoctor.remedy.plan import described
from jsdoctor.remedy.registry import load_operations
from jsdoctor.remedy.replies import comparable
from tests.cli.invoke import jsdoctor
from tests.clock import ShiftClock
from tests.docs.permitted_steps import STEPS, Place, step
from tests.real.test_fix import run
from tests.remedy.asking import PlainApi, plain_api
from tests.remedy.wire import Recording, recorded
from tests.servers import DEFAULT_VERSION, Cluster, ClusterFactory
from tests.support.deployment import add_consumer, add_stream

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("shown")]
Json = dict[str, Any]
APPLY = ("fix", "--isolated", "--plan", "plan.json", "--apply", "--yes", "--allow", "destructive", "--format", "json")
OPERATIONS = {
    "stream.update": "fix-stream-update",
    "consumer.update": "fix-consumer-update",
    "consumer.pause": "fix-pause",
    "consumer.unpin": "fix-unpin",
    "consumer.reset": "fix-reset",
    "consumer.recreate": "fix-recreate",
    "stream.step_down": "fix-stream-step-down",
    "consumer.step_down": "fix-consumer-step-down",
    "meta.step_down": "fix-meta-step-down-system",
    "stream.backup": "fix-backup",
    "stream.restore": "fix-restore",
    "message.delete_head": "fix-delete-message",
    "message.dead_letters": "fix-dead-letters",
    "server.remove_peer": "fix-remove-peer-system",
}
REMOVES = "server.remove_peer"
"""It leaves a cluster with a server less."""
WITHOUT_COMMAND = {"message.dead_letters"}
"""No command of the CLI copies a message with its headers: the plan lists commands to look."""
AT_SENDING = {"deliver_subject", "config", "state"}
"""Keys of STREAM.SNAPSHOT and STREAM.RESTORE that are filled in when they are sent: the inbox, and what is restored."""


@pytest.fixture
def cluster(request: pytest.FixtureRequest, shared_cluster: ClusterFactory, cluster_factory: ClusterFactory) -> Cluster:
    if "operation" in request.fixturenames and request.getfixturevalue("operation") == REMOVES:
        return cluster_factory(DEFAULT_VERSION, 3)
    return shared_cluster(DEFAULT_VERSION, 3, extra_config="# shown and sent\n")


def login(operation: str) -> str:
    return "sys" if OPERATIONS[operation].endswith("-system") else "app"


def planned(raw: Json) -> Step:
    """The step as a plan shows it."""
    (shown,) = described([msgspec.convert({"effect": "as asked", **raw}, Step)])
    return shown


async def ready(operation: str, cluster: Cluster, cwd: Path, shift: ShiftClock) -> Step:
    await asyncio.to_thread(cwd.mkdir)
    async with plain_api(cluster.url("app")) as to:
        return planned(await STEPS[OPERATIONS[operation]](Place(cluster, to, cwd, shift)))


async def applied(step: Step, cluster: Cluster, cwd: Path, user: str) -> Recording:
    """What `jsdoctor fix --apply` sends for the step, and that it was proved."""
    plan: Json = {"schema": "jsdoctor.plan/v1", "version": "0", "created": "2026-01-01T00:00:00Z"}
    (cwd / "plan.json").write_bytes(msgspec.json.encode({**plan, "steps": [step]}))
    assert msgspec.json.decode((cwd / "plan.json").read_bytes(), type=Plan).steps == (step,)
    async with recorded(cluster, user) as recording:
        done = await asyncio.to_thread(jsdoctor, *APPLY, "--server", cluster.url(user), cwd=cwd, timeout=120)
    assert done.stdout, done.stderr
    (ended,) = json.loads(done.stdout)["steps"]
    assert ended["ending"] == "verified", ended
    return recording


async def typed(commands: Iterable[str], nats_cli: Path, cluster: Cluster, user: str) -> Recording:
    """What the `nats` commands send."""
    async with recorded(cluster, user) as recording:
        for command in commands:
            done = await asyncio.to_thread(run, nats_cli, cluster, command, user)
            assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return recording


def as_known(request: Request) -> Request:
    """A request without what is filled in when it is sent."""
    if request.subject.startswith(("STREAM.SNAPSHOT.", "STREAM.RESTORE.")):
        return Request(request.subject, {**request.payload, **dict.fromkeys(AT_SENDING & request.payload.keys())})
    return request


def sent_of(recording: Recording, shown: tuple[Request, ...]) -> list[Request]:
    """Writes, and reads where the plan shows reads, too: those of the shown subjects come once before the effect."""
    reads = [request for request in shown if ".MSG.GET." in request.subject]
    return [*(read for read in reads if read in recording.requests), *recording.writes]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_shown_requests_are_those_that_are_sent(
    cluster: Cluster, tmp_path: Path, shift_clock: ShiftClock, operation: str
) -> None:
    async def main() -> None:
        prepared = await ready(operation, cluster, tmp_path / "sent", shift_clock)
        recording = await applied(prepared, cluster, tmp_path / "sent", login(operation))
        sent = [as_known(request) for request in sent_of(recording, prepared.requests)]
        shown = [as_known(request) for request in prepared.requests]
        if operation == "stream.restore":  # in a plan of jsdoctor the backup is a step of its own, which this one needs
            sent = [request for request in sent if not request.subject.startswith("STREAM.SNAPSHOT.")]
        if operation == "message.delete_head":  # whether more messages follow is seen when the first one is gone
            assert {request.subject for request in sent} == {shown[0].subject}
            sent = sent[:1]
        assert sent == shown

    asyncio.run(main())


@pytest.mark.parametrize("operation", OPERATIONS)
def test_each_step_is_taken_back_beside_steps_for_a_person(
    cluster: Cluster, tmp_path: Path, shift_clock: ShiftClock, operation: str
) -> None:
    """A plan may have a manual step on the same subject, before and after."""

    async def main() -> None:
        cwd = tmp_path / "back"
        prepared = msgspec.structs.replace(await ready(operation, cluster, cwd, shift_clock), id="2")
        by_hand = [
            msgspec.structs.replace(
                Step(
                    action="stream.inspect", operation=MANUAL, subject=prepared.subject, risk=Risk.MANUAL, effect="see"
                ),
                id=number,
            )
            for number in ("1", "3")
        ]
        steps = [by_hand[0], prepared, by_hand[1]]
        plan: Json = {"schema": "jsdoctor.plan/v1", "version": "0", "created": "2026-01-01T00:00:00Z", "steps": steps}
        (cwd / "plan.json").write_bytes(msgspec.json.encode(plan))
        where = ("--server", cluster.url(login(operation)))
        done = await asyncio.to_thread(jsdoctor, *APPLY, "--journal", "j.jsonl", *where, cwd=cwd, timeout=120)
        endings = [step["ending"] for step in json.loads(done.stdout)["steps"]]
        assert endings == ["for a person", "verified", "for a person"], done.stderr
        words = ("rollback", "j.jsonl", "--isolated", "--yes", "--format", "json", *where)
        back = await asyncio.to_thread(jsdoctor, *words, cwd=cwd, timeout=120)
        (ended,) = json.loads(back.stdout)["steps"]
        taken_back = load_operations()[operation].reversible
        assert ended["ending"] in (("taken back", "not taken back") if taken_back else ("kept",)), ended
        assert back.returncode == (1 if ended["ending"] == "not taken back" else 0), back.stderr

    asyncio.run(main())


@pytest.mark.parametrize("operation", [REMOVES])
def test_the_shown_command_removes_a_peer(
    cluster: Cluster, tmp_path: Path, shift_clock: ShiftClock, nats_cli: Path, operation: str
) -> None:
    """The CLI names the server by the id that the meta leader has for it."""

    async def main() -> None:
        prepared = await ready(operation, cluster, tmp_path / "typed", shift_clock)
        recording = await typed(prepared.commands, nats_cli, cluster, "sys")
        assert [sent.subject for sent in recording.writes] == [shown.subject for shown in prepared.requests]
        async with plain_api(cluster.url("sys")) as to:
            assert not meta_group_by_leader(prepared.subject.name, await jsz_of_all_servers(to))["peer"]

    asyncio.run(main())


@pytest.mark.parametrize(
    "operation", [operation for operation in OPERATIONS if operation not in WITHOUT_COMMAND and operation != REMOVES]
)
def test_the_shown_commands_make_the_same_change(
    cluster: Cluster, tmp_path: Path, shift_clock: ShiftClock, nats_cli: Path, operation: str
) -> None:
    async def main() -> None:
        prepared = await ready(operation, cluster, tmp_path / "typed", shift_clock)
        if operation == "consumer.recreate":  # the file that the step tells a person to write
            (tmp_path / "worker.json").write_text(json.dumps(prepared.requests[-1].payload["config"]))
        with contextlib.chdir(tmp_path):
            recording = await typed(prepared.commands, nats_cli, cluster, login(operation))
        assert [meaning(request) for request in recording.writes] == [meaning(request) for request in prepared.requests]

    asyncio.run(main())


ZERO: Json = {"compression": "none", "pause_until": "0001-01-01T00:00:00Z"}
"""Values that servers take for an absent key, and that either side may write."""


def meaning(request: Request) -> Json:
    """A request without what the CLI writes otherwise: chunk sizes, zeros, names that are in the subject."""
    request = as_known(request)
    payload = dict(request.payload or {})
    config = payload.get("config") or (payload if request.subject.startswith("STREAM.UPDATE.") else None)
    if config:
        known = {key: value for key, value in comparable(config).items() if ZERO.get(key) != value}
        if known.get("backoff"):  # the server puts its first step in place of `ack_wait`
            known.pop("ack_wait", None)
        return {"subject": request.subject, "config": known}
    known = {key: value for key, value in payload.items() if value and key not in {"chunk_size", "no_erase"}}
    return {"subject": request.subject, **known}


def test_no_operation_is_left_out() -> None:
    assert OPERATIONS.keys() == load_operations().keys()
    assert set(OPERATIONS.values()) == STEPS.keys()


STREAM_BASE: Json = {"max_bytes": 1 << 20, "max_msgs": 100, "max_age": 3_600_000_000_000}
STREAM_KEYS: dict[str, tuple[Json, Any]] = {
    "max_msgs": ({}, 1000),
    "max_bytes": ({}, 2 << 20),
    "max_age": ({}, 600_000_000_000),
    "duplicate_window": ({}, 100_000_000),
    "max_msg_size": ({}, 1024),
    "discard": ({}, "new"),
    "discard_new_per_subject": ({"discard": "new", "max_msgs_per_subject": 5, "discard_new_per_subject": True}, False),
    "num_replicas": ({"num_replicas": 1}, 3),
    "no_ack": ({"no_ack": True}, False),
}
CONSUMER_KEYS: dict[str, Any] = {
    "max_ack_pending": 50,
    "ack_wait": 45_000_000_000,
    "backoff": [45_000_000_000, 230_333_000_000, 415_667_000_000],
    "inactive_threshold": 7_200_000_000_000,
    "max_deliver": 7,
}


def test_every_key_that_a_step_can_change_is_tried() -> None:
    assert STREAM_KEYS.keys() == {row.name for row in rows(StreamConfig) if row.setting.flag}
    assert CONSUMER_KEYS.keys() == {"backoff"} | {row.name for row in rows(ConsumerConfig) if row.setting.flag}


async def _same_change(step: Step, nats_cli: Path, cluster: Cluster) -> None:
    """The edit sends the configuration that the plan shows."""
    recording = await typed(step.commands, nats_cli, cluster, "app")
    (sent,), (shown,) = recording.writes, step.requests
    assert meaning(sent) == meaning(shown)


@pytest.mark.parametrize("name", ["SETTINGS", "KV_settings"])
@pytest.mark.parametrize("key", STREAM_KEYS)
@pytest.mark.parametrize("mute", [False, pytest.param(True, marks=pytest.mark.nightly)], ids=["", "no_ack"])
def test_each_flag_of_a_stream(cluster: Cluster, nats_cli: Path, key: str, name: str, mute: bool) -> None:
    if name.startswith("KV_") and (mute or key not in BUCKET_FLAGS):
        pytest.skip("`nats kv edit` has no such flag; a bucket has acknowledgements")
    more, after = STREAM_KEYS[key]

    async def main() -> None:
        async with plain_api(cluster.url("app")) as to:
            await to.request(f"$JS.API.STREAM.DELETE.{name}")
            await _make(to, name, {**STREAM_BASE, **({"no_ack": True} if mute else {}), **more})
            config = (await to.ask(f"STREAM.INFO.{name}"))["config"]
            changes = [{"key": key, "before": config.get(key), "after": after}]
            if key == "discard_new_per_subject":  # the server takes it with `new` only, and the plan changes both
                changes.insert(0, {"key": "discard", "before": "new", "after": "old"})
            subject = {"kind": "stream", "name": name}
            change_step = planned(step("stream.update", subject, base={"config": config}, changes=changes))
            await _same_change(change_step, nats_cli, cluster)

    asyncio.run(main())


async def _make(to: PlainApi, name: str, config: Json) -> None:
    if not name.startswith("KV_"):
        await add_stream(to.client, name, subjects=["settings"], **config)
        return
    bucket = name.removeprefix("KV_")
    store = {key: value for key, value in config.items() if key in ("max_bytes", "num_replicas")}
    await add_stream(
        to.client,
        name,
        subjects=[f"$KV.{bucket}.>"],
        max_msgs_per_subject=5,
        allow_rollup_hdrs=True,
        deny_delete=True,
        allow_direct=True,
        discard="new",
        **store,
    )


@pytest.mark.parametrize("key", CONSUMER_KEYS)
def test_each_flag_of_a_consumer(cluster: Cluster, nats_cli: Path, key: str) -> None:
    async def main() -> None:
        async with plain_api(cluster.url("app")) as to:
            await to.request("$JS.API.STREAM.DELETE.SETTINGS")
            await _make(to, "SETTINGS", STREAM_BASE)
            await add_consumer(to.client, "SETTINGS", "worker", max_deliver=10)
            config = (await to.ask("CONSUMER.INFO.SETTINGS.worker"))["config"]
            changes = [{"key": key, "before": config.get(key), "after": CONSUMER_KEYS[key]}]
            if key == "backoff":
                changes.append({"key": "ack_wait", "before": config["ack_wait"], "after": CONSUMER_KEYS[key][0]})
            subject = {"kind": "consumer", "name": "worker", "stream": "SETTINGS"}
            change_step = planned(step("consumer.update", subject, base={"config": config}, changes=changes))
            await _same_change(change_step, nats_cli, cluster)

    asyncio.run(main())
