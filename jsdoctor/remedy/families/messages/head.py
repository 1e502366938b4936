"""Deleting messages at the head of a stream that are dated after its last one: expiry stops at them.

The date of a message is that of the server that stored it: one whose clock was ahead made these. No publisher can.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from jsdoctor.model.finding import Subject
from jsdoctor.model.plan import Json, Precondition, Request, Step
from jsdoctor.model.rule import Risk
from jsdoctor.remedy.api import Api, ApiError
from jsdoctor.remedy.backup.former import former_backup, is_putting_back, only_lacks, put_back, unlike
from jsdoctor.remedy.backup.take import LiveMessage, message_from
from jsdoctor.remedy.families.messages.deletion import AT_MOST, deletion
from jsdoctor.remedy.family import command
from jsdoctor.remedy.operation import Operation, Standing, StepContext, StepRefusedError
from jsdoctor.remedy.planning import CannotPlanError, Target, number
from jsdoctor.remedy.preconditions import LED, UNSEALED
from jsdoctor.remedy.replies import date_ns

_LAST_IS_PAST = Precondition("last_is_past", "the last message is not dated in the future")
_NO_MESSAGE = 10057
_TOLERANCE_NS = 1_000_000_000
_DELETING = "deleting"


def _last_ns(info: Json) -> int:
    return date_ns(str(info["state"]["last_ts"]))


def _head(message: LiveMessage | None) -> Json:
    if message is None:
        return {}
    return {"seq": message.stream_seq, "date_ns": message.date_ns, "subject": message.subject.decode(errors="replace")}


def _is_ahead(head: Json, info: Json) -> bool:
    """Whether the first message is dated after the last one, so that it holds up what follows it."""
    return bool(head) and head["date_ns"] > _last_ns(info) + _TOLERANCE_NS


def last_is_past(info: Json, value: object) -> str:
    """A server whose clock is still ahead would date every message so: all of the stream would go."""
    del value
    ahead = info["state"].get("messages", 0) and _last_ns(info) > date_ns(str(info["ts"])) + _TOLERANCE_NS
    return "its last message is dated in the future, too: set the clock of its leader right first" if ahead else ""


class DeleteHead(Operation):
    """`step.base` has the sequence of the first message, `step.values["at_most"]` how many may go."""

    name: ClassVar[str] = "message.delete_head"

    def requests(self, step: Step, state: Json) -> tuple[Request, ...]:
        """STREAM.MSG.DELETE of the first message; whether others follow is seen when it is gone."""
        return (deletion(step.subject.name, (state.get("head") or {}).get("seq") or step.base["first_seq"]),)

    def commands(self, step: Step) -> tuple[str, ...]:
        """The message is lost: it is read first."""
        return commands(step.subject, step.base)

    async def read_state(self, step: Step, api: Api) -> Json:
        """STREAM.INFO, and as `head` the first message without its content."""
        info = await api.ask(f"STREAM.INFO.{step.subject.name}")
        first = info["state"]["first_seq"] if info["state"]["messages"] else 0
        return {**info, "head": _head(await message_from(api, step.subject.name, first) if first else None)}

    def standing(self, step: Step, state: Json) -> tuple[Standing, str]:
        """Whatever is dated right now is no longer ours to delete."""
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
            message = await message_from(run.api, stream, after + 1)
            head = _head(message)
            # Never what was stored since: its date may well be later than that of what was the last message then.
            if not _is_ahead(head, before) or head["seq"] >= before["state"]["last_seq"]:
                break
            after = head["seq"]
            run.note(_DELETING, head)
            try:
                await run.send((deletion(stream, after),))
            except ApiError as error:
                if error.err_code != _NO_MESSAGE:  # it expired, or another client was faster
                    raise
            deleted.append(after)
        return {"deleted": deleted}

    def awaited(self, step: Step, before: Json, state: Json) -> str:
        """The head is dated before the last message."""
        del step, before
        left = state["head"]
        return f"message {left['seq']} is still dated after the last one" if _is_ahead(left, state) else ""

    async def undo(self, run: StepContext, before: Json) -> None:
        """The stream comes back from the backup that was taken first, unless messages were stored since."""
        del before
        stream = run.step.subject.name
        if is_putting_back(run.notes):
            await put_back(run, stream)
            return
        now = await run.api.ask(f"STREAM.INFO.{stream}")
        noted = {note.data["seq"] for note in run.notes if note.kind == _DELETING}
        gone = [seq for seq in noted if await _is_gone(run.api, stream, seq)]
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
        """Every message is there again."""
        del step
        return unlike(before, state)


async def _is_gone(api: Api, stream: str, seq: int) -> bool:
    message = await message_from(api, stream, seq)
    return message is None or message.stream_seq != seq


def commands(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """The message is lost: read it first."""
    first = str(values["first_seq"])
    return (
        command("nats", "stream", "get", subject.name, first),
        command("nats", "stream", "rmm", subject.name, first, "-f"),
    )


def plan(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """All that are dated after the last message, from the head on: while one is left, nothing behind it expires."""
    first = number(values, "first_seq")
    if target.config.get("deny_delete"):
        raise CannotPlanError("the stream denies deleting messages, and that cannot be changed")
    step = Step(
        action="stream.delete_first_message",
        operation="message.delete_head",
        subject=target.subject,
        risk=Risk.DESTRUCTIVE,
        effect=(
            f"message {first} and those after it that are dated after the stream's last message are deleted, "
            f"{AT_MOST:,} at most; what they held up expires then"
        ),
        values={"at_most": AT_MOST},
        base={"first_seq": first},
        preconditions=(LED, UNSEALED, _LAST_IS_PAST),
        inverse="the stream is restored from the backup that is taken first, unless messages came since",
    )
    return (step,)
