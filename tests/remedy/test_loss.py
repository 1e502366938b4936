"""What a changed limit would delete, as a step judges it right before it is sent, and as real servers do it."""

import asyncio
from typing import Any

import pytest

from jsdoctor.remedy.preconditions import would_delete
from tests.remedy.asking import plain_api
from tests.servers import ClusterFactory
from tests.sources.looking import NIGHTLY_UNLESS_DEFAULT
from tests.support.deployment import add_stream

HOUR_NS = 3_600_000_000_000


def info(**config: Any) -> dict[str, Any]:
    state = {"messages": 10, "bytes": 1000, "first_ts": "2026-01-01T00:00:00Z", "num_subjects": 1}
    return {"config": config, "state": state, "ts": "2026-01-01T02:00:00.5Z"}


@pytest.mark.parametrize(
    ("now", "target", "word"),
    [
        ({}, {"max_msgs": 9}, "10 messages"),
        ({}, {"max_msgs": 10}, ""),
        ({"max_msgs": 9}, {"max_msgs": 9}, ""),
        ({}, {"max_bytes": 999}, "1,000 bytes"),
        ({}, {"max_bytes": -1}, ""),
        ({"discard": "new"}, {"discard": "new", "max_msgs": 9, "max_bytes": 999}, ""),
        ({"discard": "new", "max_msgs": 9}, {"discard": "old", "max_msgs": 9}, "10 messages"),
        ({"discard": "new", "max_bytes": 999}, {"discard": "old", "max_bytes": 999}, "1,000 bytes"),
        ({}, {"max_age": HOUR_NS}, "max_age becomes"),
        ({}, {"max_age": 3 * HOUR_NS}, ""),
        ({"max_age": 3 * HOUR_NS}, {"max_age": 0}, ""),
        ({}, {"max_msgs_per_subject": 1}, "at least 9 are deleted"),
        ({"max_msgs_per_subject": 1}, {"max_msgs_per_subject": 5}, ""),
    ],
)
def test_what_a_limit_would_delete(now: dict[str, Any], target: dict[str, Any], word: str) -> None:
    loss = would_delete(target, info(**now))
    assert (word in loss) if word else not loss


def test_what_is_not_known_counts_as_a_loss() -> None:
    assert would_delete({"max_age": HOUR_NS}, {"config": {}, "state": {"messages": 1}})
    assert would_delete({"max_msgs_per_subject": 1}, {"config": {}, "state": {"messages": 2}})
    assert would_delete({"max_msgs": "many"}, info())


@pytest.mark.real
@pytest.mark.parametrize("version", NIGHTLY_UNLESS_DEFAULT)
@pytest.mark.parametrize("storage", ["file", "memory"])
@pytest.mark.parametrize("limit", [{"max_msgs": 4}, {"max_bytes": 200}])
def test_servers_delete_what_it_predicts(
    shared_cluster: ClusterFactory, version: str, storage: str, limit: dict[str, int]
) -> None:
    """A lower limit deletes nothing while new messages are refused, and all that is over it once old ones go."""
    cluster = shared_cluster(version, 1, extra_config="# loss\n")

    async def main() -> None:
        async with plain_api(cluster.url("app")) as to:
            await to.request("$JS.API.STREAM.DELETE.FULL")
            await add_stream(to.client, "FULL", subjects=["full"], storage=storage, discard="new")
            for _ in range(10):
                await to.client.request("full", b"x" * 20, timeout=10)
            for change, deletes in ((limit, False), ({"discard": "old"}, True)):
                now = await to.ask("STREAM.INFO.FULL")
                target = {**now["config"], **change}
                assert bool(would_delete(target, now)) is deletes, (change, would_delete(target, now))
                after = await to.ask("STREAM.UPDATE.FULL", target)
                assert (after["state"]["messages"] < 10) is deletes, (change, after["state"])

    asyncio.run(main())
