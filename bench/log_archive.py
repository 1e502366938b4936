"""Log archives of any size, the same for the same seed: what nats-servers write all day, with incidents planted.

    python -m bench.log_archive DIR --megabytes 500 [--servers 3 --days 2 --seed 1 --storm --many-subjects]

DIR/nN/nats-DATE.log are the files; what was planted is printed. Wording is that of nats-server 2.15.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

MEGABYTE = 1_000_000
_DAY_US = 86_400_000_000
_FIRST_DAY = datetime(2026, 11, 14, tzinfo=UTC)
_LINE_BYTES = 128
_LINES_AT_ONCE = 5000
_ACCOUNTS = ("APP", "BILLING", "IOT")
_STREAMS = ("ORDERS", "PAYMENTS", "EVENTS", "AUDIT", "TELEMETRY")
_CONSUMERS = ("worker", "audit", "mirror-feed", "dash", "etl")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


@dataclass(frozen=True, slots=True)
class ArchivePlan:
    """What to write. `storm`: two of five lines report trouble, as when something is badly broken.

    `many_subjects`: nearly all lines do, and each names another consumer, as in a large system with many tenants.
    """

    megabytes: int
    servers: int = 3
    days: int = 2
    seed: int = 1
    storm: bool = False
    many_subjects: bool = False


@dataclass(frozen=True, slots=True)
class Incident:
    """Something planted: `restart`, `crash`, `quorum_loss`, `clock_step` or `burst`, by the stamps of that server."""

    kind: str
    server: str
    at_us: int
    seconds: float = 0
    lines: int = 0


def write_archive(directory: Path, plan: ArchivePlan) -> list[Incident]:
    """Write it all and return what was planted."""
    planted: list[Incident] = []
    size = plan.megabytes * MEGABYTE // (plan.servers * plan.days)
    for number in range(1, plan.servers + 1):
        server = f"n{number}"
        chance = random.Random(f"{plan.seed}-{server}")  # noqa: S311 - the same again is what is wanted
        (directory / server).mkdir(parents=True, exist_ok=True)
        log = _Log(server, chance, plan)
        for day in range(plan.days):
            start = _FIRST_DAY + timedelta(days=day)
            incidents = list(_planned(server, chance, int(start.timestamp()) * 1_000_000, first=day == 0))
            planted += incidents
            log.write(directory / server / f"nats-{start:%Y-%m-%d}.log", start, size, incidents)
    return planted


def _planned(server: str, chance: random.Random, day_us: int, first: bool) -> Iterator[Incident]:
    """The incidents of a server's day, in order. Every server starts once, in the beginning."""
    if first:
        yield Incident("start", server, day_us)
    hours = sorted(chance.sample(range(1, 23), 4))
    kinds = ("restart", "quorum_loss", "burst", chance.choice(("crash", "clock_step")))
    for hour, kind in zip(hours, kinds, strict=True):
        at_us = day_us + hour * 3_600_000_000
        yield Incident(kind, server, at_us, seconds=chance.randrange(20, 90), lines=chance.randrange(200, 600))


