"""Faults and habits that users reported in public, beside each other on one server with their applications at work.

A fault must be named by its rule. A habit is one that people report and are told is normal: no rule may fail on its
stream at warning or above. The threads are in docs/incidents.md.
"""

import asyncio
import contextlib
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass

import nats
import pytest
from nats.aio.msg import Msg
from nats.js.api import AckPolicy, ConsumerConfig

from jsdoctor.demo.server import free_ports
from tests.clients.mqtt import mqtt_session
from tests.faults.planting import SETTLE_S
from tests.servers import DEFAULT_VERSION, Cluster
from tests.support.applications import TIMEOUTS, acknowledges, answers, publishes, pulls
from tests.support.reports import Json, label, run_check
from tests.support.site import SECOND_NS, Site, Work

pytestmark = [pytest.mark.real, pytest.mark.nightly, pytest.mark.xdist_group("reported")]
LOUD = {"warning", "error", "critical"}
CHUNK = 128 << 10


@dataclass(frozen=True)
class Reported:
    """One thread: what is planted on which stream, and the rule that names it there; without a rule it is a habit."""

    thread: str
    stream: str
    work: Work
    code: str = ""

    def holds(self, results: list[Json]) -> bool:
        """Whether the fault is named, or the habit is not."""
        failed = [r for r in results if r["outcome"] == "fail" and f"{label(r['subject'])}/".startswith(self._subject)]
        if self.code:
            return any(result["code"] == self.code for result in failed)
        return not any(result["severity"] in LOUD for result in failed)

    @property
    def _subject(self) -> str:
        return f"APP/{self.stream}/"


REPORTED: list[Reported] = []


def reported(thread: str, stream: str, code: str = "") -> Callable[[Work], Work]:
    """Register what a thread reports."""

    def register(work: Work) -> Work:
        REPORTED.append(Reported(thread, stream, work, code))
        return work

    return register


@reported("synadia-io/flink-connector-nats#109", "FLINK", "JSD403")
async def acknowledges_at_checkpoints_only(site: Site) -> None:
    await site.stream("FLINK")
    await site.consumer("FLINK", "flink", ack_policy="all", ack_wait=3600 * SECOND_NS)
    await site.fill("flink.x", 2000)
    await site.fetch("FLINK", "flink", 1000, ack=False)
    site.background(pulls("FLINK", "flink", batch=100)(site))


@reported("hephaestus-build/Hephaestus#1456", "WEBHOOKS", "JSD405")
async def disposable_deployments_leave_durables(site: Site) -> None:
    await site.stream("WEBHOOKS")
    for number in range(12):
        await site.consumer("WEBHOOKS", f"preview-{number}")
    site.background(publishes("webhooks.push", pause_s=0.2)(site))


@reported("MartinKalema/horizontal-scaling-convex#174", "DELTAS", "JSD206")
async def resumes_past_a_gap(site: Site) -> None:
    await site.stream("DELTAS", max_msgs=50)
    await site.consumer("DELTAS", "replica")
    await site.publish("deltas.x", 20)
    await site.fetch("DELTAS", "replica", 20)
    await site.publish("deltas.x", 150)


@reported("risingwavelabs/risingwave#25679", "RW", "JSD408")
async def never_acknowledges(site: Site) -> None:
    await site.stream("RW")
    await site.consumer("RW", "source", ack_wait=2 * SECOND_NS)
    await site.publish("rw.x", 30)
    site.background(answers("RW", "source", _nothing)(site))


@reported("ai-dynamo/dynamo#5861", "KVEVENTS", "JSD414")
async def gone_after_two_minutes(site: Site) -> None:
    await site.stream("KVEVENTS")
    await site.consumer("KVEVENTS", "router", inactive_threshold=120 * SECOND_NS)
    site.background(site.work("KVEVENTS", "router"))


@reported("nats-io/nats.ex#231", "OBJ_FILES", "JSD603")
async def an_object_without_some_of_its_chunks(site: Site) -> None:
    subjects = ["$O.FILES.C.>", "$O.FILES.M.>"]
    await site.stream("OBJ_FILES", subjects=subjects, discard="new", allow_rollup_hdrs=True, max_bytes=1 << 20)
    for _ in range(12):
        await site.store("$O.FILES.C.n1", b"x" * CHUNK, refusable=True)
    about = {"name": "f", "bucket": "FILES", "nuid": "n1", "size": 12 * CHUNK, "chunks": 12}
    await site.store("$O.FILES.M.Zg==", json.dumps(about).encode(), {"Nats-Rollup": "sub"})


@reported("quarkiverse/quarkus-reactive-messaging-nats-jetstream#490", "NACKS")
async def refuses_now_and_then(site: Site) -> None:
    await site.stream("NACKS")
    await site.consumer("NACKS", "orders", backoff=[30 * SECOND_NS, 60 * SECOND_NS], max_deliver=3)
    site.background(acknowledges("NACKS", "orders", rare=b"-NAK")(site))
    site.background(publishes("nacks.x", pause_s=0.1)(site))


