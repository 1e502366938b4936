"""Backups of real streams: every message of them, in the format of the `nats` command, and back again."""

import asyncio
import random
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from nats.aio.msg import Msg

from jsdoctor.remedy.backup.files import (
    ARCHIVE,
    META,
    NOTE,
    BackupProblem,
    data_file,
    read_meta,
    require_verified,
    stream_dir,
)
from jsdoctor.remedy.backup.former import delete_stream
from jsdoctor.remedy.backup.restore import EmptyProblem, info_of, restore, send_chunk
from jsdoctor.remedy.backup.take import LiveMessage, all_consumers, message_from, take
from jsdoctor.remedy.replies import differences
from tests.remedy.asking import PlainApi, with_api
from tests.servers import Cluster, ClusterFactory, wait_until
from tests.sources.looking import NIGHTLY_UNLESS_DEFAULT
from tests.support.deployment import add_consumer, add_stream, api, drain

pytestmark = pytest.mark.real

COUNT = 400


async def stored(to: PlainApi, name: str, **config: Any) -> None:
    """A stream with messages of every kind: with and without headers, empty, well and badly compressible, deleted."""
    chance = random.Random(name)  # noqa: S311 - the same messages every time
    await add_stream(to.client, name, subjects=[f"{name}.>"], **config)
    await add_consumer(to.client, name, "reader")
    for number in range(COUNT):
        headers = {"Nats-Msg-Id": str(number), "Note": "x" * chance.randint(0, 40)} if number % 3 else None
        words = b"well compressible %d " % number * chance.randint(0, 60)
        payload = words if number % 2 else chance.randbytes(chance.randint(0, 4000))
        await to.client.request(f"{name}.{number % 7}", payload, headers=headers, timeout=10)
    await to.ask(f"STREAM.MSG.DELETE.{name}", {"seq": 150})
    await to.ask(f"STREAM.MSG.DELETE.{name}", {"seq": 151, "no_erase": True})


async def backed_up(to: PlainApi, name: str, parent: Path) -> Path:
    directory = stream_dir(parent, name, "now")
    await take(to, name, directory)
    return directory


async def content(to: PlainApi, name: str) -> list[LiveMessage]:
    """Every message of the stream."""
    found: list[LiveMessage] = []
    while message := await message_from(to, name, found[-1].stream_seq + 1 if found else 1):
        found.append(message)
    return found


async def restored(to: PlainApi, directory: Path) -> int:
    """How many messages the restored stream has. Deletes an empty one first that a server left, as operations do."""
    try:
        info = await restore(to, directory)
    except EmptyProblem:
        await delete_stream(to, read_meta(directory)["config"]["name"])
        info = await restore(to, directory)
    count: int = info["state"]["messages"]
    return count


@pytest.fixture(params=NIGHTLY_UNLESS_DEFAULT)
def cluster(shared_cluster: ClusterFactory, request: pytest.FixtureRequest) -> Cluster:
    return shared_cluster(request.param, extra_config="# backups\n")


SHAPES: dict[str, dict[str, Any]] = {
    "LIMITS": {},
    "RING": {"max_msgs": COUNT - 50},
    "QUEUE": {"retention": "workqueue"},
    "PACKED": {"compression": "s2"},
    "SUBJECTS": {"max_msgs_per_subject": 40, "allow_direct": True},
}


def test_every_message_comes_back(cluster: Cluster, tmp_path: Path) -> None:
    async def use(to: PlainApi) -> None:
        for shape, config in SHAPES.items():
            name = f"{shape}-A"
            await stored(to, name, **config)
            before, whole = await to.ask(f"STREAM.INFO.{name}"), await content(to, name)
            held = await to.ask(f"CONSUMER.INFO.{name}.reader")
            directory = await backed_up(to, name, tmp_path)
            assert require_verified(directory).messages == before["state"]["messages"] == len(whole) > 0, name
            await to.ask(f"STREAM.DELETE.{name}")
            info = await restore(to, directory)
            assert differences(before["config"], info["config"]) == (), name
            after = await to.ask(f"STREAM.INFO.{name}")
            for key in ("messages", "first_seq", "last_seq", "first_ts", "last_ts"):
                assert after["state"][key] == before["state"][key], (name, key)
            again = await to.ask(f"CONSUMER.INFO.{name}.reader")
            for key in ("num_pending", "num_ack_pending"):
                assert again[key] == held[key], (name, key)
            assert await content(to, name) == whole, name

    with_api(cluster.url(), use)


