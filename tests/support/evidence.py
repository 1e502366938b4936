"""Recorded evidence for rule tests: real captures, and small edits of them that make a rule fire or keep silent.

`fixtures/base/*.json` are recordings of healthy clusters, made by `python -m tools.record` on real servers.
`fixtures/rules/<CODE>/cases.toml` lists the cases of one rule:

    [[case]]
    kind = "fires"                     # fires | silent | below | above | fixed | unknown
    about = "all slots taken while messages wait"
    like = "..."                       # an earlier case by its `about`: this has all of it, and more
    base = "three-nodes-2.15.1"        # or several: base = ["a", "b"]: the case holds on each
    samples = 2                        # what a run with --samples N would have (default: all); the recorded ones again
                                       # and again where N is more
    history = true                     # all samples but the last are those of earlier bundles (--history)
    keep_consumers = ["APP/A/b"]       # take all other consumers away first
    params = { warn_fraction = 0.5 }   # optional overrides, in the parameter's unit (durations as text)
    [[case.edit]]
    consumer = "APP/ORDERS/billing"    # or stream = "APP/ORDERS", account = "APP", server = "n1", all_servers = true,
                                       # connected = true (the INFO line of the server we are connected to)
    endpoint = "JSZ"                   # for servers: JSZ (default), VARZ, CONNZ.closed...; SENDER: who sent its replies
    samples = "all"                    # all (default) | first | last | a number: that one, from 1 on
    copies = "all"                     # all (default) | leader | followers | name of one server
    set = { num_ack_pending = 1000, "config.max_ack_pending" = 1000 }
    add = { "state.last_seq" = 100 }   # adds to what was recorded
    age = { "state.first_ts" = "90s" } # a time that long before the reply's own clock ("-90s": in its future)
    remove = ["cluster.leader"]
    rename = "OTHER"                   # edit a copy of the asset under another name instead
    reply = { }                        # what the server answered at an endpoint that was not asked, or asked once more:
                                       # in the first sample, or the last
    drop = true                        # take the asset (or the server's replies, with `endpoint` only those) away
    [[case.edit]]                      # instead: how far servers' clocks are ahead of ours, and true time by NTP is
    clocks = { n1 = "0s", n2 = "-5s" } # no other clocks are known then; {}: none at all
    ntp = { "a.example" = "250ms" }    # by NTP server
    round_trip = "1ms"                 # of each reading (default 1ms)
    cluster = "C"                      # of the servers (default C; "": none)
    [[case.edit]]                      # instead: the host of a server n1 was looked at, where all is well but for:
    host = { }                         # fields of every reading (`model.host`)
    process = { open_files = 900 }     # fields of its process, in the last reading
    volume = { fs_type = "nfs4" }      # fields of the volume of its store directory
    readings = 1                       # how often it was looked at (default 2)
    [[case.edit]]                      # instead: addresses that servers give to clients, each with its error or ""
    addresses = { "10.0.0.1:4222" = "no connection within 2 s" }
    cluster = "OTHER"                  # of those that have no error (default C, that of the connected server)
    [[case.edit]]                      # instead: whether the leaders of idle streams subscribe to their subjects
    listens = { "APP/ORDERS" = false }
    [[case.edit]]                      # instead: the JetStream API refused the lists and the account's usage
    refused = { err_code = 10008, description = "..." }   # (only with account access; samples as above, default first)
    [[case.edit]]                      # instead: Kubernetes on n1, n2, n3, as the Helm chart makes them but for:
    kube = { }                         # fields of the facts (`model.kubernetes`); "": not to be listed
    pods = { n1 = { node = "node-b" } }  # fields of pods, or further pods; unready_since and started as ages
    set = { ordered = true }           # fields of their StatefulSet
    configuration = { jetstream = true }  # settings of the file that they have mounted; "": not read
    changed = "1h"                     # how long ago that file was changed (default: before the start); "": unknown
    containers = { n1 = { restarts = 3 } }  # fields of their containers; ended_at as an age; "": none, "?": unknown
    claims = { n1 = "Pending" }        # the phase of claims; "": there is none
    budget = { max_unavailable = "2" } # fields of the one budget (default: max_unavailable 1)
    [[case.edit]]                      # instead: measured acknowledgements, so many of each time (account access)
    acks = "ORDERS/archive"
    times = { 19 = "100ms", 1 = "2s" }
    [[case.edit]]                      # instead: subjects that a stream was asked for (only with account access)
    subjects_of = "ORDERS"
    filters = ["orders.shiped"]        # filters that nothing ever matched
    counts = { "orders.shipped" = 12 } # messages by subject
    too_many = 0                       # so many subjects: it was not asked (default: it was)
    full = 3                           # so many subjects have all the messages that they may (default: not counted)
    bucket = { uploads = 5, objects = 4, spare_chunks = 8 }   # of an object store (default: not counted)
    [[case.edit]]                      # instead: what a scan of stored messages read (only with account access)
    stored = "ORDERS"
    ages = ["60s", "65s", "10s"]       # of its messages, oldest first; "-5s": in the future
    ids = ["a", "", "a"]               # their ids, "": none, "!": under a header that servers ignore (default: none)
    subjects = ["x", "y", "x"]         # default orders.new
    contents = ["p", "", "q"]          # compared; by default they were not
    ids_read = false                   # as an older version read it (default true)
    made = "30s"                       # the stream was made so long ago (default: as recorded)
    markers = 2                        # of its messages mark a key as deleted (default 0)
    markers_read = false               # as an older version read it (default true)
    whole = false                      # older messages were not read (default true)
    first_seq = 7                      # of the first (default 1)
    leader_since = "12s"               # so long ago by the stream's own clock (default: unknown)
    advisories = [{ type = "terminated", stream = "ORDERS", consumer = "billing", stream_seq = 7 }]
                                       # that it recorded, as servers write them; `times` of each (default 1), the last
                                       # `age` ago (default 1m)
    [[case.edit]]                      # instead: what became of a waiver of the configuration file
    waiver = "JSD403"
    holds_for = 0                      # days from today to its last; -1: it expired yesterday
    matched = 3                        # findings that it means
    judged = true                      # whether all its rules were (default)
    [[case.expect]]                    # exactly the failures of this rule; none for silent, below, fixed
    subject = "APP/ORDERS/billing"     # the label's parts joined by "/"
    severity = "error"
    outcome = "fail"                   # fail (default) | not_evaluated

Every other reading of the recording stays as the server sent it.
"""