@reported("nats-io/nats.py#791", "HISTORY")
async def asks_for_more_than_there_is(site: Site) -> None:
    await site.stream("HISTORY")
    await site.publish("history.x", 40)

    async def read() -> None:
        config = ConsumerConfig(ack_policy=AckPolicy.NONE, mem_storage=True, inactive_threshold=30)
        while True:
            subscription = await site.client.jetstream().pull_subscribe("history.x", config=config)
            for _ in range(2):
                with contextlib.suppress(*TIMEOUTS):
                    await subscription.fetch(100, timeout=5)
            await subscription.unsubscribe()

    site.background(read())


@reported("arun0009/idempotent#27", "KV_IDEMPOTENT")
async def creates_a_key_that_is_there(site: Site) -> None:
    await site.bucket("IDEMPOTENT")

    async def create() -> None:
        for number in itertools.count():
            for _ in range(2):
                key = f"$KV.IDEMPOTENT.{number}"
                await site.client.request(key, b"1", timeout=5, headers={"Nats-Expected-Last-Subject-Sequence": "0"})
            await asyncio.sleep(0.2)

    site.background(create())


@reported("nats-io/nats-server#7872", "$MQTT_rmsgs")
async def retained_messages(site: Site) -> None:
    port = next(iter(site.cluster.monitor(name, "/varz")["mqtt"]["port"] for name in site.cluster.names))
    with contextlib.closing(mqtt_session(port, False)) as session:
        topic = b"\x00\x06status"
        session.sendall(bytes([0x33, len(topic) + 4]) + topic + b"\x00\x63on")
        await asyncio.sleep(1)


@reported("nats-io/nats.docs#937", "NAMED")
async def a_name_without_a_durable_name(site: Site) -> None:
    await site.stream("NAMED")
    await site.consumer("NAMED", "dashboard", durable=False, inactive_threshold=300 * SECOND_NS)
    site.background(site.work("NAMED", "dashboard"))
    site.background(publishes("named.x", pause_s=0.2)(site))


@reported("nats-io/nats.py#909", "KV_PRESENCE")
async def keys_expire_without_a_marker(site: Site) -> None:
    await site.bucket("PRESENCE", max_age=15 * SECOND_NS, duplicate_window=15 * SECOND_NS)
    site.background(publishes("$KV.PRESENCE.worker", pause_s=1)(site))


@reported("nats-io/nats-server#8169", "WMS")
async def one_message_at_a_time(site: Site) -> None:
    await site.stream("WMS")
    await site.consumer("WMS", "parcels", max_ack_pending=1)
    site.background(answers("WMS", "parcels", _acknowledged, 1)(site))
    site.background(publishes("wms.x", pause_s=0.3)(site))


@reported("gke-labs/kube-agents#930", "JOURNAL")
async def a_journal_rolls_on(site: Site) -> None:
    await site.stream("JOURNAL", max_bytes=200_000)
    await site.consumer("JOURNAL", "reader")
    site.background(site.work("JOURNAL", "reader", 0))
    site.background(publishes("journal.x", size=1000)(site))


@reported("nats-io/nats.py#811", "BATCH")
async def batches_of_three(site: Site) -> None:
    await site.stream("BATCH", allow_atomic=True)

    async def batches() -> None:
        for number in itertools.count():
            named = {"Nats-Batch-Id": f"b{number}"}
            for place in ("1", "2"):
                await site.client.request("batch.x", b"x", headers={**named, "Nats-Batch-Sequence": place})
            last = {**named, "Nats-Batch-Sequence": "3", "Nats-Batch-Commit": "1"}
            await site.client.request("batch.x", b"x", headers=last, timeout=5)
            await asyncio.sleep(0.5)

    site.background(batches())


def _nothing(_: Msg) -> bytes:
    return b""


def _acknowledged(_: Msg) -> bytes:
    return b"+ACK"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Json]:
    """What a check with the system account reports while all of it goes on."""
    mqtt = f'mqtt {{ listen: "127.0.0.1:{free_ports(1)[0]}" }}\n'
    with Cluster.launch(tmp_path_factory.mktemp("reported"), DEFAULT_VERSION, 1, extra_config=mqtt) as cluster:
        return asyncio.run(_checked(cluster))


async def _checked(cluster: Cluster) -> list[Json]:
    site = Site.of(cluster, DEFAULT_VERSION, await nats.connect(cluster.servers("app")))
    try:
        await asyncio.gather(*(thread.work(site) for thread in REPORTED))
        await asyncio.sleep(SETTLE_S)
        _, report = await asyncio.to_thread(run_check, "--server", cluster.url("sys"))
        found: list[Json] = report["results"]
        return found
    finally:
        await site.rest()
        await site.client.close()


@pytest.mark.parametrize("thread", REPORTED, ids=lambda thread: thread.thread)
def test_a_reported_fault_is_named_and_a_habit_is_not(results: list[Json], thread: Reported) -> None:
    assert thread.holds(results), [r for r in results if r["outcome"] == "fail" and thread.stream in str(r["subject"])]
