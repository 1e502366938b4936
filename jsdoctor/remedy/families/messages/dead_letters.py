"""Copies messages that a consumer gave up to a dead-letter stream, each exactly once however often it is tried.

Each copy has a subject of its own, `<prefix>.<stream>.<consumer>.<sequence>`, and is published with the condition that
nothing is stored on it yet (`Nats-Expected-Last-Subject-Sequence: 0`), which the server enforces.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar

from jsdoctor.model.finding import Subject
from jsdoctor.model.plan import MANUAL, Json, Request, Step
from jsdoctor.model.rule import Risk
from jsdoctor.model.typed import decode_plain
from jsdoctor.remedy.api import Api, ApiError
from jsdoctor.remedy.backup.former import former_backup, is_putting_back, only_lacks, put_back
from jsdoctor.remedy.backup.take import LiveMessage, decoded, message_from, reading
from jsdoctor.remedy.families.messages.deletion import AT_MOST, deletion
from jsdoctor.remedy.family import command
from jsdoctor.remedy.operation import Operation, Standing, StepContext, StepRefusedError
from jsdoctor.remedy.planning import CannotPlanError, Target
from jsdoctor.remedy.preconditions import LED

_NO_MESSAGE = (10037, 10057)
_WRONG_LAST_SEQUENCE = 10071
_ADVISORY = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES"


class DeadLetters(Operation):
    """`values`: `into`, `seqs` or `advisories`, and `move`: delete the originals once all copies are stored."""

    name: ClassVar[str] = "message.dead_letters"

    def requests(self, step: Step, state: Json) -> tuple[Request, ...]:
        """STREAM.MSG.GET of each message, which is then published, and with `move` STREAM.MSG.DELETE of each.

        The sequences may not be known before the advisories are read.
        """
        del state
        stream, seqs = step.subject.stream, step.values["seqs"]
        if not seqs:
            return (reading(step.values["advisories"], 1, _advisories_of(step.subject)),)
        deleted = [deletion(stream, seq) for seq in seqs] if step.values["move"] else []
        return (*(reading(stream, seq) for seq in seqs), *deleted)

    def commands(self, step: Step) -> tuple[str, ...]:
        """Read-only commands: no command of the CLI copies a message with its headers."""
        return commands(step.subject, {"seqs": step.values["seqs"]})

    async def read_state(self, step: Step, api: Api) -> Json:
        """CONSUMER.INFO; `seqs`, the sequences to copy; `left` and `kept`, where they are."""
        stream, name = step.subject.stream, step.subject.name
        info = await api.ask(f"CONSUMER.INFO.{stream}.{name}")
        target = (await api.ask(f"STREAM.INFO.{step.values['into']}"))["config"]
        wanted = step.values["seqs"] or await _recorded(api, step)
        left = [
            seq for seq in wanted if (message := await message_from(api, stream, seq)) and message.stream_seq == seq
        ]
        kept = [seq for seq in wanted if await _is_there(api, step, _subject(step, target, seq))]
        consumers = (await api.ask(f"STREAM.INFO.{stream}"))["state"].get("consumer_count", 0)
        return {**info, "into": target, "seqs": wanted, "left": left, "kept": kept, "consumer_count": consumers}

    def standing(self, step: Step, state: Json) -> tuple[Standing, str]:
        """Done if all are copied, and deleted with `move`."""
        if not state["seqs"]:
            return Standing.DONE, "no message reached its last delivery, as far as the recorded advisories show"
        outside = [seq for seq in state["seqs"] if seq > state["delivered"]["stream_seq"]]
        if outside:
            return Standing.DRIFTED, f"message {outside[0]} was never delivered to this consumer"
        missing = [seq for seq in state["left"] if seq not in state["kept"]]
        if not missing and not (step.values["move"] and state["left"]):
            return Standing.DONE, f"stream {step.values['into']} has them already"
        return Standing.AS_PLANNED, ""

    async def write(self, run: StepContext, before: Json) -> Json:
        """Publish, then with `move` STREAM.MSG.DELETE for each."""
        step, api = run.step, run.api
        stream = step.subject.stream
        if step.values["move"] and before["consumer_count"] > 1:
            raise StepRefusedError(f"stream {stream} has other consumers: whether they still need these is not known")
        for seq in before["left"]:
            if seq in before["kept"]:
                continue
            message = await message_from(api, stream, seq)
            if message is None or message.stream_seq != seq:
                continue  # acknowledged or deleted meanwhile
            subject = _subject(step, before["into"], seq)
            run.note("copying", {"seq": seq, "subject": subject})
            headers, payload = copy_of(message, stream, step.subject.name, str(step.values["into"]))
            await _publish(api, subject, payload, headers)
        if step.values["move"]:
            for seq in before["left"]:
                run.note("deleting", {"seq": seq})
                try:
                    await run.send((deletion(stream, seq),))
                except ApiError as error:
                    if error.err_code not in _NO_MESSAGE:
                        raise
        return {"kept": before["left"], "moved": step.values["move"]}

    def awaited(self, step: Step, before: Json, state: Json) -> str:
        """Wait until every message that existed is copied."""
        missing = [seq for seq in before["left"] if seq not in state["kept"]]
        if missing:
            return f"message {missing[0]} is not in stream {step.values['into']}"
        if step.values["move"] and state["left"]:
            return f"message {state['left'][0]} is still in the queue"
        return ""

    async def undo(self, run: StepContext, before: Json) -> None:
        """Restore deleted originals from the stream's backup; then delete the copies."""
        step, api = run.step, run.api
        if is_putting_back(run.notes):
            await put_back(run, step.subject.stream)
        state = await self.read_state(step, api)
        gone = [seq for seq in before["left"] if seq not in state["left"]]
        if gone:
            await self._bring_back(run, gone)
            state = await self.read_state(step, api)
        for seq in state["kept"]:
            if seq in before["kept"]:
                continue
            subject = _subject(step, state["into"], seq)
            result = await api.ask(f"STREAM.MSG.GET.{step.values['into']}", {"last_by_subj": subject})
            await run.send((deletion(step.values["into"], result["message"]["seq"]),))

    @staticmethod
    async def _bring_back(run: StepContext, gone: list[int]) -> None:
        stream, into = run.step.subject.stream, run.step.values["into"]
        lost = f"message {gone[0]} of {stream} is in stream {into} only: the copies stay"
        if not run.on_request:
            raise StepRefusedError(f"{lost}; jsdoctor rollback restores stream {stream} from its backup")
        if reason := await only_lacks(run, stream, await run.api.ask(f"STREAM.INFO.{stream}"), len(gone)):
            raise StepRefusedError(f"{lost}, because {reason}; the backup is {former_backup(run)[0]}")
        await put_back(run, stream)

    def not_undone(self, step: Step, before: Json, state: Json) -> str:
        """All originals exist, and no copies but earlier ones."""
        del step
        if missing := [seq for seq in before["left"] if seq not in state["left"]]:
            return f"message {missing[0]} is not in its stream"
        more = [seq for seq in state["kept"] if seq not in before["kept"]]
        return f"the copy of message {more[0]} is still there" if more else ""