import copy
import json
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from jsdoctor.model.duration import parse_duration
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.exchange import Access, Endpoint, Exchange, Sample
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.suppression import Suppressions, Waiver, WaiverUse
from jsdoctor.model.trend import History
from jsdoctor.replies.advisories import AdvisoryTally
from jsdoctor.replies.assemble import assemble
from jsdoctor.replies.clock import NTP_EPOCH_S, nanoseconds
from jsdoctor.replies.near_subjects import BucketUploads, StoredSubjects, StreamSubjects
from jsdoctor.replies.stored import Columns, HasId, StoredReply
from jsdoctor.replies.unread import with_unread
from jsdoctor.sources.rule_pages import known_defects
from jsdoctor.sources.servers.near_subjects import stored_filter
from tests.support.rule_case import listed

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_MAX_KEPT = 200
"""More cases than a rule has."""

Json = dict[str, Any]


def base_names() -> list[str]:
    """Every recording of a healthy cluster."""
    return sorted(path.stem for path in (FIXTURES / "base").glob("*.json"))


@cache
def _recording(name: str) -> bytes:
    return (FIXTURES / "base" / f"{name}.json").read_bytes()


class _Recorded(dict[str, Any]):
    """An exchange of a recording to edit. Its body is decoded when an edit reads it: most cases read few."""

    def __missing__(self, key: str) -> Any:
        if key != "body":
            raise KeyError(key)
        self["body"] = body = msgspec.json.decode(self["recorded_body"])
        return body


class _RecordedExchange(msgspec.Struct):
    access: str
    endpoint: str
    target: str
    asked_at: str
    round_trip_ns: int
    body: msgspec.Raw


class _RecordedSample(msgspec.Struct):
    taken_at: str
    exchanges: list[_RecordedExchange]


class _RecordingFile(msgspec.Struct):
    samples: list[_RecordedSample]


def _base(name: str) -> list[Json]:
    """A copy to edit."""
    return [
        {"taken_at": sample.taken_at, "exchanges": list(map(_exchange, sample.exchanges))}
        for sample in msgspec.json.decode(_recording(name), type=_RecordingFile).samples
    ]


