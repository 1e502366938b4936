"""Single messages: deleting those that hold up expiry, and keeping those that a consumer gave up."""

from __future__ import annotations

from datetime import UTC, datetime

from jsdoctor.model.finding import Subject
from jsdoctor.model.plan import Json, Request, Step
from jsdoctor.model.rule import Risk
from jsdoctor.model.typed import decode_plain
from jsdoctor.remedy.api import Api, ApiError
from jsdoctor.remedy.backup.former import former_backup, is_putting_back, only_lacks, put_back, state_difference
from jsdoctor.remedy.backup.take import LiveMessage, decoded, get_request, message_from
from jsdoctor.remedy.operation import (
    Action,
    CannotPlanError,
    Operation,
    Standing,
    StepContext,
    StepRefusedError,
    Target,
    Values,
    command,
    shell_commands,
    show_command,
    whole_number,
)
from jsdoctor.remedy.preconditions import DATES_DIFFER_NS, LAST_IS_PAST, LED, UNSEALED
from jsdoctor.remedy.replies import date_ns

_MAX_DELETIONS = 1_000
"""How many messages one step may delete."""
_MAX_LISTED = 5
_NO_MESSAGE_CODES = (10037, 10057)
_WRONG_LAST_SEQUENCE = 10071
_ADVISORY = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES"
_DELETING = "deleting"
_HEADERS = ("nats-expected-", "nats-msg-id", "nats-rollup", "nats-ttl", "nats-schedule", "nats-batch-", "nats-incr")
"""Headers that trigger an action of the server: they were intended for the first stream."""


def _deletion(stream: str, seq: int) -> Request:
    """STREAM.MSG.DELETE, without overwriting the message with noise first."""
    return Request(f"STREAM.MSG.DELETE.{stream}", {"seq": seq, "no_erase": True})


async def _delete(run: StepContext, stream: str, seq: int) -> None:
    """Delete a message, unless it expired or another client was faster."""
    try:
        await run.send((_deletion(stream, seq),))
    except ApiError as error:
        if error.err_code not in _NO_MESSAGE_CODES:
            raise


async def _message(api: Api, stream: str, seq: int) -> LiveMessage | None:
    """The message of that sequence; None where it is gone."""
    message = await message_from(api, stream, seq)
    return message if message and message.stream_seq == seq else None


def _head(message: LiveMessage | None) -> Json:
    if message is None:
        return {}
    return {"seq": message.stream_seq, "date_ns": message.date_ns, "subject": message.subject.decode(errors="replace")}


def _is_ahead(head: Json, info: Json) -> bool:
    """Whether the first message is dated after the last one, so that it holds up what follows it."""
    return bool(head) and head["date_ns"] > date_ns(str(info["state"]["last_ts"])) + DATES_DIFFER_NS


