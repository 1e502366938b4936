"""Compound faults, and for each of them the incident that a report must make of it: one cause, and what follows.

The expectations were written before the first run. `beneath` are labels: the rule code and the subject. A fault of
streams and consumers lies on streams of its own: all of them fit on one cluster and are judged in one report.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

from tests.real.plants_consumer_config import filter_outside, paused, start_beyond_the_end
from tests.real.plants_dedupe_window import window_cut_by_max_age
from tests.real.plants_max_deliver import give_up
from tests.real.plants_sequence_mismatch import overrun
from tests.real.plants_stream_limits import keep_publishing, nobody_interested, silence
from tests.real.ward import Site, Work
from tests.support.deployment import HOUR_NS

SECOND_NS = 1_000_000_000
WATCHED = {"io.nats.monitor.enabled": "true"}


@dataclass(frozen=True)
class Fault:
    """A fault of streams and consumers. `subject` is the cause's, joined by slashes; `alike`: how many causes."""

    name: str
    work: Work
    code: str
    subject: str
    beneath: frozenset[str] = frozenset()
    alike: int = 1
    since: tuple[int, int] = (2, 10)

    def fits(self, version: str) -> bool:
        """Whether servers of that version can have it."""
        major, minor = (int(part) for part in version.split(".")[:2])
        return (major, minor) >= self.since


async def dead_worker_fills_its_queue(site: Site) -> None:
    """A push worker is gone; its work queue is full and refuses publishers."""
    await site.stream("F1", subjects=["f1"], retention="workqueue", max_msgs=5, discard="new")
    await site.consumer("F1", "worker", deliver_subject="deliver.f1")
    await site.publish("f1", 5)
    await site.client.request("f1", b"x", timeout=10)


async def slots_taken_beyond_a_threshold(site: Site) -> None:
    """All slots are taken, and the owner's own threshold is passed as well."""
    await site.stream("F2", subjects=["f2"])
    metadata = {**WATCHED, "io.nats.monitor.outstanding-ack-critical": "3"}
    await site.consumer("F2", "worker", max_ack_pending=5, ack_wait=SECOND_NS, metadata=metadata)
    await site.publish("f2", 20)
    await site.fetch("F2", "worker", 5, ack=False)
    await asyncio.sleep(1.2)


async def slots_taken_for_an_hour(site: Site) -> None:
    """The server allows an hour of silence; workers wait for messages that are there."""
    await site.stream("F3", subjects=["f3"])
    await site.consumer("F3", "worker", max_ack_pending=5, ack_wait=HOUR_NS)
    await site.publish("f3", 20)
    await site.fetch("F3", "worker", 5, ack=False)
    inbox = site.client.new_inbox()
    await site.client.subscribe(inbox)
    body = json.dumps({"batch": 1, "expires": 120 * SECOND_NS}).encode()
    await site.client.publish("$JS.API.CONSUMER.MSG.NEXT.F3.worker", body, reply=inbox)


async def given_up_in_a_queue(site: Site) -> None:
    """One delivery each: the messages stay in the work queue, and the consumer has given them up."""
    await site.stream("F4", subjects=["f4"], retention="workqueue")
    await site.consumer("F4", "worker", max_deliver=1, ack_wait=SECOND_NS)
    await site.publish("f4", 4)
    await site.fetch("F4", "worker", 4, ack=False)
    await asyncio.sleep(2)
    await site.fetch("F4", "worker", 1, ack=False)  # makes the consumer notice that their time is up


async def mirror_without_origin(site: Site) -> None:
    """The origin was deleted before anything was copied."""
    await site.stream("F5_ORIGIN", subjects=["f5"])
    await site.publish("f5", 3)
    await site.api("STREAM.DELETE.F5_ORIGIN")
    await site.stream("F5", mirror={"name": "F5_ORIGIN"})
    await asyncio.sleep(3)


async def full_beyond_a_threshold(site: Site) -> None:
    """A full stream refuses publishers, and its owner's threshold of messages is passed as well."""
    metadata = {**WATCHED, "io.nats.monitor.msgs-critical": "6"}
    await site.stream("F6", subjects=["f6"], max_msgs=5, discard="new", metadata=metadata)
    await site.publish("f6", 5)
    await site.client.request("f6", b"x", timeout=10)


async def too_large_for_the_stream(site: Site) -> None:
    """Everything that was published is gone; `max_age` of the stream is three days."""
    await site.stream("F7", subjects=["f7"], max_bytes=500)
    await site.publish("f7", 3, size=1000)


async def nobody_is_interested(site: Site) -> None:
    """An interest stream without consumers."""
    await nobody_interested.work(site)


async def twelve_streams_without_a_bound(site: Site) -> None:
    """A bad deploy: the same mistake on many streams."""
    for number in range(12):
        await site.stream(f"F9-{number}", subjects=[f"f9.{number}"], max_age=0, max_bytes=-1)
        await site.publish(f"f9.{number}", 1)


async def typo_in_a_filter(site: Site) -> None:
    """A filter outside the subjects of the stream."""
    await filter_outside.work(site)


async def paused_until_ever(site: Site) -> None:
    """Somebody paused the consumer."""
    await paused.work(site)


async def acknowledgements_are_off(site: Site) -> None:
    """Publishers wait for acknowledgements that the stream does not send."""
    await silence.work(site)


