"""What each client library is told to do, and the conditions that jsdoctor must name on its traffic."""

from collections.abc import Callable
from typing import Any, NamedTuple

from jsdoctor.model.finding import Outcome
from jsdoctor.model.nats_traffic import NatsConnection
from jsdoctor.model.packets import PacketEvidence

Step = dict[str, Any]
PAUSE, RESUME, WAIT = "pause the server", "resume the server", "wait"
"""Steps of the test itself: `{"test": PAUSE}`, `{"test": WAIT, "seconds": 1.5}`."""


def _api(operation: str, **data: Any) -> Step:
    return {"do": "request", "subject": f"$JS.API.{operation}", "data": data}


def _stream(name: str, **more: Any) -> Step:
    return _api(f"STREAM.CREATE.{name}", name=name, subjects=[f"{name}.>"], storage="memory", **more)


def _consumer(stream: str, name: str, **more: Any) -> Step:
    config = {"durable_name": name, "ack_policy": "explicit", **more}
    return _api(f"CONSUMER.DURABLE.CREATE.{stream}.{name}", stream_name=stream, config=config)


def _publish(subject: str, times: int = 1, **more: Any) -> Step:
    return {"do": "publish", "subject": subject, "times": times, **more}


def _fetch(stream: str, consumer: str, batch: int, action: str, **more: Any) -> Step:
    return {
        "do": "fetch", "stream": stream, "consumer": consumer, "batch": batch, "action": action, "expires": 1000, **more
    }  # fmt: skip


def _pulls(inbox: str, consumer: str, times: int, **request: Any) -> Step:
    """Pulls as no library makes them, over the plain connection of the library."""
    subject = f"$JS.API.CONSUMER.MSG.NEXT.PULLS.{consumer}"
    return {"do": "core", "subject": subject, "reply": inbox, "times": times, "data": request}


