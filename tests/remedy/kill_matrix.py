"""Kills `jsdoctor fix` and `rollback` at every point of what they write, and compares what is there afterwards.

A run is a forked process that goes through the whole command line and ends by SIGKILL, as in a crash. What counts is
in `Seen`: every message byte for byte, configurations, positions of consumers.
"""

import asyncio
import json
import os
import sys
import warnings
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any

from jsdoctor.app import judging
from jsdoctor.app.rulebook import Rulebook, open_rulebook
from jsdoctor.cli import app
from jsdoctor.cli.fix import run as _run  # noqa: F401 - loaded before the first fork
from jsdoctor.remedy.api import ApiError
from jsdoctor.remedy.backup.take import message_from
from jsdoctor.remedy.registry import load_operations
from jsdoctor.remedy.replies import comparable
from tests.docs.permitted_steps import STEPS, Place, step
from tests.remedy.asking import PlainApi, with_api
from tests.remedy.halted import Halt, install
from tests.servers import Cluster

Json = dict[str, Any]
KILLED = -9
_KNOWN_S = 30.0
_STREAM = {"kind": "stream", "name": "ORDERS"}


@dataclass(frozen=True)
class Ran:
    """How a run ended: its exit code (-9: killed), the points that it passed, and its output."""

    code: int
    points: tuple[str, ...]
    output: str


@cache
def _loaded() -> Rulebook:
    """The rules, read once; and all modules that a run needs, so that forked processes have them."""
    app.run(["fix", "--isolated", "--plan", os.devnull])
    load_operations()
    return open_rulebook()


def run(cwd: Path, point: str, *words: str) -> Ran:
    """`jsdoctor WORDS` in a process of its own, halted at that point (see `tests.remedy.halted`)."""
    rulebook = _loaded()
    log = cwd / "said.txt"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a fork where there are threads: it has none of them
        child = os.fork()
    if not child:
        code = 70
        try:
            handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            for number in (1, 2):
                os.dup2(handle, number)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
            os.chdir(cwd)
            setattr(judging, "open_rulebook", lambda *_: rulebook)  # noqa: B010 - it is another module's name
            install(Halt(point))
            code = int(app.run(list(words)))
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    output = log.read_text(errors="replace")
    points = tuple(line.split(" ", 2)[2] for line in output.splitlines() if line.startswith("point "))
    return Ran(os.waitstatus_to_exitcode(status), points, output)


async def seen(to: PlainApi) -> Json:
    """Both streams with their consumers: all that a fix must keep or put back, without what time changes."""
    kept: Json = {}
    for name in ("ORDERS", "DEAD"):
        try:
            info = await settled(to, name)
        except ApiError:
            continue
        listed = (await to.ask(f"CONSUMER.LIST.{name}")).get("consumers") or []
        messages, after = [], 0
        while message := await message_from(to, name, after + 1):
            after = message.stream_seq
            messages.append(repr(message) if name == "ORDERS" else message.subject.decode())
        state = {key: info["state"].get(key, 0) for key in ("messages", "first_seq", "last_seq")}
        kept[name] = {
            "config": comparable(info["config"]),
            "state": state if name == "ORDERS" else {},
            "messages": messages,
            "consumers": {consumer["name"]: _consumer(consumer, state["first_seq"]) for consumer in listed},
        }
    return kept


async def settled(to: PlainApi, name: str) -> Json:
    """STREAM.INFO, once it is led and its consumers are."""
    while True:
        info = await to.ask(f"STREAM.INFO.{name}")
        listed = (await to.ask(f"CONSUMER.LIST.{name}")).get("consumers") or []
        if info.get("cluster", {"leader": "n1"}).get("leader") and len(listed) >= info["state"].get(
            "consumer_count", 0
        ):
            return info
        await asyncio.sleep(0.1)


def _consumer(info: Json, first: int) -> Json:
    """What a consumer is and where it stands. Positions before the stream's first message are the same: servers differ
    in whether a purge moves them.
    """
    until = (info.get("config") or {}).get("pause_until")
    config = {key: value for key, value in comparable(info["config"]).items() if key != "pause_until"}
    return {
        "config": config,
        "paused": until if info.get("paused") else None,
        "acknowledged": max((info.get("ack_floor") or {}).get("stream_seq", 0), first - 1),
    }


async def consumed(place: Place, count: int) -> None:
    """Let the worker fetch and acknowledge so many messages."""
    for message in await place.fetch(count):
        await place.to.client.request(message.reply, b"+ACK", timeout=10)


async def _with_backup(place: Place, planned: Json) -> list[Json]:
    backup = step("stream.backup", _STREAM, patience_s=60)
    return [backup, {**planned, "id": "2", "needs": ["1"]}]


async def restore(place: Place) -> list[Json]:
    """A stream that was purged and whose consumer went on, and a backup of it as it was before."""
    planned = await STEPS["fix-restore"](place)
    await consumed(place, 2)
    await place.to.ask("STREAM.PURGE.ORDERS", {"keep": 3})
    await place.publish(2)
    return await _with_backup(place, planned)


