"""The eighth table of faults of applications: replies that are stored, uploads and workers that end half-way.

As in `faults.py`, the rule that must name each fault was declared before the first run. A code that the rules do not
have is that of a rule which was found to be missing when the fault was written down. A coin decided which faults rules
may be changed for: the others are held back (`HELD_BACK`), and show how much a change is worth in general.
"""

from __future__ import annotations

from typing import Any

from nats.nuid import NUID

from tests.support.deployment import add_consumer
from tests.topologies.faults import Table, fetches
from tests.topologies.faults_of_applications import asks
from tests.topologies.faults_of_streams import publishes
from tests.topologies.habits import SECOND_NS, Place

UNFORESEEN_FAULTS = Table()
fault = UNFORESEEN_FAULTS.fault
HELD_BACK = frozenset(
    {
        "uploads_that_were_interrupted",
        "messages_of_a_worker_that_crashed_wait_for_half_an_hour",
        "worker_that_gives_every_message_up",
    }
)


@fault("JSD619", "U_REPLIES")
async def stream_that_takes_the_inboxes_of_its_account(place: Place) -> None:
    """https://github.com/nats-io/nats-server/pull/6786: wildcards that take what the API and services reply."""
    await place.stream("U_REPLIES", subjects=["_INBOX.>"], max_msgs=10_000)


@fault(
    "JSD633",
    "OBJ_u_torn",
    options=("--set", "JSD633.settle=5s"),
)
async def uploads_that_were_interrupted(place: Place) -> None:
    """https://github.com/nats-io/nats.go/pull/1260: chunks stay that no object refers to, and nothing removes them."""
    files: dict[str, Any] = {"allow_rollup_hdrs": True, "allow_direct": True, "discard": "new"}
    await place.stream("OBJ_u_torn", subjects=["$O.u_torn.C.>", "$O.u_torn.M.>"], **files)
    bucket = await place.client.jetstream().object_store("u_torn")
    await bucket.put("complete", b"x" * 300_000)
    for _ in range(5):
        upload = NUID().next().decode()
        for _ in range(8):
            await place.store(f"$O.u_torn.C.{upload}", b"x" * 100_000)


@fault(
    "JSD419",
    "U_CRASHED/worker",
    asks("U_CRASHED", "worker", 0.5, batch=10, expires=SECOND_NS),
    publishes("u_crashed.x", 2, 0.3),
    missed="servers report neither who has a message nor since when, while other workers go on",
)
async def messages_of_a_worker_that_crashed_wait_for_half_an_hour(place: Place) -> None:
    """https://github.com/nats-io/nats-server/issues/4627, https://github.com/nats-io/nats-server/issues/4716."""
    await place.stream("U_CRASHED", retention="workqueue")
    await add_consumer(place.client, "U_CRASHED", "worker", ack_wait=1800 * SECOND_NS)
    await place.publish("u_crashed.x", 40)
    worker = await place.client.jetstream().pull_subscribe_bind("worker", "U_CRASHED")
    assert len(await worker.fetch(40, timeout=5)) == 40


@fault(
    "JSD431",
    "U_TERMINATED/worker",
    fetches("U_TERMINATED", "worker", b"+TERM"),
    publishes("u_terminated.x", 2, 0.3),
    missed="no rule: a message that is terminated counts as acknowledged, and advisories are not kept",
)
async def worker_that_gives_every_message_up(place: Place) -> None:
    """https://github.com/nats-io/jetstream/issues/189: an advisory that nobody reads is all there is."""
    await place.stream("U_TERMINATED", retention="workqueue")
    await add_consumer(place.client, "U_TERMINATED", "worker")