def _subject(step: Step, into: Json, seq: int) -> str:
    """A subject of the stream for this one message. Raises StepRefusedError if the stream has no unused one."""
    for subject in into.get("subjects") or ():
        head = subject.removesuffix(">")
        if head != subject and head and "*" not in head:
            return f"{head}{step.subject.stream}.{step.subject.name}.{seq}"
    raise StepRefusedError(f"stream {into.get('name')} needs a subject such as dead.> to put them under")


async def _is_there(api: Api, step: Step, subject: str) -> bool:
    try:
        await api.ask(f"STREAM.MSG.GET.{step.values['into']}", {"last_by_subj": subject})
    except ApiError as error:
        if error.err_code in _NO_MESSAGE:
            return False
        raise
    return True


def _advisories_of(subject: Subject) -> str:
    return f"{_ADVISORY}.{subject.stream}.{subject.name}"


async def _recorded(api: Api, step: Step) -> list[int]:
    """Sequences in the recorded advisories of this consumer."""
    source, seq = step.values["advisories"], 0
    wanted = _advisories_of(step.subject)
    recorded: set[int] = set()
    while True:
        try:
            request = reading(source, seq + 1, wanted)
            reported = await api.ask(request.subject, request.payload)
        except ApiError as error:
            if error.err_code in _NO_MESSAGE:
                return sorted(recorded)
            raise
        advisory = decoded(reported["message"])
        seq = advisory.stream_seq
        recorded.add(int(decode_plain(advisory.payload)["stream_seq"]))


async def _publish(api: Api, subject: str, payload: bytes, headers: dict[str, str]) -> None:
    """Publish a message once: a refusal because a message already exists counts as success."""
    refused = (await api.store(subject, payload, headers)).get("error")
    if refused and refused.get("err_code") != _WRONG_LAST_SEQUENCE:
        raise ApiError(subject, refused.get("code", 0), refused.get("err_code", 0), refused.get("description", ""))