class _Log:
    """The log of one server: its process, and pools of messages that are drawn from at random."""

    def __init__(self, server: str, chance: random.Random, plan: ArchivePlan) -> None:
        self._server = server
        self._chance = chance
        self._pid = chance.randrange(100, 60_000)
        self._ordinary = [_ordinary(chance) for _ in range(6000)]
        self._troubled = [_incident(chance) for _ in range(2000)]
        self._pool = [*self._ordinary, *(self._troubled * (2 if plan.storm else 0))]
        if not plan.storm:
            self._pool += self._troubled[:180]

        self._many_subjects = plan.many_subjects

    def write(self, path: Path, start: datetime, size: int, incidents: list[Incident]) -> None:
        """Write one day of about `size` bytes, evenly over the day, incidents at their times."""
        day_us = int(start.timestamp()) * 1_000_000
        step_us = 2 * _DAY_US * _LINE_BYTES // max(size, _LINE_BYTES)
        at_us, left = day_us, list(incidents)
        with path.open("w", encoding="utf-8", newline="\n") as file:
            while at_us < day_us + _DAY_US - 120_000_000:
                lines: list[str] = []
                for body, share in zip(
                    self._chance.choices(self._pool, k=_LINES_AT_ONCE),
                    (self._chance.random() for _ in range(_LINES_AT_ONCE)),
                    strict=True,
                ):
                    at_us += int(share * step_us) + 1
                    if at_us >= day_us + _DAY_US - 120_000_000:
                        break
                    while left and at_us >= left[0].at_us:
                        at_us = self._happens(left.pop(0), at_us, lines)
                    lines.append(self._line(at_us, self._stalled() if self._many_subjects else body))
                file.writelines(lines)

    def _stalled(self) -> str:
        consumer = f"{self._chance.choice(_ACCOUNTS)} > {self._chance.choice(_STREAMS)} > w{_some(self._chance, 12)}"
        return f"[WRN] JetStream cluster consumer '{consumer}' has NO quorum, stalled."

    def _line(self, at_us: int, body: str) -> str:
        seconds, micros = divmod(at_us, 1_000_000)
        return f"[{self._pid}] {_stamp(seconds)}.{micros:06d} {body}\n"

    def _happens(self, incident: Incident, at_us: int, lines: list[str]) -> int:
        """Write what a server writes when this happens; the time at which it is over."""
        pause_us = int(incident.seconds * 1_000_000)
        if incident.kind == "clock_step":
            return at_us - pause_us
        if incident.kind == "burst":
            for _ in range(incident.lines):
                at_us += self._chance.randrange(100, 5000)
                lines.append(
                    self._line(at_us, "[ERR] JetStream failed to store a msg on stream 'IOT > TELEMETRY': eof")
                )
            return at_us
        if incident.kind == "quorum_loss":
            lines.append(self._line(at_us, "[WRN] JetStream cluster stream 'APP > ORDERS' has NO quorum, stalled"))
            at_us += pause_us
            lines.append(self._line(at_us, "[INF] JetStream cluster new stream leader for 'APP > ORDERS'"))
            return at_us
        if incident.kind == "restart":
            for body in (
                "[INF] Initiating Shutdown...",
                "[INF] Initiating JetStream Shutdown...",
                "[INF] Server Exiting..",
            ):
                at_us += 1500
                lines.append(self._line(at_us, body))
        return self._starts(at_us + pause_us, lines)

    def _starts(self, at_us: int, lines: list[str]) -> int:
        self._pid += self._chance.randrange(1, 50)
        for body in (
            "Starting nats-server",
            "  Version:  2.15.1",
            "  Git:      [b2fd3ef]",
            "  Cluster:  C1",
            f"  Name:     {self._server}",
            f"  Node:     {_some(self._chance, 8)}",
            f"  ID:       N{_some(self._chance, 55).upper()}",
            "Starting JetStream",
            "---------------- JETSTREAM ----------------",
            "  Restored 1,204 messages for stream 'APP > ORDERS' in 12ms",
            "Listening for client connections on 0.0.0.0:4222",
            "Server is ready",
        ):
            at_us += 900
            lines.append(self._line(at_us, f"[INF] {body}"))
        return at_us


_seconds: dict[int, str] = {}


def _stamp(seconds: int) -> str:
    """Date and time as servers write them. Many lines share a second."""
    if seconds not in _seconds:
        _seconds.clear()
        _seconds[seconds] = f"{datetime.fromtimestamp(seconds, UTC):%Y/%m/%d %H:%M:%S}"
    return _seconds[seconds]


def _some(chance: random.Random, length: int) -> str:
    return "".join(chance.choices(_LETTERS, k=length))


def _asset(chance: random.Random) -> str:
    return f"{chance.choice(_ACCOUNTS)} > {chance.choice(_STREAMS)}"