def _exchange(recorded: _RecordedExchange) -> _Recorded:
    fields = msgspec.structs.asdict(recorded)
    return _Recorded(fields, recorded_body=fields.pop("body"))


def samples_of(name: str) -> tuple[Sample, ...]:
    """A recording as it was collected."""
    return tuple(map(_sample, _base(name)))


def read_samples(path: Path) -> tuple[Sample, ...]:
    """A recording of any directory, as it was collected."""
    return tuple(map(_sample, msgspec.json.decode(path.read_bytes())["samples"]))


def dump_samples(samples: tuple[Sample, ...], about: str) -> str:
    """A recording as it lies in `fixtures/base`."""
    return json.dumps(
        {
            "about": about,
            "samples": [
                {
                    "taken_at": sample.taken_at.isoformat(),
                    "exchanges": [
                        {
                            "access": exchange.access.value,
                            "endpoint": exchange.endpoint.value,
                            "target": exchange.target,
                            "asked_at": exchange.asked_at.isoformat(),
                            "round_trip_ns": exchange.round_trip_ns,
                            "body": json.loads(exchange.body),
                        }
                        for exchange in sample.exchanges
                    ],
                }
                for sample in samples
            ],
        },
        indent=1,
    )


@cache
def cases(code: str) -> list[Json]:
    """The cases of one rule, one per base."""
    return [
        case | {"base": base}
        for case in listed(code)
        for base in (case["base"] if isinstance(case["base"], list) else [case["base"]])
    ]


def evidence_of(case: Json) -> EvidenceSet:
    """The evidence that a case describes. Several modules read the cases of a rule in turn: the latest are kept."""
    return _evidence_of(msgspec.json.encode(case))


@lru_cache(maxsize=_MAX_KEPT)
def _evidence_of(written: bytes) -> EvidenceSet:
    case: Json = msgspec.json.decode(written)
    return evidence_from(case, edited_samples(case))


def evidence_from(case: Json, samples: list[Sample]) -> EvidenceSet:
    """The evidence that these samples of a case give, with what the case has beside them."""
    evidence = _with_history(samples) if case.get("history") else assemble(samples)
    waivers = [_waiver_use(edit) for edit in case.get("edit", []) if "waiver" in edit]
    evidence = evidence.joined(known_defects())
    return evidence.joined(Suppressions(tuple(waivers))) if waivers else evidence


def edited_samples(case: Json) -> list[Sample]:
    """The samples of its recording as the edits of a case leave them."""
    samples = _base(case["base"])
    recorded, wanted = len(samples), case.get("samples", len(samples))
    samples = samples[:wanted] + [_base(case["base"])[number % recorded] for number in range(recorded, wanted)]
    if "keep_consumers" in case:
        _keep_consumers(samples, set(case["keep_consumers"]))
    for edit in case.get("edit", []):
        if "clocks" in edit or "ntp" in edit:
            _set_clocks(samples[0], edit)
            continue
        if "waiver" in edit:
            continue
        if place := next((key for key in _ADDED if key in edit), None):
            number, add = _ADDED[place]
            which = edit.get("samples")
            number = which - 1 if isinstance(which, int) else -1 if which == "last" else number
            add(samples[number], edit)
            continue
        applied = [_apply(sample, edit) for sample in _chosen(samples, edit.get("samples", "all"))]
        assert any(applied), f"the edit touches nothing: {edit}"
    return [_sample(sample) for sample in samples]


def _waiver_use(edit: Json) -> WaiverUse:
    today, reason = date(2026, 6, 1), "OPS-4711"
    expires = today + timedelta(days=edit["holds_for"])
    waiver = Waiver(edit["waiver"], "*", reason, expires, "jsdoctor.toml", 3, frozenset({edit["waiver"]}))
    return WaiverUse(waiver, edit["matched"], edit.get("judged", True), waiver.expired(today))


def _with_history(samples: list[Sample]) -> EvidenceSet:
    series, last = assemble(samples).get(SnapshotSeries), assemble(samples[-1:])
    return with_unread(last.joined(History(series.snapshots)), History) if isinstance(series, SnapshotSeries) else last


def _chosen(samples: list[Json], which: str | int) -> list[Json]:
    if isinstance(which, int):
        return samples[which - 1 : which]
    return {"all": samples, "first": samples[:1], "last": samples[-1:]}[which]


