"""The ninth table of faults of applications: the commonest mistakes with pull, push, interest and work queues.

As in `faults.py`, the rule that must name each fault was declared before the first run. A coin decided which faults
rules may be changed for: the others are held back (`HELD_BACK`), and show how much a change is worth in general.
"""

from __future__ import annotations

from tests.support.deployment import add_consumer
from tests.topologies.faults import Table
from tests.topologies.faults_of_applications import asks
from tests.topologies.faults_of_streams import publishes
from tests.topologies.habits import SECOND_NS, Place, works

COMMONEST_FAULTS = Table()
fault = COMMONEST_FAULTS.fault
HELD_BACK = frozenset({"archive_that_mirrors_a_work_queue"})


@fault(
    "JSD405",
    "N_PUSHED/worker",
    asks("N_PUSHED", "worker", 1, batch=10, expires=SECOND_NS),
    publishes("n_pushed.x", 1, 0.3),
)
async def worker_that_pulls_from_a_consumer_that_pushes(place: Place) -> None:
    """https://github.com/nats-io/nats.go/issues/785: a delivery subject makes the consumer push."""
    await place.stream("N_PUSHED")
    await add_consumer(place.client, "N_PUSHED", "worker", deliver_subject="deliver.n_pushed")
    await place.publish("n_pushed.x", 30)


@fault("JSD405", "N_LEGACY/legacy", works("N_LEGACY", "billing"), publishes("n_legacy.x", 2, 0.2))
async def service_that_was_switched_off_and_whose_consumer_keeps_every_message(place: Place) -> None:
    """https://github.com/nats-io/nats-server/issues/2873: acknowledged by one of two, and never removed.

    Declared first: JSD420, which is about a hundred of them.
    """
    await place.stream("N_LEGACY", retention="interest")
    for name in ("billing", "legacy"):
        await add_consumer(place.client, "N_LEGACY", name)
    await place.publish("n_legacy.x", 100)


@fault("JSD407", "N_BEGINS/worker", works("N_BEGINS", "worker"), publishes("n_begins.x", 1, 0.3))
async def worker_that_begins_with_the_newest_of_the_jobs_that_wait(place: Place) -> None:
    """https://docs.nats.io/nats-concepts/jetstream/consumers#deliverpolicy: `last` leaves all others out."""
    await place.stream("N_BEGINS")
    await place.publish("n_begins.x", 50)
    await add_consumer(place.client, "N_BEGINS", "worker", deliver_policy="last")


@fault("JSD604", "N_ARCHIVED", works("N_ARCHIVED", "worker"), publishes("n_archived.x", 1, 0.2), before=(2, 14))
async def archive_that_mirrors_a_work_queue(place: Place) -> None:
    """https://github.com/nats-io/nats-server/issues/4062, https://github.com/nats-io/nats-server/issues/4109.

    From 2.14 on a mirror acknowledges what it has stored, and nothing is missing: planted first on all versions.
    """
    await place.stream("N_ARCHIVED", retention="workqueue")
    await add_consumer(place.client, "N_ARCHIVED", "worker")
    await place.stream("N_ARCHIVEDCOPY", mirror={"name": "N_ARCHIVED"})
    await place.publish("n_archived.x", 20)
