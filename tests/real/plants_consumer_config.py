"""Faults of consumers that lie in their configuration."""

from __future__ import annotations

import contextlib
from typing import Any

import nats.errors
from nats.aio.client import Client

from jsdoctor.model.server_defaults import DEFAULT_MAX_WAITING
from tests.real.ward import Site, plant
from tests.support.deployment import HOUR_NS, add_consumer, api

SECOND_NS = 1_000_000_000


async def recreate(client: Client, stream: str, name: str, **config: Any) -> None:
    """Policies cannot be changed: delete and create again.

    A cluster may lose the answer to a creation that follows a deletion closely, so it is asked for again: creating what
    is there already, just so, is no error.
    """
    await api(client, f"CONSUMER.DELETE.{stream}.{name}")
    for _ in range(3):
        with contextlib.suppress(nats.errors.TimeoutError):
            await add_consumer(client, stream, name, **config)
            return
    raise AssertionError(f"{stream} > {name} could not be created again")


@plant("JSD407", "APP/P407/late", severity="warning")
async def start_beyond_the_end(site: Site) -> None:
    """Asks for message 500 of ten: 2.12 and later wait for it, 2.10 starts with the next one."""
    await site.stream("P407", subjects=["p407"])
    await site.publish("p407", 10)
    await site.consumer("P407", "late", deliver_policy="by_start_sequence", opt_start_seq=500)


@start_beyond_the_end.cure
async def start_inside(site: Site) -> None:
    await recreate(site.client, "P407", "late", deliver_policy="by_start_sequence", opt_start_seq=11)


@plant("JSD407", "APP/P4070/gone", severity="warning", also={"JSD206", "JSD618"})
async def start_before_the_first(site: Site) -> None:
    """Asks for message 5 when only the last five of twenty are left.

    A consumer whose leader has not removed all of them yet starts at one that is removed next (JSD206).
    """
    await site.stream("P4070", subjects=["p4070"], max_msgs=5)
    await site.publish("p4070", 20)
    await site.consumer("P4070", "gone", deliver_policy="by_start_sequence", opt_start_seq=5)


@start_before_the_first.cure
async def start_at_the_first(site: Site) -> None:
    await recreate(site.client, "P4070", "gone", deliver_policy="by_start_sequence", opt_start_seq=16)


@plant("JSD407", "APP/P4071/session", severity="info")
async def forgets_and_skips(site: Site) -> None:
    """Deleted after two hours of absence, then started anew at the end."""
    await site.stream("P4071", subjects=["p4071"])
    await site.consumer("P4071", "session", deliver_policy="new", inactive_threshold=2 * HOUR_NS)


@forgets_and_skips.cure
async def stays(site: Site) -> None:
    await site.consumer("P4071", "session", deliver_policy="new")