class DeleteHead(Operation):
    """Deletes messages at the head of a stream that are dated after its last one: expiry stops at them.

    The date of a message is that of the server that stored it: one whose clock was ahead made these. No publisher can.
    All of them go, from the head on: while one is left, nothing behind it expires. `step.base` has the sequence of the
    first message, `step.values["at_most"]` how many may go.
    """

    name, operation = "stream.delete_first_message", "message.delete_head"
    risk = step_risk = Risk.DESTRUCTIVE
    preconditions = (LED, UNSEALED, LAST_IS_PAST)
    inverse = "the stream is restored from the backup that is taken first, unless messages came since"

    def commands(self, subject: Subject, values: Values) -> tuple[str, ...]:
        """The message is lost: read it first."""
        lines = "nats stream get {name} {first_seq}", "nats stream rmm {name} {first_seq} -f"
        return shell_commands(subject, *lines, first_seq=values["first_seq"])

    def commands_of(self, step: Step) -> tuple[str, ...]:
        return self.commands(step.subject, step.base)

    def plan(self, target: Target, values: Values) -> tuple[Step, ...]:
        first = whole_number(values, "first_seq")
        if target.config.get("deny_delete"):
            raise CannotPlanError("the stream denies deleting messages, and that cannot be changed")
        effect = (
            f"message {first} and those after it that are dated after the stream's last message are deleted, "
            f"{_MAX_DELETIONS:,} at most; what they held up expires then"
        )
        return (self.step(target, effect=effect, values={"at_most": _MAX_DELETIONS}, base={"first_seq": first}),)

    def requests(self, step: Step, state: Json) -> tuple[Request, ...]:
        """The deletion of the first message; which others follow is known only after it."""
        return (_deletion(step.subject.name, (state.get("head") or {}).get("seq") or step.base["first_seq"]),)

    async def read_state(self, step: Step, api: Api) -> Json:
        """STREAM.INFO, and as `head` the first message without its content."""
        info = await super().read_state(step, api)
        first = info["state"]["first_seq"] if info["state"]["messages"] else 0
        return {**info, "head": _head(await message_from(api, step.subject.name, first) if first else None)}

    def standing(self, step: Step, state: Json) -> tuple[Standing, str]:
        """Done if the first message is not dated after the last one; drifted if the stream was recreated."""
        if not _is_ahead(state["head"], state):
            return Standing.DONE, "no message at the head is dated after the last one"
        if state["head"]["seq"] < step.base["first_seq"]:
            return Standing.DRIFTED, f"the stream begins at {state['head']['seq']} now: it was recreated"
        return Standing.AS_PLANNED, ""

    async def write(self, run: StepContext, before: Json) -> Json:
        """STREAM.MSG.DELETE for each, from the head on; each is noted before."""
        stream, after = run.step.subject.name, 0
        deleted: list[int] = []
        while len(deleted) < run.step.values["at_most"]:
            head = _head(await message_from(run.api, stream, after + 1))
            # Never what was stored since: its date may well be later than that of what was the last message then.
            if not _is_ahead(head, before) or head["seq"] >= before["state"]["last_seq"]:
                break
            after = head["seq"]
            run.note(_DELETING, head)
            await _delete(run, stream, after)
            deleted.append(after)
        return {"deleted": deleted}

    def awaited(self, step: Step, before: Json, state: Json) -> str:
        left = state["head"]
        return f"message {left['seq']} is still dated after the last one" if _is_ahead(left, state) else ""

    async def undo(self, run: StepContext, before: Json) -> None:
        """The stream comes back from the backup that was taken first, unless messages were stored since."""
        stream = run.step.subject.name
        if is_putting_back(run.notes):
            await put_back(run, stream)
            return
        now = await run.api.ask(f"STREAM.INFO.{stream}")
        noted = {note.data["seq"] for note in run.notes if note.kind == _DELETING}
        gone = [seq for seq in noted if not await _message(run.api, stream, seq)]
        if not gone:
            return
        if not run.on_request:
            what = f"{len(gone)} messages are deleted"
            raise StepRefusedError(f"{what}; jsdoctor rollback restores stream {stream} from its backup")
        # Of a stream that keeps messages by limits alone, those that expired since were there before, too.
        counted = None if (now["config"].get("retention") or "limits") == "limits" else len(gone)
        if reason := await only_lacks(run, stream, now, counted):
            raise StepRefusedError(
                f"{len(gone)} messages stay deleted, because {reason}; they are in the backup {former_backup(run)[0]}"
            )
        await put_back(run, stream)

    def not_undone(self, step: Step, before: Json, state: Json) -> str:
        return state_difference(before, state)