def test_the_nats_command_reads_ours_and_we_read_its(cluster: Cluster, nats_cli: Path, tmp_path: Path) -> None:
    def run(*words: str) -> None:
        done = subprocess.run([nats_cli, "-s", cluster.url(), *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    async def use(to: PlainApi) -> None:
        await stored(to, "CLI")
        whole = await content(to, "CLI")
        ours, theirs = await backed_up(to, "CLI", tmp_path), tmp_path / "theirs"
        await asyncio.to_thread(run, "stream", "backup", "CLI", str(theirs), "--consumers")
        assert data_file(theirs).name == data_file(ours).name
        assert read_meta(theirs)["config"].items() <= read_meta(ours)["config"].items()  # ours is whole
        with pytest.raises(BackupProblem, match="never verified"):
            require_verified(theirs)
        await to.ask("STREAM.DELETE.CLI")
        await asyncio.to_thread(run, "stream", "restore", str(ours))
        assert await content(to, "CLI") == whole
        await to.ask("STREAM.DELETE.CLI")
        await restore(to, theirs)
        assert await content(to, "CLI") == whole

    with_api(cluster.url(), use)


def test_a_damaged_store_is_not_backed_up(cluster_factory: ClusterFactory, server_version: str, tmp_path: Path) -> None:
    """A bit of one changes on its disk while it is stopped."""
    cluster = cluster_factory(server_version)
    directory = stream_dir(tmp_path, "SICK", "now")

    async def sicken(to: PlainApi) -> None:
        await stored(to, "SICK")

    async def use(to: PlainApi) -> None:
        with pytest.raises(BackupProblem, match="1 of the 398 messages"):
            await take(to, "SICK", directory)
        with pytest.raises(BackupProblem, match="never verified"):
            require_verified(directory)
        assert len(await content(to, "SICK")) == 397, "the rest is as it was"

    with_api(cluster.url(), sicken)
    cluster.stop("n1")
    (block, *_) = sorted(cluster.store_dir("n1").rglob("SICK/msgs/*.blk"))
    damaged = bytearray(block.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    block.write_bytes(damaged)
    cluster.start("n1")
    with_api(cluster.url(), use)


def test_a_backup_without_one_of_the_consumers_is_refused(
    cluster_factory: ClusterFactory, server_version: str, tmp_path: Path
) -> None:
    """nats-server#7829: servers before 2.15 write only those that the stream's leader has on its disk."""
    cluster = cluster_factory(server_version, nodes=3)

    async def use(to: PlainApi) -> None:
        await add_stream(to.client, "SPREAD", subjects=["SPREAD"], num_replicas=3)
        await add_consumer(to.client, "SPREAD", "everywhere")
        await backed_up(to, "SPREAD", tmp_path / "first")
        for number in range(12):
            await add_consumer(to.client, "SPREAD", f"single-{number}", num_replicas=1)
        await add_consumer(to.client, "SPREAD", "remembered", mem_storage=True)
        leader = (await to.ask("STREAM.INFO.SPREAD"))["cluster"]["leader"]
        listed = await all_consumers(to, "SPREAD")
        absent = {c["name"] for c in listed if c["name"] == "remembered" or c["cluster"]["leader"] != leader}
        absent.discard("everywhere")
        assert len(absent) > 1, "servers put all twelve consumers beside the stream's leader"
        if server_version >= "2.15":
            note = require_verified(await backed_up(to, "SPREAD", tmp_path))
            assert len(note.consumers) == 14
            return
        with pytest.raises(BackupProblem, match="lacks its consumers") as refused:
            await backed_up(to, "SPREAD", tmp_path)
        assert set(re.findall(r"single-\d+|remembered|everywhere", str(refused.value))) == absent

    with_api(cluster.url(), use)


def test_a_changed_backup_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    async def use(to: PlainApi) -> None:
        await stored(to, "DAMAGE")
        directory = await backed_up(to, "DAMAGE", tmp_path)
        assert require_verified(directory).stream == "DAMAGE"
        path = data_file(directory)
        whole = path.read_bytes()
        for changed in (b"", whole[:-1], bytes([whole[0] ^ 1]) + whole[1:]):
            path.write_bytes(changed)
            with pytest.raises(BackupProblem, match="has changed since"):
                require_verified(directory)

    with_api(cluster.url(), use)


DAMAGED = (
    b"",
    b"[]",
    b"{",
    b"\xff\xfe",
    b'{"config": {"name": "S\xc3"}, "state": {}}',
    b'{"config": {}, "state": {}}',
    b'{"config": {"name": 7}, "state": {}}',
    b'{"config": {"name": "S"}, "state": {"last_seq": "9"}}',
    b'{"config": {"name": "S"}, "state": {"messages": -1}}',
    b'{"config": {"name": "S"}, "state": {"first_seq": 99999999999999999999999}}',
    b'{"config": {"name": "S", "max_age": 9e999}, "state": []}',
    b"[" * 100_000,
    b'{"config": {"name": "S", "x": ' + b"[" * 100_000,
)


@pytest.mark.parametrize("content", DAMAGED, ids=range(len(DAMAGED)))
def test_damaged_metadata_is_a_sentence(content: bytes, tmp_path: Path) -> None:
    (tmp_path / META).write_bytes(content)
    (tmp_path / NOTE).write_bytes(content)
    (tmp_path / ARCHIVE).mkdir()
    with pytest.raises(BackupProblem, match="cannot be read as a backup's"):
        read_meta(tmp_path)
    with pytest.raises(BackupProblem, match="never verified"):
        require_verified(tmp_path)


def test_what_cannot_be_done_is_reported_before_anything_is_written(cluster: Cluster, tmp_path: Path) -> None:
    async def use(to: PlainApi) -> None:
        await add_stream(to.client, "MEMORY", storage="memory")
        with pytest.raises(BackupProblem, match="kept in memory"):
            await backed_up(to, "MEMORY", tmp_path)
        await add_stream(to.client, "THERE", subjects=["THERE"])
        directory = await backed_up(to, "THERE", tmp_path)
        assert require_verified(directory).messages == 0
        with pytest.raises(BackupProblem, match="stream THERE is there"):
            await restore(to, directory)
        assert not (await info_of(to, "THERE")).get("missing")
        await to.ask("STREAM.DELETE.THERE")
        data_file(directory).write_bytes(b"\xff\x06\x00\x00S2sTwO")
        with pytest.raises(BackupProblem, match=r"refused the backup|stream was not restored|does not take"):
            await restore(to, directory, stalled_s=10.0)
        assert await info_of(to, "THERE") == {"missing": True}

    with_api(cluster.url(), use)


def test_a_chunk_is_sent_again_until_a_server_takes_it(cluster: Cluster) -> None:
    """In a cluster, the reply to a restore may arrive before the interest of its server in the chunks."""
    taken: list[bytes] = []

    async def use(to: PlainApi) -> None:
        async def take_chunk(message: Msg) -> None:
            taken.append(message.data)
            await message.respond(b"")

        async def subscribe_late() -> None:
            await asyncio.sleep(1.2)
            await to.client.subscribe("late.chunks", cb=take_chunk)

        inbox = await to.inbox()
        late = asyncio.create_task(subscribe_late())
        await send_chunk(to, inbox, "late.chunks", b"first", 10.0)
        await late
        with pytest.raises(BackupProblem, match="does not take the backup"):
            await send_chunk(to, inbox, "no.chunks", b"first", 10.0)
        await inbox.close()

    with_api(cluster.url(), use)
    assert taken == [b"first"]


@pytest.mark.nightly
def test_in_a_cluster_with_work_going_on(cluster_factory: ClusterFactory, server_version: str, tmp_path: Path) -> None:
    cluster = cluster_factory(server_version, nodes=3)

    async def use(to: PlainApi) -> None:
        await stored(to, "R3", num_replicas=3)
        await add_stream(to.client, "WORK", subjects=["WORK"], retention="workqueue", num_replicas=3)
        await add_consumer(to.client, "WORK", "worker")
        for number in range(50):
            await to.client.request("WORK", b"%d" % number, timeout=10)
        directory = await backed_up(to, "WORK", tmp_path)
        assert await drain(to.client, "WORK", "worker") == 50
        assert require_verified(directory).messages == 50
        directory, whole = await backed_up(to, "R3", tmp_path), await content(to, "R3")
        await to.ask("STREAM.DELETE.R3")
        await restore(to, directory)
        assert (await api(to.client, "STREAM.INFO.R3"))["config"]["num_replicas"] == 3
        assert await content(to, "R3") == whole

    with_api(cluster.url(), use)


def test_a_stream_whose_store_a_server_could_not_create_is_restored_again(
    shared_cluster: ClusterFactory, tmp_path: Path
) -> None:
    """A file is in the place of the stream's directory; the server removes it after its first attempt."""
    cluster = shared_cluster(nodes=3, extra_config="# interrupted restores\n")
    places = [cluster.store_dir(name) / "jetstream" / "APP" / "streams" / "KEPT" for name in cluster.names]

    async def work(to: PlainApi) -> int:
        await add_stream(to.client, "OTHER", subjects=["other"], num_replicas=3)  # the directory of streams stays
        await add_stream(to.client, "KEPT", subjects=["kept"], num_replicas=3)
        for number in range(20):
            await to.client.request("kept", b"%d" % number, timeout=10)
        directory = await backed_up(to, "KEPT", tmp_path)
        assert all(place.is_dir() for place in places)
        await to.ask("STREAM.DELETE.KEPT")
        wait_until(lambda: not any(place.exists() for place in places), "no directory of the stream")
        for place in places:
            place.touch()
        return await restored(to, directory)

    assert with_api(cluster.url(), work) == 20


@pytest.mark.nightly
def test_an_interrupted_restore_does_not_block_the_next_one(shared_cluster: ClusterFactory, tmp_path: Path) -> None:
    """In a cluster it reserves the stream's name until its server gives up."""
    cluster = shared_cluster(nodes=3, extra_config="# interrupted restores\n")

    async def work(to: PlainApi) -> int:
        await add_stream(to.client, "CUT", subjects=["cut"], num_replicas=3)
        for number in range(20):
            await to.client.request("cut", b"%d" % number, timeout=10)
        directory = await backed_up(to, "CUT", tmp_path)
        await to.ask("STREAM.DELETE.CUT")
        meta = read_meta(directory)
        await to.ask("STREAM.RESTORE.CUT", {"config": meta["config"], "state": meta["state"]})
        return await restored(to, directory)

    assert with_api(cluster.url(), work) == 20
