"""Faults on streams of their own, each with the rule that must name it, declared before the first run.

The name of a fault begins the names of its streams. `busy` goes on while `jsdoctor` looks.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import nats

from tests.support.deployment import HOUR_NS, add_consumer, api
from tests.topologies.habits import SECOND_NS, Furnish, Place


@dataclass
class Fault:
    """One fault: the rule that must name it, and the subject that the finding must have."""

    code: str
    subject: str
    furnish: Furnish
    busy: tuple[Furnish, ...] = ()
    since: tuple[int, int] = (2, 10)
    before: tuple[int, int] = (99, 0)
    clustered: bool = False
    missed: str = ""
    """Why no rule names it; empty where one must."""
    options: tuple[str, ...] = ()
    """More options of the check, which must not matter to the other faults of the table."""
    blurred: bool = False
    """Whether clusters of versions that count removals among the errors of the API do not show it."""
    mentions: str = ""
    """What the message of the finding must contain, where its subject alone does not tell which fault it means."""

    def fits(self, version: str, servers: int) -> bool:
        """Whether that version and so many servers have what the fault needs."""
        release = tuple(int(part) for part in version.split(".")[:2])
        enough = servers > 1 or not self.clustered
        shown = not (self.blurred and servers > 1 and (2, 11) <= release < (2, 15))
        return enough and shown and self.since <= release < self.before

    def named(self, subjects: Iterable[str]) -> bool:
        """Whether one of those subjects is the declared one; any below it, where it ends in `/`, and any server, where
        it is empty.
        """
        if not self.subject:
            return any(subjects)
        return any(
            subject.startswith(self.subject) if self.subject.endswith("/") else subject == self.subject
            for subject in subjects
        )


class Table(list[Fault]):
    """Faults that fit beside each other on one deployment."""

    def fault(self, code: str, subject: str, *busy: Furnish, **needs: Any) -> Callable[[Furnish], Furnish]:
        """Register a fault; `subject` is below the account, which it is where it is `.`, and empty for a server.
        `needs` are the last fields of `Fault`.
        """

        def register(furnish: Furnish) -> Furnish:
            label = subject and ("APP" if subject == "." else f"APP/{subject}")
            self.append(Fault(code, label, furnish, busy, **needs))
            return furnish

        return register


FAULTS = Table()
fault = FAULTS.fault


def fetches(stream: str, consumer: str, answer: bytes, batch: int = 10, pause_s: float = 0.05) -> Furnish:
    """A worker that answers every message with `answer`; with none it stays silent."""

    async def work(place: Place) -> None:
        subscription = await place.client.jetstream().pull_subscribe_bind(consumer, stream)
        while True:
            with contextlib.suppress(TimeoutError, nats.errors.TimeoutError):
                for message in await subscription.fetch(batch, timeout=1):
                    if answer:
                        await message.respond(answer)
            await asyncio.sleep(pause_s)

    return work


@fault("JSD408", "F_NAKS/worker", fetches("F_NAKS", "worker", b"-NAK"))
async def worker_that_refuses_everything(place: Place) -> None:
    await place.stream("F_NAKS")
    await add_consumer(place.client, "F_NAKS", "worker")
    await place.publish("f_naks", 50)


@fault("JSD403", "F_FORGETS/worker", fetches("F_FORGETS", "worker", b""))
async def worker_that_never_acknowledges(place: Place) -> None:
    await place.stream("F_FORGETS")
    await add_consumer(place.client, "F_FORGETS", "worker", max_ack_pending=20, ack_wait=300 * SECOND_NS)
    await place.publish("f_forgets", 200)


@fault("JSD604", "F_PARTITION")
async def work_queue_that_lost_the_consumer_of_a_partition(place: Place) -> None:
    await place.stream("F_PARTITION", subjects=["f_partition.a", "f_partition.b"], retention="workqueue")
    for part in "ab":
        await add_consumer(place.client, "F_PARTITION", part, filter_subject=f"f_partition.{part}")
        await place.publish(f"f_partition.{part}", 10)
    await api(place.client, "CONSUMER.DELETE.F_PARTITION.b")


@fault("JSD607", "F_ORPHANMIRROR")
async def mirror_whose_origin_was_deleted(place: Place) -> None:
    await place.stream("F_ORPHAN")
    await place.publish("f_orphan", 10)
    await place.stream("F_ORPHANMIRROR", mirror={"name": "F_ORPHAN"})
    await asyncio.sleep(1)
    await api(place.client, "STREAM.DELETE.F_ORPHAN")


@fault("JSD607", "F_REMOTE")
async def source_in_a_domain_that_does_not_exist(place: Place) -> None:
    source = {"name": "ANY", "external": {"api": "$JS.nowhere.API", "deliver": ""}}
    await place.stream("F_REMOTE", sources=[source])


@fault("JSD416", "F_RENAMED/old")
async def filter_that_was_right_before_a_transform(place: Place) -> None:
    transform = {"src": "f_renamed.>", "dest": "archive.>"}
    await place.stream("F_RENAMED", subjects=["f_renamed.>"])
    await add_consumer(place.client, "F_RENAMED", "old", filter_subject="f_renamed.x")
    info = await api(place.client, "STREAM.INFO.F_RENAMED")
    await api(place.client, "STREAM.UPDATE.F_RENAMED", {**info["config"], "subject_transform": transform})
    for _ in range(100):  # a message that its leader stores before the transform gives the consumer something to read
        if (await api(place.client, "STREAM.INFO.F_RENAMED"))["config"].get("subject_transform"):
            break
        await asyncio.sleep(0.1)
    await place.publish("f_renamed.x", 10)


@fault("JSD414", "F_SHORT/worker")
async def durable_that_does_not_survive_a_restart_of_its_client(place: Place) -> None:
    await place.stream("F_SHORT")
    await add_consumer(place.client, "F_SHORT", "worker", inactive_threshold=600 * SECOND_NS)


@fault("JSD603", "F_KEYS")
async def bucket_that_refuses_new_values(place: Place) -> None:
    await place.stream("F_KEYS", discard="new", discard_new_per_subject=True, max_msgs_per_subject=1, max_msgs=20)
    for number in range(20):
        await place.publish(f"f_keys.{number}", 1)


@fault("JSD407", "F_FUTURE/next_year")
async def consumer_that_starts_next_year(place: Place) -> None:
    await place.stream("F_FUTURE")
    start: dict[str, Any] = {"deliver_policy": "by_start_time", "opt_start_time": "2035-01-01T00:00:00Z"}
    await add_consumer(place.client, "F_FUTURE", "next_year", **start)
    await place.publish("f_future", 10)


@fault("JSD409", "F_ONCE/worker", fetches("F_ONCE", "worker", b""))
async def worker_that_crashes_on_messages_with_one_attempt(place: Place) -> None:
    await place.stream("F_ONCE")
    await add_consumer(place.client, "F_ONCE", "worker", max_deliver=1, ack_wait=SECOND_NS)
    await place.publish("f_once", 50)


async def expire_steadily(place: Place) -> None:
    """Ten messages a second, of which the worker reads two."""
    while True:
        await place.publish("f_expires", 1)
        await asyncio.sleep(0.1)


@fault("JSD206", "F_EXPIRES/slow", fetches("F_EXPIRES", "slow", b"+ACK", batch=1, pause_s=0.5), expire_steadily)
async def backlog_that_expires_before_it_is_read(place: Place) -> None:
    """It goes on: a worker that has come to the end of an expired stream shows no trace of what it missed."""
    await place.stream("F_EXPIRES", max_age=10 * SECOND_NS, duplicate_window=10 * SECOND_NS)
    await add_consumer(place.client, "F_EXPIRES", "slow")
    await place.publish("f_expires", 200)


@fault("JSD404", "F_PINNED/one", since=(2, 11))
async def pinned_client_that_is_gone_while_others_wait(place: Place) -> None:
    await place.stream("F_PINNED")
    group: dict[str, Any] = {"priority_policy": "pinned_client", "priority_groups": ["jobs"]}
    await add_consumer(
        place.client, "F_PINNED", "one", priority_timeout=3600 * SECOND_NS, ack_wait=2 * SECOND_NS, **group
    )
    await place.publish("f_pinned", 10)
    subject = "$JS.API.CONSUMER.MSG.NEXT.F_PINNED.one"
    inbox = place.client.new_inbox()
    subscription = await place.client.subscribe(inbox)
    await place.client.publish(subject, json.dumps({"batch": 1, "expires": SECOND_NS, "group": "jobs"}).encode(), inbox)
    await subscription.next_msg(timeout=5)
    await place.publish("f_pinned", 10)


async def wait_for_the_pin(place: Place) -> None:
    """A client that is not the pinned one asks again and again."""
    subject = "$JS.API.CONSUMER.MSG.NEXT.F_PINNED.one"
    inbox = place.client.new_inbox()
    await place.client.subscribe(inbox)
    while True:
        body = {"batch": 10, "expires": 20 * SECOND_NS, "group": "jobs"}
        await place.client.publish(subject, json.dumps(body).encode(), inbox)
        await asyncio.sleep(15)


FAULTS[-1].busy = (wait_for_the_pin,)


@fault("JSD405", "F_WRONGQUEUE/workers")
async def queue_group_whose_subscribers_name_another_group(place: Place) -> None:
    await place.stream("F_WRONGQUEUE", retention="workqueue")
    push: dict[str, Any] = {"deliver_subject": "deliver.f_wrongqueue", "deliver_group": "workers"}
    await add_consumer(place.client, "F_WRONGQUEUE", "workers", **push)
    await place.client.subscribe("deliver.f_wrongqueue", queue="worker")
    await place.publish("f_wrongqueue", 30)


async def fill_steadily(place: Place) -> None:
    while True:
        await asyncio.gather(*(place.client.publish("f_endless.x", b"x" * 32_000) for _ in range(20)))
        await asyncio.sleep(0.1)


@fault("JSD601", "F_ENDLESS", fill_steadily)
async def stream_without_a_bound_that_grows_fast(place: Place) -> None:
    await place.stream("F_ENDLESS", max_bytes=-1, max_age=0)


@fault("JSD402", "F_SLOWER/worker", fetches("F_SLOWER", "worker", b"+ACK", batch=1, pause_s=0.2))
async def worker_that_is_slower_than_its_publisher(place: Place) -> None:
    await place.stream("F_SLOWER")
    await add_consumer(place.client, "F_SLOWER", "worker")
    await place.publish("f_slower", 3000)


async def publish_fast(place: Place) -> None:
    while True:
        await asyncio.gather(*(place.client.publish("f_slower.x", b"x") for _ in range(100)))
        await asyncio.sleep(0.2)


FAULTS[-1].busy += (publish_fast,)


@fault("JSD617", "F_UNHEARD")
async def interest_stream_that_drops_a_subject(place: Place) -> None:
    await place.stream("F_UNHEARD", subjects=["f_unheard.a", "f_unheard.b"], retention="interest")
    await add_consumer(place.client, "F_UNHEARD", "a", filter_subject="f_unheard.a")


async def publish_unheard(place: Place) -> None:
    while True:
        await place.publish("f_unheard.b", 5)
        await asyncio.sleep(0.1)


FAULTS[-1].busy = (publish_unheard,)


@fault("JSD412", "F_NOACK/worker")
async def durable_that_acknowledges_nothing_on_a_work_queue(place: Place) -> None:
    await place.stream("F_NOACK")
    await add_consumer(place.client, "F_NOACK", "worker", ack_policy="none")


@fault("JSD410", "F_HASTY/worker")
async def worker_with_half_a_second_to_acknowledge(place: Place) -> None:
    await place.stream("F_HASTY", retention="workqueue")
    await add_consumer(place.client, "F_HASTY", "worker", ack_wait=SECOND_NS // 2)


@fault("JSD206", "F_LIMITED/late")
async def limit_per_subject_that_removed_what_a_consumer_had_not_read(place: Place) -> None:
    await place.stream("F_LIMITED", max_msgs=50)
    await add_consumer(place.client, "F_LIMITED", "late")
    subscription = await place.client.jetstream().pull_subscribe_bind("late", "F_LIMITED")
    await place.publish("f_limited", 10)
    for message in await subscription.fetch(5, timeout=5):
        await message.ack()
    await place.publish("f_limited", 200)


@fault("JSD429", "F_TYPO/shipping")
async def filter_with_a_letter_too_few(place: Place) -> None:
    await place.stream("F_TYPO")
    await add_consumer(place.client, "F_TYPO", "shipping", filter_subject="f_typo.shiped")
    await place.publish("f_typo.shipped", 10)


@fault("JSD414", "F_PAUSED/worker", since=(2, 11))
async def consumer_that_stays_paused_while_its_messages_expire(place: Place) -> None:
    await place.stream("F_PAUSED", max_age=HOUR_NS)
    await add_consumer(place.client, "F_PAUSED", "worker", pause_until="2100-01-01T00:00:00Z")
    await place.publish("f_paused", 10)


@fault("JSD608", "F_OWN")
async def stream_past_the_threshold_in_its_metadata(place: Place) -> None:
    metadata = {"io.nats.monitor.enabled": "true", "io.nats.monitor.msgs-critical": "100"}
    await place.stream("F_OWN", metadata=metadata)
    await place.publish("f_own", 30)


@fault("JSD607", "F_BLOCKED")
async def mirror_that_is_full_and_takes_no_more(place: Place) -> None:
    await place.stream("F_BLOCKEDORIGIN")
    await place.publish("f_blockedorigin", 50)
    # A replicated mirror of 2.15.1 goes past its limit: with it, nothing is missing.
    await place.stream("F_BLOCKED", mirror={"name": "F_BLOCKEDORIGIN"}, max_msgs=10, discard="new", num_replicas=1)
    await asyncio.sleep(1)
    await place.publish("f_blockedorigin", 50)