class DeadLetters(Operation):
    """Copies messages that a consumer gave up to a dead-letter stream, each exactly once however often it is tried.

    Each copy has a subject of its own, `<prefix>.<stream>.<consumer>.<sequence>`, and is published with the condition
    that nothing is stored on it yet (`Nats-Expected-Last-Subject-Sequence: 0`), which the server enforces. On a work
    queue the originals are deleted then: no consumer removes them, and they use its storage.

    `values`: `into`, `seqs` or `advisories`, and `move`: delete the originals once all copies are stored.
    """

    name, operation = "consumer.keep_dead_letters", "message.dead_letters"
    step_risk = Risk.DISRUPTIVE

    def commands(self, subject: Subject, values: Values) -> tuple[str, ...]:
        """No command of the CLI copies a message with its headers: these look at the consumer and at each message."""
        messages = (command("nats", "stream", "get", subject.stream, str(seq)) for seq in _sequences(values))
        return (*show_command(subject), *messages)

    def plan(self, target: Target, values: Values) -> tuple[Step, ...]:
        into, source = str(values.get("into") or ""), str(values.get("advisories") or "")
        sequences = _sequences(values)
        if not into:
            raise CannotPlanError("it needs into, a stream of the same account for them, for example into=DEAD")
        if not (sequences or source):
            raise CannotPlanError(
                "it needs seqs=5+7+9-12, or advisories=STREAM that recorded MAX_DELIVERIES advisories"
            )
        stream, name = target.subject.stream, target.subject.name
        if into == stream:
            raise CannotPlanError("into must be another stream")
        which = f"the messages that stream {source} recorded"
        if sequences:
            more = f" and {len(sequences) - _MAX_LISTED} more" if len(sequences) > _MAX_LISTED else ""
            which = f"messages {', '.join(map(str, sequences[:_MAX_LISTED]))}{more}"
        moves = target.stream is not None and target.stream.config.retention == "workqueue"
        effect = f"{which} of {stream} are stored in stream {into}"
        inverse = "the copies are deleted"
        if moves:
            effect += ", then deleted from the queue"
            inverse = f"the queue is restored from its backup unless it changed since, then {inverse}"
        step = self.step(
            target,
            risk=Risk.DESTRUCTIVE if moves else Risk.DISRUPTIVE,
            effect=effect,
            values={"into": into, "seqs": list(sequences), "advisories": source, "move": moves},
            base={"config": target.config},
            inverse=inverse,
        )
        if moves:
            return (step,)
        # The server counts them for as long as they are in the stream: the finding stays, and that is no failure.
        still = f"look at what stream {into} has now; {name} counts them as undeliverable while {stream} holds them"
        seen = (command("nats", "stream", "view", into), *show_command(target.subject))
        return step, self.by_hand(target.subject, still, seen, needs=("0",))

    def requests(self, step: Step, state: Json) -> tuple[Request, ...]:
        """STREAM.MSG.GET of each message, which is then published, and with `move` STREAM.MSG.DELETE of each.

        The sequences may not be known before the advisories are read.
        """
        stream, seqs = step.subject.stream, step.values["seqs"]
        if not seqs:
            return (get_request(step.values["advisories"], 1, _advisories_of(step.subject)),)
        deleted = [_deletion(stream, seq) for seq in seqs] if step.values["move"] else []
        return (*(get_request(stream, seq) for seq in seqs), *deleted)

    async def read_state(self, step: Step, api: Api) -> Json:
        """CONSUMER.INFO; `seqs`, the sequences to copy; `left`, those still in the stream, `kept`, those copied."""
        stream = step.subject.stream
        info = await super().read_state(step, api)
        target = (await api.ask(f"STREAM.INFO.{step.values['into']}"))["config"]
        wanted = step.values["seqs"] or await _recorded(api, step)
        left = [seq for seq in wanted if await _message(api, stream, seq)]
        kept = [seq for seq in wanted if await _is_kept(api, step, target, seq)]
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
            # What is gone was acknowledged or deleted meanwhile.
            if seq in before["kept"] or not (message := await _message(api, stream, seq)):
                continue
            subject = _subject(step, before["into"], seq)
            run.note("copying", {"seq": seq, "subject": subject})
            headers, payload = copy_of(message, stream, step.subject.name, str(step.values["into"]))
            refused = (await api.store(subject, payload, headers)).get("error")
            if refused and refused.get("err_code") == _WRONG_LAST_SEQUENCE:  # something is there already: the copy
                await _is_kept(api, step, before["into"], seq)
            elif refused:
                codes = refused.get("code", 0), refused.get("err_code", 0)
                raise ApiError(subject, *codes, refused.get("description", ""))
        if step.values["move"]:
            for seq in before["left"]:
                run.note(_DELETING, {"seq": seq})
                await _delete(run, stream, seq)
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
        step, api, stream, into = run.step, run.api, run.step.subject.stream, run.step.values["into"]
        if is_putting_back(run.notes):
            await put_back(run, stream)
        state = await self.read_state(step, api)
        if gone := [seq for seq in before["left"] if seq not in state["left"]]:
            lost = f"message {gone[0]} of {stream} is in stream {into} only: the copies stay"
            if not run.on_request:
                raise StepRefusedError(f"{lost}; jsdoctor rollback restores stream {stream} from its backup")
            if reason := await only_lacks(run, stream, await api.ask(f"STREAM.INFO.{stream}"), len(gone)):
                raise StepRefusedError(f"{lost}, because {reason}; the backup is {former_backup(run)[0]}")
            await put_back(run, stream)
            state = await self.read_state(step, api)
        for seq in state["kept"]:
            if seq not in before["kept"]:
                result = await api.ask(f"STREAM.MSG.GET.{into}", {"last_by_subj": _subject(step, state["into"], seq)})
                await run.send((_deletion(into, result["message"]["seq"]),))

    def not_undone(self, step: Step, before: Json, state: Json) -> str:
        """All originals exist, and no copies but earlier ones."""
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