def _client(chance: random.Random) -> str:
    address = f"10.0.{chance.randrange(4)}.{chance.randrange(1, 255)}:{chance.randrange(30_000, 60_999)}"
    user = f"{chance.choice(_ACCOUNTS)}/user:svc{chance.randrange(40)}"
    return f'{address} - cid:{chance.randrange(1, 99_999)} - "v1.{chance.randrange(30, 45)}.0:go" - "{user}"'


def _route(chance: random.Random) -> str:
    return f"10.0.0.{chance.randrange(1, 9)}:{chance.randrange(30_000, 60_999)} - rid:{chance.randrange(5, 900)}"


def _payload(chance: random.Random) -> str:
    state = chance.choice(("ok", "retry", "error: out of stock", "panic: nil", "[ERR] no quorum here"))
    return json.dumps({"order": chance.randrange(10**8), "state": state, "price": round(chance.random() * 500, 2)})


def _ordinary(chance: random.Random) -> str:
    """A message that tells of nothing."""
    kinds: tuple[tuple[int, Callable[[], str]], ...] = (
        (
            30,
            lambda: f"[TRC] {_client(chance)} - <<- [PUB orders.{chance.randrange(500)} {chance.randrange(20, 4000)}]",
        ),
        (15, lambda: f"[TRC] {_client(chance)} - <<- MSG_PAYLOAD: [{json.dumps(_payload(chance))}]"),
        (
            12,
            lambda: f"[TRC] {_route(chance)} - <<- [RMSG $NRG.AE.S-R3F-{_some(chance, 8)} {chance.randrange(60, 900)}]",
        ),
        (10, lambda: f"[DBG] {_client(chance)} - Client Ping Timer"),
        (8, lambda: f"[DBG] {_route(chance)} - Router Ping Timer"),
        (8, lambda: f"[DBG] RAFT [{_some(chance, 8)} - S-R3F-{_some(chance, 8)}] Update peers from leader to map[]"),
        (7, lambda: f"[DBG] {_client(chance)} - Client connection closed: Client Closed"),
        (6, lambda: f"[INF] {_route(chance)} - Route connection created"),
        (4, lambda: f"[DBG] Stream '{_asset(chance)}' sent {chance.randrange(1, 900)} catchup messages"),
    )
    weights = [weight for weight, _ in kinds]
    return chance.choices([make for _, make in kinds], weights)[0]()


def _incident(chance: random.Random) -> str:
    """A message that some rule wants to know of."""
    asset, client = _asset(chance), _client(chance)
    consumer = f"{asset} > {chance.choice(_CONSUMERS)}"
    raft = f"RAFT [{_some(chance, 8)} - C-R3F-{_some(chance, 8)}]"
    return chance.choice(
        (
            f"[WRN] JetStream cluster consumer '{consumer}' has NO quorum, stalled.",
            f"[INF] JetStream cluster new consumer leader for '{consumer}'",
            f"[WRN] Catchup for stream '{asset}' stalled",
            f"[WRN] {raft} Falling behind in health check, commit {chance.randrange(10**6)} != applied 12",
            f"[INF] {client} - Slow Consumer Detected: MaxPending of 67108864 Exceeded",
            f'[ERR] {client} - authentication error - User "svc{chance.randrange(40)}"',
            f'[ERR] {client} - Publish Violation - Subject "orders.x"',
            f"[WRN] {client} - Readloop processing time: {chance.uniform(2, 9):.3f}s",
            f"[ERR] Error trying to connect to route (attempt {chance.randrange(1, 900)}): connection refused",
            f"[WRN] Healthcheck failed: \"JetStream stream '{asset}' is not current\"",
        )
    )


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.log_archive", description="Write a log archive.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--servers", type=int, default=3)
    parser.add_argument("--days", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--storm", action="store_true", help="two of five lines report trouble")
    parser.add_argument("--many-subjects", action="store_true", help="nearly each line names another consumer")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    given = vars(_options(sys.argv[1:]))
    print(json.dumps([asdict(incident) for incident in write_archive(given.pop("directory"), ArchivePlan(**given))]))