async def overtaken_by_limits(site: Site) -> None:
    """The limits removed what the consumer never got."""
    await overrun(site, "F13")


async def window_too_short_by_age(site: Site) -> None:
    """`max_age` cuts the duplicate window."""
    await window_cut_by_max_age.work(site)


async def twelve_dead_subscribers(site: Site) -> None:
    """One application with twelve push consumers is down."""
    await site.stream("F15", subjects=["f15"])
    for number in range(12):
        await site.consumer("F15", f"push-{number}", deliver_subject=f"deliver.f15.{number}")
    await site.publish("f15", 5)


async def starts_beyond_the_end(site: Site) -> None:
    """A start sequence that the stream has not reached."""
    await start_beyond_the_end.work(site)


async def impatient_and_given_up(site: Site) -> None:
    """A worker that does not acknowledge: messages are delivered twice and given up."""
    await give_up(site, "F17", 2)
    await site.publish("f17", 1)
    await site.fetch("F17", "worker", 1)


async def subscriber_gone_from_a_plain_stream(site: Site) -> None:
    """Nobody reads; publishers go on undisturbed."""
    await site.stream("F18", subjects=["f18"])
    await site.consumer("F18", "push", deliver_subject="deliver.f18")
    await site.publish("f18", 5)
    site.background(keep_publishing(site, "f18"))


async def renamed_subject_in_a_deploy(site: Site) -> None:
    """A deploy renamed the subject of a work queue and left the consumer's filter as it was: the queue fills."""
    await site.stream("F19", subjects=["f19.old"], retention="workqueue", max_msgs=5, discard="new")
    await site.consumer("F19", "worker", filter_subject="f19.old")
    config = (await site.api("STREAM.INFO.F19"))["config"]
    await site.api("STREAM.UPDATE.F19", {**config, "subjects": ["f19.new"]})
    await site.publish("f19.new", 5)
    await site.client.request("f19.new", b"x", timeout=10)


async def paused_in_a_deploy(site: Site) -> None:
    """A deploy paused the worker of a queue and nobody resumed it: the queue is full."""
    await site.stream("F20", subjects=["f20"], retention="workqueue", max_msgs=5, discard="new")
    await site.consumer("F20", "worker", pause_until="2099-01-01T00:00:00Z")
    await site.publish("f20", 5)
    await site.client.request("f20", b"x", timeout=10)


async def release_that_never_acknowledges(site: Site) -> None:
    """A new release of six workers takes messages and does not acknowledge them."""
    await site.stream("F21", subjects=["f21"])
    await site.publish("f21", 20)
    for number in range(6):
        await site.consumer("F21", f"worker-{number}", max_ack_pending=5, ack_wait=SECOND_NS)
    await asyncio.gather(*(site.fetch("F21", f"worker-{number}", 5, ack=False) for number in range(6)))
    await asyncio.sleep(2)


def _fault(
    work: Work, code: str, subject: str, *beneath: str, alike: int = 1, since: tuple[int, int] = (2, 10)
) -> Fault:
    return Fault(work.__name__, work, code, subject, frozenset(beneath), alike, since)


FAULTS = (
    _fault(dead_worker_fills_its_queue, "JSD405", "APP/F1/worker", "JSD603 APP/F1"),
    _fault(slots_taken_beyond_a_threshold, "JSD403", "APP/F2/worker", "JSD415 APP/F2/worker"),
    _fault(slots_taken_for_an_hour, "JSD403", "APP/F3/worker"),
    _fault(given_up_in_a_queue, "JSD604", "APP/F4", "JSD409 APP/F4/worker"),
    _fault(mirror_without_origin, "JSD607", "APP/F5"),
    _fault(full_beyond_a_threshold, "JSD603", "APP/F6", "JSD608 APP/F6"),
    _fault(too_large_for_the_stream, "JSD612", "APP/F7"),
    _fault(nobody_is_interested, "JSD604", "APP/P604"),
    _fault(twelve_streams_without_a_bound, "JSD601", "APP/F9-0", alike=12),
    _fault(typo_in_a_filter, "JSD416", "APP/P416/typo"),
    _fault(acknowledgements_are_off, "JSD610", "APP/P610"),
    # JSD618 is the cause: it stays when the server moves the consumer on, and JSD206 vanishes then.
    _fault(overtaken_by_limits, "JSD618", "APP/F13/slow", "JSD206 APP/F13/slow"),
    _fault(window_too_short_by_age, "JSD303", "APP/P303"),
    _fault(twelve_dead_subscribers, "JSD405", "APP/F15/push-0", alike=12),
    _fault(starts_beyond_the_end, "JSD407", "APP/P407/late"),
    _fault(impatient_and_given_up, "JSD409", "APP/F17/worker"),
    _fault(subscriber_gone_from_a_plain_stream, "JSD405", "APP/F18/push"),
    _fault(renamed_subject_in_a_deploy, "JSD416", "APP/F19/worker", "JSD603 APP/F19"),
    _fault(paused_in_a_deploy, "JSD414", "APP/F20/worker", "JSD603 APP/F20", since=(2, 11)),
    _fault(release_that_never_acknowledges, "JSD403", "APP/F21/worker-0", alike=6),
)
