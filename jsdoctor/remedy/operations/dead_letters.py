"""Copying messages that a consumer gave up into a stream of their own, each exactly once however often it is tried.

Each copy has a subject of its own, `<prefix>.<stream>.<consumer>.<sequence>`, and is published with the condition that
nothing is stored on it yet (`Nats-Expected-Last-Subject-Sequence: 0`), which the server enforces.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec
from nats import errors

from jsdoctor.model.plan import Json, Step
from jsdoctor.remedy.backup.live import decoded, message_from
from jsdoctor.remedy.dead_letter import copy_of
from jsdoctor.remedy.operation import (
    Api,
    ApiError,
    NoResponseError,
    Operation,
    Standing,
    StepContext,
    StepRefusedError,
    register,
)
from jsdoctor.remedy.operations.former import former_backup, is_putting_back, only_lacks, put_back

_NO_MESSAGE = (10037, 10057)
_WRONG_LAST_SEQUENCE = 10071
_ADVISORY = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES"


class DeadLetters(Operation):
    """`values`: `into`, `seqs` or `advisories`, and `move`: whether the originals go once all copies are stored."""

    name: ClassVar[str] = "message.dead_letters"

    async def look(self, step: Step, api: Api) -> Json:
        """CONSUMER.INFO; `seqs`, which messages are meant; `left` and `kept`, where they are."""
        stream, name = step.subject.stream, step.subject.name
        info = await api.ask(f"CONSUMER.INFO.{stream}.{name}")
        target = (await api.ask(f"STREAM.INFO.{step.values['into']}"))["config"]
        wanted = step.values["seqs"] or await _recorded(api, step)
        left = [seq for seq in wanted if (found := await message_from(api, stream, seq)) and found.stream_seq == seq]
        kept = [seq for seq in wanted if await _is_there(api, step, _subject(step, target, seq))]
        consumers = (await api.ask(f"STREAM.INFO.{stream}"))["state"].get("consumer_count", 0)
        return {**info, "into": target, "seqs": wanted, "left": left, "kept": kept, "consumer_count": consumers}

    def standing(self, step: Step, state: Json) -> tuple[Standing, str]:
        """Done when all are kept, and gone where they shall go."""
        if not state["seqs"]:
            return Standing.DONE, "no message was given up, as far as the recorded advisories tell"
        outside = [seq for seq in state["seqs"] if seq > state["delivered"]["stream_seq"]]
        if outside:
            return Standing.DRIFTED, f"message {outside[0]} was never delivered to this consumer"
        missing = [seq for seq in state["left"] if seq not in state["kept"]]
        if not missing and not (step.values["move"] and state["left"]):
            return Standing.DONE, f"stream {step.values['into']} has them already"
        return Standing.AS_PLANNED, ""

    async def write(self, run: StepContext, before: Json) -> Json:
        """Publishes, then where they move STREAM.MSG.DELETE for each."""
        step, api = run.step, run.api
        stream = step.subject.stream
        if step.values["move"] and before["consumer_count"] > 1:
            raise StepRefusedError(f"stream {stream} has other consumers: whether they still need these is not known")
        for seq in before["left"]:
            if seq in before["kept"]:
                continue
            found = await message_from(api, stream, seq)
            if found is None or found.stream_seq != seq:
                continue  # acknowledged or deleted meanwhile
            subject = _subject(step, before["into"], seq)
            run.note("copying", {"seq": seq, "subject": subject})
            headers, payload = copy_of(found, stream, step.subject.name, str(step.values["into"]))
            await _publish(api, subject, payload, headers)
        if step.values["move"]:
            for seq in before["left"]:
                run.note("deleting", {"seq": seq})
                try:
                    await api.ask(f"STREAM.MSG.DELETE.{stream}", {"seq": seq, "no_erase": True})
                except ApiError as error:
                    if error.err_code not in _NO_MESSAGE:
                        raise
        return {"kept": before["left"], "moved": step.values["move"]}

    def awaited(self, step: Step, before: Json, state: Json) -> str:
        """Every message that was there is kept."""
        missing = [seq for seq in before["left"] if seq not in state["kept"]]
        if missing:
            return f"message {missing[0]} is not in stream {step.values['into']}"
        if step.values["move"] and state["left"]:
            return f"message {state['left'][0]} is still in the queue"
        return ""

    async def undo(self, run: StepContext, before: Json) -> None:
        """Originals that were deleted come back from the stream's backup; then the copies are deleted."""
        step, api = run.step, run.api
        if is_putting_back(run.notes):
            await put_back(run, step.subject.stream)
        state = await self.look(step, api)
        gone = [seq for seq in before["left"] if seq not in state["left"]]
        if gone:
            await self._bring_back(run, gone)
            state = await self.look(step, api)
        for seq in state["kept"]:
            if seq in before["kept"]:
                continue
            subject = _subject(step, state["into"], seq)
            found = await api.ask(f"STREAM.MSG.GET.{step.values['into']}", {"last_by_subj": subject})
            body = {"seq": found["message"]["seq"], "no_erase": True}
            await api.ask(f"STREAM.MSG.DELETE.{step.values['into']}", body)

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
        """All originals, and no copy but those of before."""
        del step
        if missing := [seq for seq in before["left"] if seq not in state["left"]]:
            return f"message {missing[0]} is not in its stream"
        more = [seq for seq in state["kept"] if seq not in before["kept"]]
        return f"the copy of message {more[0]} is still there" if more else ""


def _subject(step: Step, into: Json, seq: int) -> str:
    """A subject of the stream for this one message. Raises RefusedError where the stream has none to spare."""
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


async def _recorded(api: Api, step: Step) -> list[int]:
    """Sequences that the recorded advisories of this consumer tell of."""
    source, seq = step.values["advisories"], 0
    wanted = f"{_ADVISORY}.{step.subject.stream}.{step.subject.name}"
    found: set[int] = set()
    while True:
        try:
            told = await api.ask(f"STREAM.MSG.GET.{source}", {"seq": seq + 1, "next_by_subj": wanted})
        except ApiError as error:
            if error.err_code in _NO_MESSAGE:
                return sorted(found)
            raise
        advisory = decoded(told["message"])
        seq = advisory.stream_seq
        found.add(int(msgspec.json.decode(advisory.payload)["stream_seq"]))


async def _publish(api: Api, subject: str, payload: bytes, headers: dict[str, str]) -> None:
    """Stored once: a refusal that says that something is there already is as good."""
    try:
        reply = await api.client.request(subject, payload, timeout=api.timeout_s, headers=headers)
    except errors.Error as error:
        raise NoResponseError(f"{subject}: {error}") from None
    refused = msgspec.json.decode(reply.data).get("error")
    if refused and refused.get("err_code") != _WRONG_LAST_SEQUENCE:
        raise ApiError(subject, refused.get("code", 0), refused.get("err_code", 0), refused.get("description", ""))


register(DeadLetters())