def _sample(sample: Json) -> Sample:
    return Sample(
        taken_at=datetime.fromisoformat(sample["taken_at"]),
        exchanges=tuple(
            Exchange(
                access=Access(exchange["access"]),
                endpoint=Endpoint(exchange["endpoint"]),
                target=exchange["target"],
                asked_at=datetime.fromisoformat(exchange["asked_at"]),
                round_trip_ns=exchange["round_trip_ns"],
                body=msgspec.json.encode(exchange["body"]) if "body" in exchange else bytes(exchange["recorded_body"]),
            )
            for exchange in sample["exchanges"]
        ),
    )


def _set_clocks(sample: Json, edit: Json) -> None:
    """Readings of clocks, one per server, in the form that real ones have (`server.time`, ntplib's fields)."""
    round_trip_ns = parse_duration(edit.get("round_trip", "1ms"))
    kept = [e for e in sample["exchanges"] if e["endpoint"] not in ("CLOCK", "NTP")]
    access = "system" if any(e["access"] == "system" for e in kept) else "account"
    asked_at = datetime.fromisoformat(sample["taken_at"])
    reading = {"asked_at": sample["taken_at"], "round_trip_ns": round_trip_ns}
    for name, ahead in edit.get("clocks", {}).items():
        moment = asked_at + timedelta(microseconds=(round_trip_ns / 2 + _signed(ahead)) / 1000)
        server = {"name": name, "cluster": edit.get("cluster", "C"), "ver": "2.15.1", "time": moment.isoformat()}
        body: Json = {"server": server}
        kept.append(reading | {"access": access, "endpoint": "CLOCK", "target": "$SYS.REQ.USER.INFO", "body": body})
    for host, ahead in edit.get("ntp", {}).items():
        at_s = asked_at.timestamp() + NTP_EPOCH_S + (round_trip_ns / 2 + _signed(ahead)) / 1e9
        times = {"sent": 7.5, "orig_timestamp": 7.5, "recv_timestamp": at_s, "tx_timestamp": at_s}
        own = {"leap": 0, "mode": 4, "stratum": 1, "precision": -25, "root_delay": 0.0, "root_dispersion": 0.0}
        body = {"host": host, "ref_id": 0} | times | own
        kept.append(reading | {"access": "ntp", "endpoint": "NTP", "target": host, "body": body})
    sample["exchanges"] = kept


def _add_host(sample: Json, edit: Json) -> None:
    """Readings of a host with one server, ten seconds apart: a volume with room, few open files, no throttling."""
    volume = {"mount": "/data", "fs_type": "ext4", "total": 100_000_000_000, "available": 60_000_000_000}
    volume |= {"inodes": 6_000_000, "free_inodes": 5_900_000} | edit.get("volume", {})
    first = {"name": "n1", "pid": 7, "store_dir": "/data/jetstream", "volume": volume, "open_files": 300}
    first |= {"max_open_files": 65_536, "cpu_periods": 1_000, "cpu_throttled": 100}
    last = first | {"cpu_periods": 1_100} | edit.get("process", {})
    clock = {"synchronised": True}
    at = datetime.fromisoformat(sample["taken_at"])
    for number, shown in list(enumerate((first, last)))[-edit.get("readings", 2) :]:
        taken_at = (at + timedelta(seconds=10 * number)).isoformat()
        process = {name: value for name, value in shown.items() if value != ""}  # "": not shown
        body = {"host": "h1", "at": taken_at, "clock": clock, "processes": [process]} | edit["host"]
        asked = {"access": "host", "endpoint": "HOST", "target": "h1", "asked_at": taken_at, "round_trip_ns": 0}
        sample["exchanges"].append(asked | {"body": body})


def _add_addresses(sample: Json, edit: Json) -> None:
    """What became of the addresses that servers of C give to clients."""
    at = sample["taken_at"]
    reached = {"server": "n1", "cluster": edit.get("cluster", "C")}
    tried = [{"address": address, **({"error": why} if why else reached)} for address, why in edit["addresses"].items()]
    body = {"reached": "nats://nats.example:4222", "cluster": "C", "at": at, "tried": tried}
    asked = {"access": "client", "endpoint": "CONNECT.addresses", "target": body["reached"], "asked_at": at}
    sample["exchanges"].append(asked | {"round_trip_ns": 0, "body": body})