def commands(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Values: `into`, a stream; `seqs`, which messages, or `advisories`, a stream that recorded it.

    No command of the CLI copies a message with its headers: these look at the consumer and at each message.
    """
    info = command("nats", "consumer", "info", subject.stream, subject.name)
    return (info, *(command("nats", "stream", "get", subject.stream, str(seq)) for seq in _sequences(values)))


def _sequences(values: Mapping[str, Any]) -> tuple[int, ...]:
    """`seqs` as a number, a list, or text such as `5+7+9-12`. Raises CannotPlanError."""
    given = values.get("seqs")
    if given is None:
        return ()
    parts = given if isinstance(given, (list, tuple)) else str(given).replace(" ", ",").replace("+", ",").split(",")
    sequences: list[int] = []
    for part in filter(None, map(str, parts)):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()) or (dash and int(last) - int(first) > AT_MOST):
            raise CannotPlanError(f"seqs takes sequences such as 5+7+9-12, not {part!r}")
        sequences += range(int(first), int(last or first) + 1)
    return tuple(sorted(set(sequences)))


def _which(sequences: tuple[int, ...]) -> str:
    more = f" and {len(sequences) - 5} more" if len(sequences) > 5 else ""
    return f"messages {', '.join(map(str, sequences[:5]))}{more}"


def plan(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Copy; on a work queue, the originals are deleted then: no consumer removes them, and they use its storage."""
    into, source, sequences = str(values.get("into") or ""), str(values.get("advisories") or ""), _sequences(values)
    if not into:
        raise CannotPlanError("it needs into, a stream of the same account for them, for example into=DEAD")
    if not (sequences or source):
        raise CannotPlanError("it needs seqs=5+7+9-12, or advisories=STREAM that recorded MAX_DELIVERIES advisories")
    stream, name = target.subject.stream, target.subject.name
    if into == stream:
        raise CannotPlanError("into must be another stream")
    moves = target.stream is not None and target.stream.config.retention == "workqueue"
    which = _which(sequences) if sequences else f"the messages that stream {source} recorded"
    step = Step(
        action="consumer.keep_dead_letters",
        operation="message.dead_letters",
        subject=target.subject,
        risk=Risk.DESTRUCTIVE if moves else Risk.DISRUPTIVE,
        effect=f"{which} of {stream} are stored in stream {into}" + (", then deleted from the queue" if moves else ""),
        values={"into": into, "seqs": list(sequences), "advisories": source, "move": moves},
        base={"config": target.config},
        preconditions=(LED,),
        inverse="the queue is restored from its backup unless it changed since, then the copies are deleted"
        if moves
        else "the copies are deleted",
    )
    if moves:
        return (step,)
    # The server counts them for as long as they are in the stream: the finding stays, and that is no failure.
    inspect = (command("nats", "stream", "view", into), command("nats", "consumer", "info", stream, name))
    manual = Step(
        action="consumer.keep_dead_letters",
        operation=MANUAL,
        subject=target.subject,
        risk=Risk.MANUAL,
        effect=f"look at what stream {into} has now; {name} counts them as undeliverable while {stream} holds them",
        commands=inspect,
        needs=("0",),
    )
    return (step, manual)


_ACTING = ("nats-expected-", "nats-msg-id", "nats-rollup", "nats-ttl", "nats-schedule", "nats-batch-", "nats-incr")
"""Headers that trigger an action of the server: they were intended for the first stream."""


def copy_of(message: LiveMessage, stream: str, consumer: str, into: str) -> tuple[dict[str, str], bytes]:
    """Headers and payload of the copy. Its origin is in the headers that servers use for it (DIRECT.GET).

    The `Nats-Expected-…` headers ensure that it is stored in that stream, and once.
    """
    kept = {key: value for key, value in headers_of(message.headers).items() if not key.lower().startswith(_ACTING)}
    seconds, rest_ns = divmod(message.date_ns, 1_000_000_000)
    date = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    origin = {
        "Nats-Stream": stream,
        "Nats-Subject": message.subject.decode(errors="replace"),
        "Nats-Sequence": str(message.stream_seq),
        "Nats-Time-Stamp": f"{date}.{rest_ns:09d}Z",
        "Jsdoctor-Consumer": consumer,
        "Nats-Expected-Stream": into,
        "Nats-Expected-Last-Subject-Sequence": "0",
    }
    if identity := headers_of(message.headers).get("Nats-Msg-Id"):
        origin["Jsdoctor-Msg-Id"] = identity
    return {**kept, **origin}, message.payload


def headers_of(block: bytes) -> dict[str, str]:
    """The headers of a stored message; the values of one that stands there repeatedly are joined by commas."""
    headers: dict[str, str] = {}
    for line in block.decode(errors="replace").split("\r\n")[1:]:
        key, colon, value = line.partition(":")
        if colon:
            headers[key] = f"{headers[key]}, {value.strip()}" if key in headers else value.strip()
    return headers