_SECOND = 1_000_000_000
PLAY: tuple[Step, ...] = (
    {"do": "connect", "name": "player"},
    {"do": "listen", "subject": "$JS.EVENT.ADVISORY.>"},
    {"do": "listen", "subject": "pulls.inbox"},
    # refused publishes
    _stream("FULL", max_msgs=5, discard="new", max_msg_size=1000),
    _publish("FULL.new", 20),
    _publish("FULL.new", 12, size=2000),
    _stream("ORDERS"),
    _publish("ORDERS.new", 40),
    _publish("ORDERS.new", 4, headers={"Nats-Expected-Last-Sequence": "2"}),
    _publish("ORDERS.new", 4, headers={"Nats-Expected-Last-Sequence": "9999"}),
    _publish("ORDERS.new", 10, headers={"Nats-Expected-Last-Msg-Id": "never"}),
    _publish("ORDERS.new", 10, headers={"Nats-Expected-Stream": "OTHER"}),
    _publish("ORDERS.new", 10, headers={"Nats-Expected-Last-Subject-Sequence": "7777"}),
    _publish("nobody.listens", 12, timeout=1000),
    {"do": "request", "subject": "no.service", "times": 12},
    # the same id again
    _publish("ORDERS.once", 6, headers={"Nats-Msg-Id": "once"}),
    # API
    {"do": "request", "subject": "$JS.API.STREAM.INFO.MISSING", "times": 12},
    {"do": "request", "subject": "$JS.API.CONSUMER.INFO.ORDERS.MISSING", "times": 12},
    _api("STREAM.CREATE.TWICE", name="TWICE", subjects=["ORDERS.new"]) | {"times": 4},
    # consumers
    _consumer("ORDERS", "ACKS"),
    _fetch("ORDERS", "ACKS", 10, "ack"),
    _consumer("ORDERS", "NAKS", max_deliver=2),
    # 80 deliveries of 40 messages: some are delivered twice, in whatever order the server takes up what was refused
    _fetch("ORDERS", "NAKS", 20, "nak"),
    _fetch("ORDERS", "NAKS", 20, "nak"),
    _fetch("ORDERS", "NAKS", 20, "nak"),
    _fetch("ORDERS", "NAKS", 20, "nak"),
    {"test": WAIT, "seconds": 0.5},
    _fetch("ORDERS", "NAKS", 1, "ack"),
    _consumer("ORDERS", "TERMS"),
    _fetch("ORDERS", "TERMS", 20, "term"),
    _consumer("ORDERS", "PROGRESS"),
    _fetch("ORDERS", "PROGRESS", 5, "progress"),
    _consumer("ORDERS", "SLOW", ack_wait=_SECOND // 2),
    _fetch("ORDERS", "SLOW", 20, "none", delay=700),
    _fetch("ORDERS", "SLOW", 20, "ack", delay=700),
    _fetch("ORDERS", "SLOW", 20, "ack"),
    _consumer("ORDERS", "LATE", ack_wait=_SECOND // 2, deliver_subject="deliver.late"),
    {"do": "push", "stream": "ORDERS", "consumer": "LATE", "action": "ack", "delay": 800},
    {"test": WAIT, "seconds": 2},
    # pulls that end
    _stream("PULLS"),
    _consumer("PULLS", "WAITING", max_waiting=2),
    _pulls("pulls.inbox", "WAITING", 12, batch=1, expires=3 * _SECOND),
    _consumer("PULLS", "SMALL", max_batch=5),
    _pulls("pulls.inbox", "SMALL", 10, batch=50, expires=_SECOND),
    _consumer("PULLS", "EMPTY"),
    _pulls("pulls.inbox", "EMPTY", 3, batch=1, no_wait=True),
    _pulls("pulls.inbox", "EMPTY", 2, batch=1, expires=_SECOND // 2),
    {"test": WAIT, "seconds": 1},
    _consumer("PULLS", "DELETED"),
    _pulls("pulls.inbox", "DELETED", 12, batch=1, expires=10 * _SECOND),
    {"test": WAIT, "seconds": 0.5},
    _api("CONSUMER.DELETE.PULLS.DELETED"),
    # flow control: answered by the library, and by nobody
    _stream("FLOW"),
    _consumer("FLOW", "FLOWS", deliver_subject="deliver.flows", flow_control=True, idle_heartbeat=_SECOND // 4),
    {"do": "push", "stream": "FLOW", "consumer": "FLOWS", "action": "ack"},
    _publish("FLOW.new", 40, size=50_000),
    {"test": WAIT, "seconds": 1},
    {"do": "listen", "subject": "deliver.mute"},
    _consumer("FLOW", "MUTE", deliver_subject="deliver.mute", flow_control=True, idle_heartbeat=_SECOND // 2),
    {"test": WAIT, "seconds": 2.5},
    # a server that stands still: heartbeats stop, publishes wait
    {"test": PAUSE},
    {"do": "publish", "subject": "ORDERS.late", "timeout": 500, "headers": {"Nats-Msg-Id": "late"}},
    {"test": WAIT, "seconds": 5},
    {"test": RESUME},
    {"do": "publish", "subject": "ORDERS.late", "headers": {"Nats-Msg-Id": "late"}},
    # what ends with -ERR
    {"do": "core", "subject": "forbidden.place", "times": 3},
    {"do": "flush"},
    {"do": "close"},
    {"do": "connect", "name": "guessing", "user": "player", "pass": "wrong"},
)  # fmt: skip


class Seen(NamedTuple):
    """What jsdoctor made of the capture: the failed findings by code, and the traffic."""

    findings: dict[str, list[str]]
    packets: PacketEvidence

    @property
    def talks(self) -> list[NatsConnection]:
        """All connections."""
        return [talk for capture in self.packets.nats for talk in capture.connections]


def _finding(code: str, *words: str) -> Callable[[Seen], bool]:
    """A finding of that rule has all these words in its subject or message."""
    return lambda seen: any(all(word in text for word in words) for text in seen.findings.get(code, []))


def _status(code: int, text: str = "") -> Callable[[Seen], bool]:
    return lambda seen: any(
        status.code == code and text in status.text for talk in seen.talks for status in talk.statuses
    )


def _summed(what: Callable[[NatsConnection], int], least: int) -> Callable[[Seen], bool]:
    return lambda seen: sum(map(what, seen.talks)) >= least


def _consumers(what: str, least: int) -> Callable[[Seen], bool]:
    return lambda seen: (
        sum(getattr(consumer, what) for capture in seen.packets.nats for consumer in capture.consumers) >= least
    )


CONDITIONS: dict[str, Callable[[Seen], bool]] = {
    "publishes refused by a full stream": _finding("JSD511", "FULL", "maximum messages exceeded"),
    "publishes refused because they are too large": _finding("JSD511", "FULL", "message size exceeds"),
    "expected last message id": _finding("JSD201", "ORDERS", "id of the last message"),
    "expected stream": _finding("JSD511", "expected stream does not match"),
    "expected last sequence behind": _finding("JSD201", "ORDERS"),
    "expected last sequence ahead": _finding("JSD202", "ORDERS"),
    "publishes without a listener": _finding("JSD512", "nobody.listens"),
    "requests without a responder": _finding("JSD512", "no.service"),
    "duplicates by id": _finding("JSD308"),
    "publishes again under the same id": _finding("JSD504"),
    "stream not found": _finding("JSD517", "stream not found"),
    "consumer not found": _finding("JSD517", "consumer not found"),
    "subjects overlap": _finding("JSD517", "subjects overlap"),
    "messages refused by a worker": _finding("JSD513", "ORDERS > NAKS"),
    "messages given up": _finding("JSD514", "ORDERS > TERMS"),
    "redeliveries": _finding("JSD515", "ORDERS > SLOW"),
    "acknowledgements behind ack_wait": _finding("JSD410", "ORDERS > LATE"),
    "max_deliver reached": _finding("JSD520", "ORDERS > NAKS"),
    "work in progress": _consumers("in_progress", 5),
    "acknowledgements": _consumers("acks", 20),
    "too many pulls wait": _finding("JSD516", "MaxWaiting"),
    "a pull asks for too much": _finding("JSD516", "MaxRequestBatch"),
    "a consumer is deleted under its pulls": _finding("JSD516", "Consumer Deleted"),
    "no messages": _status(404),
    "a pull expires": _status(408),
    "idle heartbeats": _summed(lambda talk: talk.heartbeats.count, 3),
    "idle heartbeats stop": _finding("JSD518"),
    "flow control, answered": _summed(lambda talk: talk.flow_control.answered, 1),
    "flow control, not answered": _finding("JSD519"),
    "publishes answered late": _finding("JSD505"),
    "permissions violation": _finding("JSD506", "Permissions Violation"),
    "authorization violation": _finding("JSD506", "Authorization Violation"),
}
"""What must be said of the capture of any client."""


def failed(results: Any) -> dict[str, list[str]]:
    """Findings by code: subject and message."""
    messages: dict[str, list[str]] = {}
    for result in results:
        finding = result.finding
        if finding.outcome is Outcome.FAIL:
            messages.setdefault(result.rule.code, []).append(f"{finding.subject.label}: {finding.message}")
    return messages