def _add_interest(sample: Json, edit: Json) -> None:
    """Whether leaders listen to the first subject of idle streams, by account and stream; "slow": none was queried."""
    at, streams = sample["taken_at"], []
    for path, listens in edit["listens"].items():
        account, stream = path.split("/")
        found = None if listens == "slow" else listens
        streams.append({"account": account, "stream": stream, "server": "n1", "listens_to": "orders.>", "found": found})
    body = {"streams": [stream | {"at": at} for stream in streams]}
    asked = {"access": "system", "endpoint": "SUBSZ", "target": "$SYS.REQ.SERVER.PING.SUBSZ", "asked_at": at}
    sample["exchanges"].append(asked | {"round_trip_ns": 0, "body": body})


def _add_kubernetes(sample: Json, edit: Json) -> None:
    """Three pods of a StatefulSet on three nodes as the Helm chart makes them, with bound claims and its budget."""
    at = datetime.fromisoformat(sample["taken_at"])
    pods, claims = [], []
    edited = {name: dict(fields) for name, fields in edit.get("pods", {}).items()}
    placed = {"n1": "node-a", "n2": "node-b", "n3": "node-c"}
    for name, node in (dict.fromkeys(edited, "") | placed).items():
        container = {"name": "nats"} | _CHART_PROBES | edit.get("containers", {}).get(name, {})
        if "ended_at" in container:
            container["ended_at"] = _before(at, container["ended_at"])
        for moment in ("unready_since", "started"):
            if moment in edited.get(name, {}):
                edited[name][moment] = _before(at, edited[name][moment])
        pod = {"name": name, "node": node, "phase": "Running", "owner": "nats", "claims": [f"js-{name}"]}
        pod |= {"shutdown": {"grace_s": 60, "lame_duck": True}, "revision": "nats-1", "configuration": _CONFIGURATION}
        shown = {key: None if value == "?" else value for key, value in container.items() if value != ""}
        pods.append(pod | {"container": shown} | edited.get(name, {}))
        phase = edit.get("claims", {}).get(name, "Bound")
        claims += [{"name": f"js-{name}", "phase": phase, "storage_class": "fast", "bytes": 10 << 30}] if phase else []
    budget = {"name": "nats", "pods": ["n1", "n2", "n3"], "max_unavailable": "1"} | edit.get("budget", {})
    facts: Json = {"namespace": "nats", "at": at.isoformat(), "pods": sorted(pods, key=lambda pod: pod["name"])}
    facts |= {"claims": claims, "budgets": [budget], "nodes": 3, "expandable": {"fast": True}, "warnings": []}
    facts |= {"sets": [{"name": "nats", "replicas": 3} | edit.get("set", {})]}
    changed = edit.get("changed", "1000h")
    facts |= {"configurations": _mounted(edit.get("configuration", {}), _before(at, changed) if changed else None)}
    shown = {name: value for name, value in (facts | edit["kube"]).items() if value != ""}  # "": not to be listed
    asked = {"access": "kubernetes", "endpoint": "KUBERNETES", "target": "nats", "asked_at": at.isoformat()}
    sample["exchanges"].append(asked | {"round_trip_ns": 0, "body": shown})


_CONFIGURATION = "configmap/nats-config/nats.conf"
_CHART_PROBES = {
    "startup": {"path": "/healthz", "delay_s": 10, "failures": 90},
    "readiness": {"path": "/healthz?js-server-only=true", "delay_s": 10},
    "liveness": {"path": "/healthz?js-enabled-only=true", "delay_s": 10, "period_s": 30},
}


def _mounted(settings: Json | str, changed: str | None) -> list[Json]:
    """The chart's file, with these settings as the parser names them; durations as text."""
    if isinstance(settings, str):
        return []
    chart = {"lame_duck_duration": "30s", "lame_duck_grace_period": "10s", "jetstream": True} | settings
    values = {key: parse_duration(str(value)) if key.startswith("lame") else value for key, value in chart.items()}
    servers = {"what": "server configuration", "place": {"file": _CONFIGURATION}, "config_map": "nats-config"}
    return [{"name": _CONFIGURATION, "changed": changed, "servers": servers | {"settings": values}}]


