"""Consumers of a restored stream stand where the backup has them, or it is said."""

from pathlib import Path

import pytest

from jsdoctor.model.finding import Subject
from jsdoctor.model.plan import Json, Step
from jsdoctor.model.rule import Risk
from jsdoctor.remedy.api import Api
from jsdoctor.remedy.backup import former
from jsdoctor.remedy.backup.files import require_verified, stream_dir
from jsdoctor.remedy.backup.former import MAX_RESTORES, consumers_are_back, consumers_of
from jsdoctor.remedy.backup.restore import restore
from jsdoctor.remedy.backup.take import take
from jsdoctor.remedy.families import backup
from jsdoctor.remedy.operation import JournalNote, StepContext, StepRefusedError
from tests.remedy.asking import PlainApi, with_api
from tests.servers import Cluster, ClusterFactory
from tests.sources.looking import NIGHTLY_UNLESS_DEFAULT
from tests.support.deployment import add_consumer, add_stream, drain

pytestmark = pytest.mark.real


@pytest.fixture(params=NIGHTLY_UNLESS_DEFAULT)
def cluster(shared_cluster: ClusterFactory, request: pytest.FixtureRequest) -> Cluster:
    return shared_cluster(request.param, extra_config="# positions\n")


async def furnished(to: PlainApi, stream: str) -> None:
    """Thirty messages: `worker` has acknowledged all of them, `idle` was given none."""
    await add_stream(to.client, stream, subjects=[stream])
    await add_consumer(to.client, stream, "worker")
    await add_consumer(to.client, stream, "idle")
    for _ in range(30):
        await to.client.request(stream, b"x")
    await drain(to.client, stream, "worker")


async def backed_up(to: PlainApi, stream: str, parent: Path) -> Path:
    await furnished(to, stream)
    directory = stream_dir(parent, stream, "now")
    await take(to, stream, directory)
    return directory


async def renewed(to: PlainApi, stream: str, name: str) -> None:
    """The consumer as its server would make it if it had forgotten the position."""
    await to.ask(f"CONSUMER.DELETE.{stream}.{name}")
    await add_consumer(to.client, stream, name)


def test_a_backup_shows_where_its_consumers_stood(cluster: Cluster, tmp_path: Path) -> None:
    async def run(to: PlainApi) -> None:
        directory = await backed_up(to, "STOOD", tmp_path)
        live = await consumers_of(to, "STOOD")
        for name, place in (("worker", 30), ("idle", 0)):
            pair = {"stream_seq": place, "consumer_seq": place}
            assert live[name]["delivered"] == pair
            kept = require_verified(directory).consumers[name]
            assert (kept["delivered"], kept["ack_floor"]) == (pair, pair)

    with_api(cluster.url(), run)


def test_a_consumer_that_went_back_is_found(cluster: Cluster, tmp_path: Path) -> None:
    async def run(to: PlainApi) -> None:
        directory = await backed_up(to, "BACK", tmp_path)
        await to.ask("STREAM.DELETE.BACK")
        await restore(to, directory)
        assert await consumers_are_back(to, require_verified(directory), {})
        await renewed(to, "BACK", "worker")
        assert not await consumers_are_back(to, require_verified(directory), {})
        await to.client.request("BACK", b"x")
        with pytest.raises(StepRefusedError, match=r"worker stands at 0 .*in the backup at 30 .*stored since \(1\)"):
            await consumers_are_back(to, require_verified(directory), {})

    with_api(cluster.url(), run)


def test_a_consumer_at_the_place_of_a_deleted_one_is_found(cluster: Cluster, tmp_path: Path) -> None:
    """`idle` stands at 30 after the restore. It went on by itself, unless it stood there before the restore, too."""

    async def run(to: PlainApi) -> None:
        directory = await backed_up(to, "PLACE", tmp_path)
        await drain(to.client, "PLACE", "idle")
        replaced = await consumers_of(to, "PLACE")
        await to.ask("STREAM.DELETE.PLACE")
        await restore(to, directory)
        assert await consumers_are_back(to, require_verified(directory), replaced)
        await drain(to.client, "PLACE", "idle")
        assert await consumers_are_back(to, require_verified(directory), {})
        assert not await consumers_are_back(to, require_verified(directory), replaced)

    with_api(cluster.url(), run)


@pytest.mark.parametrize("times", [1, MAX_RESTORES])
def test_a_restore_whose_consumer_is_elsewhere_is_repeated(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """Servers restore all messages and, so many times, not the position of `worker`."""
    stream, restores = f"AGAIN{times}", 0

    async def restore_without_position(to: Api, directory: Path) -> Json:
        nonlocal restores
        info = await restore(to, directory)
        restores += 1
        if restores <= times:
            assert isinstance(to, PlainApi)
            await renewed(to, stream, "worker")
        return info

    async def run(to: PlainApi) -> None:
        directory = await backed_up(to, stream, tmp_path)
        notes: list[JournalNote] = []
        context = StepContext(
            Step(
                action="stream.restore",
                operation="stream.restore",
                subject=Subject(kind="stream", name=stream),
                risk=Risk.DESTRUCTIVE,
                effect="",
                values={"backup": str(directory)},
            ),
            to,
            lambda kind, data: notes.append(JournalNote(kind, data)),
            written=notes,
            directory=tmp_path,
        )
        await backup.back_up(context, stream)
        if times < MAX_RESTORES:
            await backup.Restore().write(context, {})
            assert restores == times + 1
            assert (await consumers_of(to, stream))["worker"]["ack_floor"] == {"stream_seq": 30, "consumer_seq": 30}
            return
        with pytest.raises(StepRefusedError, match="did not restore all of the backup, 4 times"):
            await backup.Restore().write(context, {})

    monkeypatch.setattr(former, "restore", restore_without_position)
    with_api(cluster.url(), run)