async def _is_kept(api: Api, step: Step, into: Json, seq: int) -> bool:
    """Whether a copy of this message is stored. Raises StepRefusedError where that of another one is in its place.

    Sequences repeat after the stream was deleted and made again; the date of the message does not.
    """
    subject = _subject(step, into, seq)
    try:
        reply = await api.ask(f"STREAM.MSG.GET.{step.values['into']}", {"last_by_subj": subject})
    except ApiError as error:
        if error.err_code in _NO_MESSAGE_CODES:
            return False
        raise
    message = await _message(api, step.subject.stream, seq)
    date = headers_of(decoded(reply["message"]).headers).get("Nats-Time-Stamp", "")
    if message is not None and date and date != _date_text(message.date_ns):
        raise StepRefusedError(
            f"stream {step.values['into']} has another message of {date} as {subject}: move it first"
        )
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
            request = get_request(source, seq + 1, wanted)
            reported = await api.ask(request.subject, request.payload)
        except ApiError as error:
            if error.err_code in _NO_MESSAGE_CODES:
                return sorted(recorded)
            raise
        advisory = decoded(reported["message"])
        seq = advisory.stream_seq
        recorded.add(int(decode_plain(advisory.payload)["stream_seq"]))


def _sequences(values: Values) -> tuple[int, ...]:
    """`seqs` as a number, a list, or text such as `5+7+9-12`. Raises CannotPlanError."""
    given = values.get("seqs")
    if given is None:
        return ()
    parts = given if isinstance(given, (list, tuple)) else str(given).replace(" ", ",").replace("+", ",").split(",")
    sequences: list[int] = []
    for part in filter(None, map(str, parts)):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()) or (dash and int(last) - int(first) > _MAX_DELETIONS):
            raise CannotPlanError(f"seqs takes sequences such as 5+7+9-12, not {part!r}")
        sequences += range(int(first), int(last or first) + 1)
    return tuple(sorted(set(sequences)))


def _date_text(date_ns: int) -> str:
    seconds, rest_ns = divmod(date_ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest_ns:09d}Z"


def copy_of(message: LiveMessage, stream: str, consumer: str, into: str) -> tuple[dict[str, str], bytes]:
    """Headers and payload of the copy. Its origin is in the headers that servers use for it (DIRECT.GET).

    The `Nats-Expected-…` headers ensure that it is stored in that stream, and once.
    """
    had = headers_of(message.headers)
    origin = {
        "Nats-Stream": stream,
        "Nats-Subject": message.subject.decode(errors="replace"),
        "Nats-Sequence": str(message.stream_seq),
        "Nats-Time-Stamp": _date_text(message.date_ns),
        "Jsdoctor-Consumer": consumer,
        "Nats-Expected-Stream": into,
        "Nats-Expected-Last-Subject-Sequence": "0",
    }
    if identity := had.get("Nats-Msg-Id"):
        origin["Jsdoctor-Msg-Id"] = identity
    kept = {key: value for key, value in had.items() if not key.lower().startswith(_HEADERS)}
    return {**kept, **origin}, message.payload


def headers_of(block: bytes) -> dict[str, str]:
    """The headers of a stored message; the values of one that stands there repeatedly are joined by commas."""
    headers: dict[str, str] = {}
    for line in block.decode(errors="replace").split("\r\n")[1:]:
        key, colon, value = line.partition(":")
        if colon:
            headers[key] = f"{headers[key]}, {value.strip()}" if key in headers else value.strip()
    return headers


ACTIONS: tuple[Action, ...] = (DeleteHead(), DeadLetters())