def _before(at: datetime, age: str) -> str:
    return (at - timedelta(microseconds=parse_duration(age) // 1_000)).isoformat()


def _refuse(sample: Json, edit: Json) -> None:
    """The lists of an account and its usage are refused with this error; what depends on them was not requested."""
    kept = [e for e in sample["exchanges"] if not e["endpoint"].startswith("CONSUMER.LIST")]
    for exchange in kept:
        if exchange["endpoint"] in ("STREAM.LIST", "INFO"):
            exchange["body"] = {"type": "io.nats.jetstream.api.v1.error", "error": {"code": 503} | edit["refused"]}
    sample["exchanges"] = kept


def _add_reply(sample: Json, edit: Json) -> None:
    """One more reply of a server, from the same sender as its variables."""
    known = [
        e for e in sample["exchanges"] if e["endpoint"] == "VARZ" and e["body"]["server"]["name"] == edit["server"]
    ]
    assert known, f"no such server: {edit}"
    body = {"server": known[0]["body"]["server"], "data": edit["reply"]}
    sample["exchanges"].append(known[0] | {"endpoint": edit["endpoint"], "body": body})


def _add_stored(sample: Json, edit: Json) -> None:
    """A scan as collection writes it, of messages so many seconds old when the stream's leader was asked."""
    listed = [(e, s) for e in sample["exchanges"] if e["endpoint"] == "STREAM.LIST" for s in e["body"]["streams"]]
    (stored,) = [(e, s) for e, s in listed if s["config"]["name"] == edit["stored"]]
    exchange, stream = stored
    first_seq, at = edit.get("first_seq", 1), datetime.fromisoformat(stream["ts"])
    count = len(edit["ages"])
    ids, subjects = edit.get("ids", [""] * count), edit.get("subjects", ["orders.new"] * count)
    columns = Columns(digests=edit.get("ids_read", True))
    for place, (age, message_id, subject) in enumerate(zip(edit["ages"], ids, subjects, strict=True)):
        has_id = {"": HasId.NO, "!": HasId.MISNAMED}.get(message_id, HasId.YES)
        digest = sha256(message_id.encode()).digest()[:8] if has_id is HasId.YES else b""
        columns.add(first_seq + place, nanoseconds(at) - _signed(age), subject, has_id, digest)
    contents = {seq: edit["contents"][seq - first_seq] for seq in columns.again()} if "contents" in edit else None
    if "made" in edit:
        stream["created"] = _ago(at, edit["made"])
    if "leader_since" in edit:
        stream["cluster"]["leader_since"] = _ago(at, edit["leader_since"])
    tally = AdvisoryTally(nanoseconds(at))
    for advisory in edit.get("advisories", ()):
        own = {key: value for key, value in advisory.items() if key not in ("times", "age")}
        payload = json.dumps({**own, "type": f"io.nats.jetstream.advisory.v1.{own['type']}"}).encode()
        for _ in range(advisory.get("times", 1)):
            tally.add(nanoseconds(at) - _signed(advisory.get("age", "1m")), payload)
    reply = StoredReply(
        stream=edit["stored"],
        read_by="CONSUMER",
        at=at,
        held_first_seq=first_seq,
        from_seq=first_seq + (not edit.get("whole", True)),
        subjects=columns.subjects(),
        blocks=columns.blocks(),
        created=datetime.fromisoformat(stream["created"]),
        duplicate_window=stream["config"].get("duplicate_window", 0),
        ids_read=edit.get("ids_read", True),
        contents=contents,
        markers=edit.get("markers", 0) if edit.get("markers_read", True) else None,
        advisories=tally.all() if "advisories" in edit else None,
    )
    body = json.loads(msgspec.json.encode(reply))
    sample["exchanges"].append(exchange | {"endpoint": "STORED.MESSAGES", "body": body})


def _add_acks(sample: Json, edit: Json) -> None:
    """Metrics as collection keeps them."""
    stream, consumer = edit["acks"].split("/")
    listed = next(e for e in sample["exchanges"] if e["endpoint"] == "CONSUMER.LIST")
    metric = {"stream": stream, "consumer": consumer, "deliveries": 1}
    times = [parse_duration(text) for count, text in edit["times"].items() for _ in range(int(count))]
    body = {"metrics": [metric | {"ack_time": length} for length in times]}
    sample["exchanges"].append(listed | {"endpoint": "METRIC.CONSUMER.ACK", "body": body})


def _add_subjects(sample: Json, edit: Json) -> None:
    """What collection keeps of a stream's subjects for those filters."""
    listed = next(e for e in sample["exchanges"] if e["endpoint"] == "CONSUMER.LIST")
    filters = tuple(stored_filter(filter_text, edit.get("counts", {})) for filter_text in edit.get("filters", ()))
    bucket = BucketUploads(**edit["bucket"]) if "bucket" in edit else None
    stream = StreamSubjects(edit["subjects_of"], filters, edit.get("too_many", 0), edit.get("full"), bucket)
    body = msgspec.to_builtins(StoredSubjects((stream,)))
    sample["exchanges"].append(listed | {"endpoint": "STREAM.SUBJECTS", "body": body})


def _signed(text: str) -> int:
    """A duration in nanoseconds, with a minus before it or not."""
    return -parse_duration(text[1:]) if text.startswith("-") else parse_duration(text)


def _keep_consumers(samples: list[Json], kept: set[str]) -> None:
    for sample in samples:
        for exchange in sample["exchanges"]:
            if exchange["endpoint"] == "CONSUMER.LIST":
                listed = exchange["body"].get("consumers") or []
                names = {consumer for _, consumer in (path.split("/", 1) for path in kept)}
                exchange["body"]["consumers"] = [c for c in listed if f"{c['stream_name']}/{c['name']}" in names]
            for account in exchange["body"].get("data", {}).get("account_details") or []:
                for stream in account.get("stream_detail") or []:
                    stream["consumer_detail"] = [
                        consumer
                        for consumer in stream.get("consumer_detail") or []
                        if f"{account['name']}/{consumer['stream_name']}/{consumer['name']}" in kept
                    ]


def _apply(sample: Json, edit: Json) -> int:
    touched = 0
    for holder, recorded, now in list(_targets(sample, edit)):
        touched += 1
        if edit.get("drop"):
            holder.remove(recorded)
            continue
        entry = recorded
        if "rename" in edit:
            entry = copy.deepcopy(recorded)
            _rename(entry, edit)
            holder.append(entry)
        for path, value in edit.get("set", {}).items():
            _put(entry, path, _group(value) if edit.get("endpoint") == "RAFTZ" and isinstance(value, dict) else value)
        for path, value in edit.get("add", {}).items():
            _put(entry, path, _read(entry, path) + value)
        for path, value in edit.get("age", {}).items():
            _put(entry, path, _ago(now, value))
        if "now" in edit.get("set", {}):
            _set_sender_time(sample, entry)
        for path in edit.get("remove", []):
            *parents, last = path.split(".")
            _read(entry, ".".join(parents)).pop(last, None)
    return touched


def _set_sender_time(sample: Json, data: Json) -> None:
    """A reply has the time twice: in its data, and of its sender."""
    for exchange in sample["exchanges"]:
        if exchange["body"].get("data") is data:
            exchange["body"]["server"]["time"] = data["now"]


def _group(shown: Json) -> Json:
    """A Raft group with all that servers send of one, zero where a case does not say otherwise."""
    numbers = ("size", "committed", "applied", "term", "pindex")
    queues = ("ipq_proposal_len", "ipq_entry_len", "ipq_resp_len", "ipq_apply_len")
    wal = {"messages": 0, "bytes": 0, "first_ts": None} | shown.get("wal", {})
    return (
        {"id": "", "state": "", "ever_had_leader": None} | dict.fromkeys((*numbers, *queues), 0) | shown | {"wal": wal}
    )


def _rename(entry: Json, edit: Json) -> None:
    new = edit["rename"]
    if "consumer" in edit:
        entry["name"] = entry["config"]["name"] = new
        if "durable_name" in entry["config"]:
            entry["config"]["durable_name"] = new
    else:
        entry["config"]["name"] = new
        entry["name"] = new
        for consumer in entry.get("consumer_detail") or []:
            consumer["stream_name"] = new


def _ago(now: datetime, text: str) -> str:
    sign = -1 if text.startswith("-") else 1
    moment = now - sign * timedelta(microseconds=parse_duration(text.lstrip("-")) / 1000)
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _put(entry: Any, path: str, value: Any) -> None:
    *parents, last = path.split(".")
    for parent in parents:
        entry = entry[int(parent)] if isinstance(entry, list) else entry.setdefault(parent, {})
    if isinstance(entry, list):
        entry[int(last)] = value
    else:
        entry[last] = value


def _read(entry: Any, path: str) -> Any:
    for part in filter(None, path.split(".")):
        entry = entry[int(part)] if isinstance(entry, list) else entry[part]
    return entry


def _targets(sample: Json, edit: Json) -> Iterator[tuple[list[Json], Json, datetime]]:
    """The recorded entries that an edit is about: the list that holds each, the entry, the reply's own clock."""
    for exchange in list(sample["exchanges"]):
        endpoint = exchange["endpoint"]
        if edit.get("connected"):
            if endpoint == "CONNECT":
                yield sample["exchanges"], exchange if edit.get("drop") else exchange["body"], _clock(exchange)
        elif "server" in edit or edit.get("all_servers"):
            if exchange["access"] == "system":
                yield from _of_server(sample, exchange, edit)
        elif endpoint == "JSZ":
            yield from _in_jsz(exchange, edit)
        elif exchange["access"] == "account":
            yield from _in_account(exchange, edit)


def _of_server(sample: Json, exchange: Json, edit: Json) -> Iterator[tuple[list[Json], Json, datetime]]:
    endpoint, of_sender = exchange["endpoint"], edit.get("endpoint") == "SENDER"
    if not of_sender and endpoint != edit.get("endpoint", endpoint if edit.get("drop") else "JSZ"):
        return
    body = exchange["body"]
    if edit.get("server") in (None, body["server"]["name"]):
        entry = body["server"] if of_sender else exchange if edit.get("drop") else body["data"]
        yield sample["exchanges"], entry, _clock(exchange)


def _in_jsz(exchange: Json, edit: Json) -> Iterator[tuple[list[Json], Json, datetime]]:
    body, now = exchange["body"], _clock(exchange)
    server, details = body["server"]["name"], body["data"].get("account_details") or []
    account_name, *rest = (edit.get("consumer") or edit.get("stream") or edit.get("account", "")).split("/")
    for account in details:
        if account["name"] != account_name:
            continue
        if not rest:
            yield details, account, now
            continue
        streams = account.get("stream_detail") or []
        for stream in list(streams):
            if stream["config"]["name"] != rest[0]:
                continue
            if "stream" in edit:
                if _wanted_copy(stream, server, edit):
                    yield streams, stream, now
                continue
            consumers = stream.get("consumer_detail") or []
            for consumer in list(consumers):
                if consumer["name"] == rest[1] and _wanted_copy(consumer, server, edit):
                    yield consumers, consumer, now


def _in_account(exchange: Json, edit: Json) -> Iterator[tuple[list[Json], Json, datetime]]:
    endpoint = exchange["endpoint"]
    if endpoint not in ("INFO", "STREAM.LIST", "CONSUMER.LIST"):
        return
    body, now = exchange["body"], _clock(exchange)
    if "account" in edit and endpoint == "INFO":
        yield [], body, now
    elif "stream" in edit and endpoint == "STREAM.LIST":
        streams = body.get("streams") or []
        for stream in list(streams):
            if stream["config"]["name"] == edit["stream"].split("/")[1]:
                yield streams, stream, now
    elif "consumer" in edit and endpoint == "CONSUMER.LIST":
        consumers = body.get("consumers") or []
        for consumer in list(consumers):
            if [consumer["stream_name"], consumer["name"]] == edit["consumer"].split("/")[1:]:
                yield consumers, consumer, now


def _wanted_copy(entry: Json, server: str, edit: Json) -> bool:
    which = edit.get("copies", "all")
    leads: bool = (entry.get("cluster") or {}).get("leader", server) == server
    wanted: dict[str, bool] = {"all": True, "leader": leads, "followers": not leads}
    return wanted.get(which, bool(which == server))


def _clock(exchange: Json) -> datetime:
    body = exchange["body"]
    data = body.get("data", body)
    text = data.get("now") or data.get("ts") or (body.get("server") or {}).get("time") or exchange["asked_at"]
    return datetime.fromisoformat(text)


_ADDED: dict[str, tuple[int, Callable[[Json, Json], None]]] = {
    "host": (-1, _add_host),
    "addresses": (-1, _add_addresses),
    "listens": (-1, _add_interest),
    "kube": (-1, _add_kubernetes),
    "reply": (0, _add_reply),
    "refused": (0, _refuse),
    "acks": (-1, _add_acks),
    "subjects_of": (-1, _add_subjects),
    "stored": (-1, _add_stored),
}
"""Edits that add exchanges or take them away: of which sample, and how."""