async def recreate(place: Place) -> list[Json]:
    await STEPS["fix-recreate"](place)
    await consumed(place, 4)
    info = (await place.info())["CONSUMER"]
    changes = [
        {"key": "deliver_policy", "before": "all", "after": "by_start_sequence"},
        {"key": "opt_start_seq", "before": None, "after": 3},
    ]
    return [step("consumer.recreate", {**_CONSUMER}, values={"seq": 3}, base=info, changes=changes)]


async def reset(place: Place) -> list[Json]:
    await STEPS["fix-reset"](place)
    await consumed(place, 4)
    return [step("consumer.reset", {**_CONSUMER}, values={"seq": 3}, base=(await place.info())["CONSUMER"])]


async def dead_letters(place: Place) -> list[Json]:
    return await _with_backup(place, await STEPS["fix-dead-letters"](place))


async def dead_letter_copies(place: Place) -> list[Json]:
    planned = await STEPS["fix-dead-letters"](place)
    return [{**planned, "values": {**planned["values"], "move": False}}]


async def delete_head(place: Place) -> list[Json]:
    return await _with_backup(place, await STEPS["fix-delete-message"](place))


def only(name: str) -> Callable[[Place], Awaitable[list[Json]]]:
    async def planned(place: Place) -> list[Json]:
        return [await STEPS[name](place)]

    return planned


_CONSUMER = {"kind": "consumer", "name": "worker", "stream": "ORDERS"}


@dataclass(frozen=True)
class Action:
    """One operation: what is there before, and how it can end.

    `since` is the first version that has it. `exact_since` is the first version on which a rollback puts everything
    back; on older ones it ends with exit code 1 and tells the difference, once the step has deleted something.
    """

    prepare: Callable[[Place], Awaitable[list[Json]]]
    since: tuple[int, int] = (0, 0)
    exact_since: tuple[int, int] = (0, 0)
    nodes: tuple[int, ...] = (1, 3)


ACTIONS = {
    "stream.update": Action(only("fix-stream-update")),
    "consumer.update": Action(only("fix-consumer-update")),
    "consumer.pause": Action(only("fix-pause"), since=(2, 11)),
    "consumer.unpin": Action(only("fix-unpin"), since=(2, 11)),
    "stream.step_down": Action(only("fix-stream-step-down"), nodes=(3,)),
    "consumer.step_down": Action(only("fix-consumer-step-down"), nodes=(3,)),
    "stream.backup": Action(only("fix-backup")),
    "consumer.reset": Action(reset, since=(2, 14)),
    "consumer.recreate": Action(recreate, exact_since=(2, 14)),
    "message.dead_letters (copy)": Action(dead_letter_copies),
    "message.dead_letters (move)": Action(dead_letters),
    "message.delete_head": Action(delete_head),
    "stream.restore": Action(restore),
}


class Lab:
    """One action on one cluster: prepares it again for each trial, and runs the trial."""

    def __init__(self, action: Action, cluster: Cluster, directory: Path, shift: Any) -> None:
        self.action, self.cluster, self._top, self._shift = action, cluster, directory, shift
        self._trials = 0

    @contextmanager
    def trial(self) -> Iterator[Path]:
        """A directory with `plan.json`, the deployment ready for it."""
        self._trials += 1
        cwd = self._top / f"trial-{self._trials}"
        cwd.mkdir()

        async def prepare(to: PlainApi) -> None:
            steps = await self.action.prepare(Place(self.cluster, to, cwd, self._shift))
            for change in steps:
                what = "STREAM.INFO.ORDERS" if change["subject"]["kind"] == "stream" else "CONSUMER.INFO.ORDERS.worker"
                created = (await to.ask(what))["created"]
                change.update({"base": {**change.get("base", {}), "created": created}, "effect": "as asked"})
            plan = {"schema": "jsdoctor.plan/v1", "version": "0", "created": "2026-01-01T00:00:00Z", "steps": steps}
            (cwd / "plan.json").write_text(json.dumps(plan))

        with_api(self.cluster.url(), prepare)
        yield cwd

    def state(self) -> Json:
        """What is there. A server of 2.10 may not know a new stream for a moment: it gets that moment."""
        state: Json = {}
        ends = monotonic() + _KNOWN_S
        while "ORDERS" not in state and monotonic() < ends:
            state = with_api(self.cluster.url(), seen)
        return state

    def apply(self, cwd: Path, point: str = "NONE") -> Ran:
        words = ("fix", "--isolated", "--plan", "plan.json", "--apply", "--yes", "--allow", "destructive")
        return run(cwd, point, *words, "--journal", "j.jsonl", "--server", self.cluster.url())

    def resume(self, cwd: Path) -> Ran:
        words = ("fix", "--isolated", "--resume", "--yes", "--journal", "j.jsonl")
        return run(cwd, "NONE", *words, "--server", self.cluster.url())

    def rollback(self, cwd: Path, point: str = "NONE") -> Ran:
        return run(cwd, point, "rollback", "--isolated", "--yes", "j.jsonl", "--server", self.cluster.url())
