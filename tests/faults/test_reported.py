"""Faults and habits that users reported in public, each with the rules expected of it before the first run.

A fault is named when one of its rules fails on its subject. A habit is one that people report and are told is normal:
no rule may fail on it at warning or above.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reported:
    """One public thread: how it is planted, and which rules name it on which subject. Without rules it is a habit."""

    thread: str
    plant: str
    rules: tuple[str, ...] = ()
    subject: str = ""
    """A label; one that ends in a slash is any below it; an empty one is any."""


REPORTED = (
    Reported(
        "automagik-dev/omni#1124",
        "a worker takes longer than ack_wait, its jobs come again and run again",
        ("JSD410", "JSD408"),
        "APP/SYNC/sync-worker",
    ),
    Reported(
        "nats-io/nats-server#7760",
        "three servers 2.10.26: an interest stream, two filters of a durable are changed, its leader steps down",
        ("JSD207", "JSD720"),
        "APP/FOO",
    ),
    Reported(
        "synadia-io/flink-connector-nats#109",
        "acknowledgements come only at checkpoints; 1,000 messages are pending, 3,000 wait, a pull request is open",
        ("JSD403",),
        "APP/FLINK/flink",
    ),
    Reported(
        "hephaestus-build/Hephaestus#1456",
        "disposable deployments leave a durable each behind, without clients, and messages wait",
        ("JSD420", "JSD405"),
        "APP/WEBHOOKS/",
    ),
    Reported(
        "Wave-RF/WaveHouse#99",
        "a compose file whose server has -js and no volume at its store directory (--manifest)",
        ("JSD818",),
    ),
    Reported(
        "decocms/studio#3630",
        "a chunk is larger than max_payload; MAX_PAYLOAD_EXCEEDED in the log of the application (--logs)",
        ("JSD603", "JSD612", "JSD511"),
    ),
    Reported(
        "dogganidhal/noddde#134",
        "a second replica binds a push durable without a queue group: `duplicate subscription` in its log (--logs)",
        ("JSD418",),
    ),
    Reported(
        "nats-io/nats-server#8423",
        "three servers 2.12.8: a work queue with schedules and three replicas whose targets another stream sources",
        ("JSD720",),
    ),
    Reported(
        "nats-io/nats-server#8376",
        "an atomic batch with true expectations per subject is refused with 10071; log of the application (--logs)",
        ("JSD201", "JSD720"),
    ),
    Reported(
        "mulgadc/spinifex#795",
        "a watchdog stops and starts a server again and again while it recovers (log of the server)",
        ("JSD805", "JSD839"),
    ),
    Reported(
        "anycable/anycable#284",
        "the servers of a cluster are replaced one after the other by servers with new names and empty stores; 10008",
        ("JSD701",),
    ),
    Reported(
        "MartinKalema/horizontal-scaling-convex#174",
        "limits removed messages that a durable had not received: it resumes past a gap",
        ("JSD206",),
        "APP/DELTAS/replica",
    ),
    Reported(
        "risingwavelabs/risingwave#25679",
        "a source never acknowledges, its consumer wants explicit acknowledgements: all comes again and again",
        ("JSD408", "JSD410"),
        "APP/RW/source",
    ),
    Reported(
        "dotnet/orleans#9975",
        "one replica on three servers, and the server with it restarts: down",
        ("JSD702", "JSD605"),
        "APP/ORLEANS",
    ),
    Reported(
        "gke-labs/kube-agents#1665",
        "a NACK manifest raises maxConsumers of a running stream, which servers before 2.14 refuse (--manifest)",
        ("JSD614",),
    ),
    Reported(
        "mudler/LocalAI#10548",
        "a login may not subscribe to agent.*.cancel (logs of server and application)",
        ("JSD825",),
    ),
    Reported(
        "nats-io/nats-server#8036",
        "after a power failure a durable has the state of minutes before: its floor goes back (log of the server)",
        ("JSD210", "JSD813"),
    ),
    Reported(
        "taskiq-python/taskiq-nats#26",
        "every start creates the stream anew, with another configuration: 10058 in the log of the application (--logs)",
        ("JSD614",),
    ),
    Reported(
        "ai-dynamo/dynamo#5861",
        "a durable with an inactive_threshold of two minutes, whose instance is away longer now and then",
        ("JSD414",),
        "APP/KVEVENTS/router",
    ),
    Reported(
        "nats-io/nats.ex#231",
        "an object store is full: chunks are refused, and its client, which reads no acknowledgement, does not notice",
        ("JSD603", "JSD633"),
        "APP/OBJ_FILES",
    ),
    # Habits.
    Reported(
        "quarkiverse/quarkus-reactive-messaging-nats-jetstream#490",
        "a worker with a backoff refuses one message of ten once, and processes it at the second delivery",
    ),
    Reported(
        "nats-io/nats.py#791",
        "an ephemeral pull consumer reads history and asks for more than there is, until its fetch times out",
    ),
    Reported(
        "arun0009/idempotent#27", "two instances create the same keys of a bucket; the second is refused each time"
    ),
    Reported("nats-io/nats-server#7872", "MQTT clients publish retained messages; $MQTT_rmsgs has no direct access"),
    Reported("nats-io/nats.docs#937", "a consumer with a name and without a durable name is read by its client"),
    Reported("nats-io/nats.py#909", "keys of a bucket with a TTL expire without a marker while a watcher watches"),
    Reported("nats-io/nats-server#8169", "a worker processes one message at a time: max_ack_pending 1, light load"),
    Reported(
        "gke-labs/kube-agents#1393",
        "a login with few permissions closes an ordered consumer: one refused CONSUMER.DELETE in the server's log",
    ),
    Reported(
        "gke-labs/kube-agents#930",
        "a journal at its max_bytes with discard old rolls on, and its readers are at its end",
    ),
    Reported("nats-io/nats.py#811", "atomic batches are published; all but their last message get empty replies"),
)