@plant("JSD410", "APP/P410/hasty", severity="warning")
async def ack_wait_of_milliseconds(site: Site) -> None:
    """50 ms to acknowledge."""
    await site.stream("P410", subjects=["p410"])
    await site.consumer("P410", "hasty", ack_wait=SECOND_NS // 20)


@ack_wait_of_milliseconds.cure
async def ack_wait_of_seconds(site: Site) -> None:
    await site.consumer("P410", "hasty", ack_wait=30 * SECOND_NS)


@plant("JSD410", "APP/P4100/backoff", severity="warning")
async def backoff_overrides(site: Site) -> None:
    """30 s were asked for, but the first step of the backoff is what counts."""
    await site.stream("P4100", subjects=["p4100"])
    backoff = [SECOND_NS // 10, SECOND_NS]
    await site.consumer("P4100", "backoff", ack_wait=30 * SECOND_NS, backoff=backoff, max_deliver=5)


@backoff_overrides.cure
async def longer_backoff(site: Site) -> None:
    await site.consumer("P4100", "backoff", backoff=[30 * SECOND_NS, 60 * SECOND_NS], max_deliver=5)


@plant("JSD412", "APP/P412/tap", severity="warning")
async def nothing_acknowledged(site: Site) -> None:
    """A durable without acknowledgements on a stream that deletes what was sent."""
    await site.stream("P412", subjects=["p412"], retention="interest")
    await site.consumer("P412", "tap", ack_policy="none")


@nothing_acknowledged.cure
async def everything_acknowledged(site: Site) -> None:
    await recreate(site.client, "P412", "tap")


@plant("JSD412", "APP/P4120/shared", severity="warning")
async def group_acknowledges_all(site: Site) -> None:
    """Members of a queue group acknowledge for each other."""
    await site.stream("P4120", subjects=["p4120"])
    group = {"deliver_subject": "deliver.p4120", "deliver_group": "workers"}
    await site.client.subscribe(group["deliver_subject"], queue=group["deliver_group"])
    await site.consumer("P4120", "shared", ack_policy="all", **group)


@group_acknowledges_all.cure
async def each_for_itself(site: Site) -> None:
    await recreate(site.client, "P4120", "shared", deliver_subject="deliver.p4120", deliver_group="workers")


@plant("JSD414", "APP/P414/fleeting", severity="warning")
async def short_lived_durable(site: Site) -> None:
    """Five minutes without its application delete it."""
    await site.stream("P414", subjects=["p414"])
    await site.consumer("P414", "fleeting", inactive_threshold=300 * SECOND_NS)


@short_lived_durable.cure
async def long_lived_durable(site: Site) -> None:
    await site.consumer("P414", "fleeting")


@plant("JSD414", "APP/P4140/paused", severity="info", since=(2, 11))
async def paused(site: Site) -> None:
    """Paused far into the future. 2.10 cannot pause."""
    await site.stream("P4140", subjects=["p4140"])
    await site.consumer("P4140", "paused")
    await site.api("CONSUMER.PAUSE.P4140.paused", {"pause_until": "2199-01-01T00:00:00Z"})


@paused.cure
async def resumed(site: Site) -> None:
    await site.api("CONSUMER.PAUSE.P4140.paused")


@plant("JSD415", "APP/P415/watched", severity="critical")
async def past_its_own_threshold(site: Site) -> None:
    """Five messages unacknowledged where its owner allows two."""
    await site.stream("P415", subjects=["p415"])
    metadata = {"io.nats.monitor.enabled": "true", "io.nats.monitor.outstanding-ack-critical": "3"}
    await site.consumer("P415", "watched", metadata=metadata, ack_wait=HOUR_NS)
    await site.publish("p415", 5)
    await site.fetch("P415", "watched", 5, ack=False)


@past_its_own_threshold.cure
async def threshold_raised(site: Site) -> None:
    metadata = {"io.nats.monitor.enabled": "true", "io.nats.monitor.outstanding-ack-critical": "6"}
    await site.consumer("P415", "watched", metadata=metadata, ack_wait=HOUR_NS)


@plant("JSD416", "APP/P416/typo", severity="warning")
async def filter_outside(site: Site) -> None:
    """One letter is missing in the filter."""
    await site.stream("P416", subjects=["p416.orders.>"])
    await site.publish("p416.orders.new", 3)
    await site.consumer("P416", "typo", filter_subject="p416.order.new")


@filter_outside.cure
async def filter_inside(site: Site) -> None:
    await site.consumer("P416", "typo", filter_subject="p416.orders.new")


@plant("JSD422", "APP/P422/twin", severity="info")
async def one_subject_for_two(site: Site) -> None:
    """Both deliver everything to one subject, to which nobody subscribes yet."""
    await site.stream("P422", subjects=["p422"])
    await site.consumer("P422", "first", deliver_subject="deliver.p422")
    await site.consumer("P422", "twin", deliver_subject="deliver.p422")


@one_subject_for_two.cure
async def a_subject_each(site: Site) -> None:
    await site.consumer("P422", "twin", deliver_subject="deliver.p422.twin")


@plant("JSD424", "APP/P424/worker", severity="warning")
async def work_that_expires(site: Site) -> None:
    """A message lives for as long as a worker may hold it."""
    await site.stream("P424", subjects=["p424"], retention="workqueue", max_age=30 * SECOND_NS, duplicate_window=0)
    await site.consumer("P424", "worker", ack_wait=30 * SECOND_NS)


@work_that_expires.cure
async def a_shorter_hold(site: Site) -> None:
    await site.consumer("P424", "worker", ack_wait=10 * SECOND_NS)


@plant("JSD425", "APP/P425/worker", severity="warning")
async def more_requests_than_places(site: Site) -> None:
    """One request more than the server takes where the client sets no limit."""
    await site.stream("P425", subjects=["p425"])
    await site.consumer("P425", "worker")
    inbox = site.client.new_inbox()
    await site.client.subscribe(f"{inbox}.*")
    for number in range(DEFAULT_MAX_WAITING + 1):
        request = b'{"batch": 1, "expires": 600000000000}'
        await site.client.publish("$JS.API.CONSUMER.MSG.NEXT.P425.worker", request, reply=f"{inbox}.{number}")


@more_requests_than_places.cure
async def a_consumer_with_places(site: Site) -> None:
    await recreate(site.client, "P425", "worker", max_waiting=4 * DEFAULT_MAX_WAITING)
