"""The fourth table of faults on streams of their own: what operators reported publicly and no other table has.

As in `faults.py`, the rule that must name each fault was declared before the first run. A code that the rules do not
have is that of a rule which was found to be missing when the fault was written down.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import nats

from tests.support.deployment import HOUR_NS, add_consumer, api
from tests.topologies.faults import Table, fetches
from tests.topologies.faults_of_applications import asks
from tests.topologies.faults_of_streams import publishes
from tests.topologies.habits import SECOND_NS, Place

REPORTED_FAULTS = Table()
fault = REPORTED_FAULTS.fault


@fault("JSD403", "R_POSTPONED/worker", fetches("R_POSTPONED", "worker", b'-NAK {"delay": 3600000000000}'))
async def messages_that_are_postponed_until_no_place_is_left(place: Place) -> None:
    """https://github.com/nats-io/nats.go/issues/968: a message that waits for its next attempt takes a place."""
    await place.stream("R_POSTPONED", retention="workqueue")
    await add_consumer(place.client, "R_POSTPONED", "worker", max_ack_pending=20)
    await place.publish("r_postponed.x", 200)


@fault("JSD405", "R_MAXBATCH/worker", asks("R_MAXBATCH", "worker", 0.5, batch=100, expires=SECOND_NS))
async def requests_for_more_messages_than_the_consumer_allows(place: Place) -> None:
    """https://github.com/nats-io/nats.net/issues/236: each request ends with `409 Exceeded MaxRequestBatch`."""
    await place.stream("R_MAXBATCH")
    await add_consumer(place.client, "R_MAXBATCH", "worker", max_batch=10)
    await place.publish("r_maxbatch.x", 150)


@fault("JSD405", "R_MAXEXPIRES/worker", asks("R_MAXEXPIRES", "worker", 0.5, batch=5, expires=30 * SECOND_NS))
async def requests_that_wait_for_longer_than_the_consumer_allows(place: Place) -> None:
    """https://github.com/nats-io/nats.java/issues/1194: the client only sees a timeout."""
    await place.stream("R_MAXEXPIRES")
    await add_consumer(place.client, "R_MAXEXPIRES", "worker", max_expires=5 * SECOND_NS)
    await place.publish("r_maxexpires.x", 150)


@fault(
    "JSD430",
    "R_FILTERS/worker",
    missed="no rule: 2.12 and 2.15 deliver with 1,000 filters as fast as with ten; 2.10 is slow with hundreds at times",
)
async def consumer_with_hundreds_of_filters(place: Place) -> None:
    """https://www.synadia.com/blog/jetstream-design-patterns-for-scale."""
    await place.stream("R_FILTERS")
    subjects = [f"r_filters.{number}" for number in range(400)]
    await add_consumer(place.client, "R_FILTERS", "worker", filter_subjects=subjects)


@fault("JSD605", "R_FRAGILE/worker", clustered=True)
async def durable_with_one_replica_on_a_stream_with_three(place: Place) -> None:
    """https://github.com/nats-io/nats-server/issues/3260: its place is lost with its server."""
    await place.stream("R_FRAGILE")
    await add_consumer(place.client, "R_FRAGILE", "worker", num_replicas=1)


@fault("JSD604", "R_STRANDED", fetches("R_STRANDED", "worker", b""))
async def interest_stream_that_keeps_what_ran_out_of_attempts(place: Place) -> None:
    """https://docs.nats.io/nats-concepts/jetstream/consumers: the stream keeps what reached `max_deliver`."""
    await place.stream("R_STRANDED", retention="interest")
    await add_consumer(place.client, "R_STRANDED", "worker", max_deliver=2, ack_wait=SECOND_NS)
    await place.publish("r_stranded.x", 20)


@fault("JSD601", "R_KEPT", fetches("R_KEPT", "worker", b"+ACK"), publishes("r_kept.x", 1, 0.2))
async def stream_without_limits_whose_messages_are_thought_to_go_with_their_acknowledgement(place: Place) -> None:
    """https://github.com/nats-io/nats.node/issues/589."""
    await place.stream("R_KEPT", max_bytes=-1, max_age=0, max_msg_size=-1)
    await add_consumer(place.client, "R_KEPT", "worker")


@fault("JSD621", "OBJ_r_torn", missed="no rule: the chunks that an object names are not compared with those stored")
async def object_that_lost_a_chunk(place: Place) -> None:
    """https://github.com/nats-io/nats.net/issues/917: reading it ends with a wrong digest."""
    files: dict[str, Any] = {"allow_rollup_hdrs": True, "allow_direct": True, "discard": "new"}
    await place.stream("OBJ_r_torn", subjects=["$O.r_torn.C.>", "$O.r_torn.M.>"], **files)
    bucket = await place.client.jetstream().object_store("r_torn")
    await bucket.put("report.pdf", b"x" * 500_000)
    await api(place.client, "STREAM.MSG.DELETE.OBJ_r_torn", {"seq": 2})


@fault("JSD424", "R_BACKOFF/worker")
async def attempts_that_come_after_the_message_has_expired(place: Place) -> None:
    """As in https://github.com/nats-io/nats-server/issues/2083, messages expire that a consumer has to repeat."""
    await place.stream("R_BACKOFF", max_age=60 * SECOND_NS, duplicate_window=10 * SECOND_NS)
    backoff = [SECOND_NS, 30 * SECOND_NS, 600 * SECOND_NS]
    await add_consumer(place.client, "R_BACKOFF", "worker", max_deliver=4, backoff=backoff)


@fault("JSD403", "R_SERIAL/worker")
async def serial_worker_that_hangs_and_requests_nothing(place: Place) -> None:
    """As in https://github.com/nats-io/nats-server/issues/4736 nothing is delivered any more: one message comes again
    and again.
    """
    await place.stream("R_SERIAL", retention="workqueue")
    await add_consumer(place.client, "R_SERIAL", "worker", max_ack_pending=1, ack_wait=2 * SECOND_NS)
    await place.publish("r_serial.x", 20)


async def take_one_and_hang(place: Place) -> None:
    subscription = await place.client.jetstream().pull_subscribe_bind("worker", "R_SERIAL")
    while True:
        with contextlib.suppress(TimeoutError, nats.errors.TimeoutError):
            await subscription.fetch(1, timeout=30)
            await asyncio.sleep(6)


REPORTED_FAULTS[-1].busy = (take_one_and_hang,)


@fault("JSD408", "R_UNKNOWN/worker", fetches("R_UNKNOWN", "worker", b"+ACKK", batch=5))
async def acknowledgements_that_the_server_does_not_know(place: Place) -> None:
    """A client of its own making. As in https://github.com/nats-io/nats-server/issues/1716, they stay pending."""
    await place.stream("R_UNKNOWN")
    await add_consumer(place.client, "R_UNKNOWN", "worker", ack_wait=SECOND_NS)
    await place.publish("r_unknown.x", 40)


@fault("JSD405", "R_NOTREADY/push")
async def push_consumer_whose_subscriber_listens_to_another_subject(place: Place) -> None:
    """https://github.com/nats-io/nats-server/issues/3598: the application was upgraded, its consumer was not."""
    await place.stream("R_NOTREADY", max_age=HOUR_NS)
    await add_consumer(place.client, "R_NOTREADY", "push", deliver_subject="deliver.r_notready.v1")
    await place.client.subscribe("deliver.r_notready.v2")
    await place.publish("r_notready.x", 30)
