"""Carrying out a fix and taking it back: the connection, the journal, and how the steps ended."""

from __future__ import annotations

import asyncio
import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from nats import errors
from nats.aio.client import Client
from nats.aio.subscription import Subscription

from jsdoctor.app.configuration import load_configuration
from jsdoctor.app.fix.evidence import FixCollector, connected, examiner
from jsdoctor.app.fix.request import FixRequest, RollbackRequest, allowed_up_to
from jsdoctor.app.judging import open_judging
from jsdoctor.engine.verdict import ExitCode
from jsdoctor.model.logins import CommandLogin, Logins
from jsdoctor.model.plan import Json, Plan, Step
from jsdoctor.model.problems import Problem, UsageProblem
from jsdoctor.model.rule import Risk
from jsdoctor.model.typed import decode_as, decode_plain
from jsdoctor.model.wording import counted
from jsdoctor.remedy.api import ApiError, DeniedError, InboxMessage, LostError, NoResponseError, StepApis
from jsdoctor.remedy.apply import Applier, Ending, StepOutcome, Undoer, any_bad
from jsdoctor.remedy.journal import Journal, JournalError, require_locks
from jsdoctor.sources.connect.connection import Connection
from jsdoctor.sources.connect.refusal import printable
from jsdoctor.sources.connect.settings import ConnectionSettings
from jsdoctor.sources.connection import flags_of, resolve_logins
from jsdoctor.sources.servers.ask import Asker, NoReplyError, Why
from jsdoctor.sources.servers.system import find_servers

_SLICE_S = 0.1
"""How often a wait looks whether the connection is still there."""


class ClientInbox:
    """The `Inbox` of `jsdoctor.remedy.api`."""

    def __init__(self, client: Client, subscription: Subscription) -> None:
        self._client, self._subscription = client, subscription

    @property
    def subject(self) -> str:
        """Where messages for it go."""
        return self._subscription.subject

    async def next(self, timeout_s: float) -> InboxMessage | None:
        """The next message; None where none comes in time. Raises LostError."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + timeout_s
        while (left_s := ends_at - loop.time()) > 0:
            try:
                message = await self._subscription.next_msg(timeout=min(_SLICE_S, left_s))
            except (TimeoutError, errors.TimeoutError):
                if not self._client.is_connected:
                    raise LostError("the connection was lost") from None
                continue
            except (errors.Error, OSError) as error:
                raise LostError(f"the connection was lost: {error}") from None
            return InboxMessage(message.data, message.reply, dict(message.headers or {}))
        return None

    async def close(self) -> None:
        """End the subscription, also where the connection is gone."""
        with suppress(errors.Error, OSError):
            await self._subscription.unsubscribe()


class ClientMessages:
    """The part of the `Api` of `jsdoctor.remedy.api` that is about messages, not about requests."""

    def __init__(self, client: Client, timeout_s: float) -> None:
        self.client, self.timeout_s = client, timeout_s

    @property
    def server_version(self) -> tuple[int, int]:
        """Major and minor version of the server of this connection."""
        version = self.client.connected_server_version
        return version.major, version.minor

    async def publish(self, subject: str, payload: bytes, reply: str = "") -> None:
        """Publish a message without confirmation. Raises LostError."""
        try:
            await self.client.publish(subject, payload, reply=reply)
        except (errors.Error, OSError) as error:
            raise LostError(f"the connection was lost: {error}") from None

    async def store(self, subject: str, payload: bytes, headers: Mapping[str, str]) -> Json:
        """Publish a message to a stream, and return the stream's reply. Raises NoResponseError."""
        try:
            reply = await self.client.request(subject, payload, timeout=self.timeout_s, headers=dict(headers))
        except (errors.Error, TimeoutError) as error:
            raise NoResponseError(f"{subject}: {error}") from None
        decoded: Json = decode_as(reply.data, Json)
        return decoded

    async def inbox(self) -> ClientInbox:
        """A new inbox that drops nothing. Raises LostError."""
        try:
            subscription = await self.client.subscribe(
                self.client.new_inbox(), pending_msgs_limit=0, pending_bytes_limit=0
            )
        except (errors.Error, OSError) as error:
            raise LostError(f"the connection was lost: {error}") from None
        return ClientInbox(self.client, subscription)


Confirm = Callable[[str], None]
"""Takes a description of the change. Raises UsageProblem if the user does not agree."""


@dataclass(frozen=True, slots=True)
class FixOutcome:
    """How the steps of a journal ended. `changed`: something may be written. `rollback`: the command that undoes it."""

    outcomes: tuple[StepOutcome, ...]
    journal: Path
    changed: bool = True
    rollback: str = ""

    @property
    def exit_code(self) -> ExitCode:
        """1 if a step failed, was refused or undone; else 3 if the effect of one is not proved; else 0."""
        if any_bad(self.outcomes):
            return ExitCode.FINDINGS
        if any(outcome.ending is Ending.UNPROVED for outcome in self.outcomes):
            return ExitCode.INCONCLUSIVE
        return ExitCode.OK


def fix_collector(request: FixRequest) -> FixCollector:
    """The collector of this run. Raises Problem, before anything is requested from the deployment."""
    if request.writes:
        try:
            require_locks()
        except JournalError as error:
            raise UsageProblem(error.message, error.hint) from None
    judging = open_judging(request.judge)
    logins = resolve_logins(request.wanted.connection, judging.config)
    return FixCollector(judging, request.wanted, logins, judging.values, lambda _: None)


def new_journal(moment: datetime | None = None) -> Path:
    """The path of the journal of a fix if the user names none."""
    return Path(f"jsdoctor-fix-{moment or datetime.now(UTC):%Y%m%dT%H%M%SZ}.jsonl")


def wanted_steps(request: FixRequest, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps that `--step` names, or all, with the `--patience` that was given.

    Raises UsageProblem for one that there is not.
    """
    known = {step.id for step in steps}
    if unknown := [name for name in request.steps if name not in known]:
        raise UsageProblem(f"the plan has no step {', '.join(unknown)}", f"its steps are {', '.join(known) or 'none'}")
    wanted = (step for step in steps if not request.steps or step.id in request.steps)
    if request.patience_s is None:
        return tuple(wanted)
    return tuple(msgspec.structs.replace(step, patience_s=math.ceil(request.patience_s)) for step in wanted)


def not_taken(steps: tuple[Step, ...]) -> tuple[StepOutcome, ...]:
    """The outcomes of steps if none may be taken."""
    return tuple(StepOutcome(step, Ending.MANUAL if step.is_manual else Ending.NOT_ALLOWED) for step in steps)


def apply_plan(
    request: FixRequest, collector: FixCollector, plan: Plan, path: Path, say: Callable[[str], None]
) -> FixOutcome:
    """Carry out all steps of the plan that are allowed, with a new journal. Raises Problem."""
    allowed = allowed_up_to(request.allow)
    return _carry_out(
        request, collector, lambda: Journal.create(path, plan, tuple(risk.value for risk in allowed)), path, say
    )


def resume_fix(request: FixRequest, collector: FixCollector, path: Path, say: Callable[[str], None]) -> FixOutcome:
    """Continue with a journal. Raises Problem."""
    return _carry_out(request, collector, lambda: Journal.reopen(path), path, say)


def _carry_out(
    request: FixRequest,
    collector: FixCollector,
    open_: Callable[[], Journal],
    path: Path,
    say: Callable[[str], None],
) -> FixOutcome:
    rollback = _rollback_command(path, collector.logins)
    resume = f"jsdoctor fix{flags_of(collector.logins)} --resume --journal {shlex.quote(str(path))}"
    go_on = f"go on: {resume}; or undo: {rollback}"
    with closing(_open_journal(open_)) as journal:
        try:
            plan = journal.plan
            allowed = allowed_up_to(request.allow)
            if request.resume and not request.allow:
                allowed = tuple(Risk(risk) for risk in journal.allowed)
            collector = replace(collector, values={**plan.parameters, **collector.values})
            outcomes = asyncio.run(_apply(request, collector, journal, allowed, say))
            changed = any(journal.past(step).may_have_written for step in plan.steps)
        except JournalError as error:
            raise Problem(error.message, error.hint) from None
        except (NoResponseError, DeniedError) as error:
            raise Problem(f"stopped: {error}", go_on) from None
        except Problem as problem:
            raise type(problem)(problem.message, f"{problem.hint}\n{go_on}") from None
        except KeyboardInterrupt as interrupt:
            interrupt.add_note(go_on)
            raise
    return FixOutcome(tuple(outcomes), path, changed, rollback)


def _rollback_command(path: Path, logins: Sequence[ConnectionSettings]) -> str:
    return f"jsdoctor rollback{flags_of(logins)} {shlex.quote(str(path))}"


def _open_journal(open_: Callable[[], Journal]) -> Journal:
    try:
        return open_()
    except JournalError as error:
        raise UsageProblem(error.message, error.hint) from None


async def _apply(
    request: FixRequest,
    collector: FixCollector,
    journal: Journal,
    allowed: tuple[Risk, ...],
    say: Callable[[str], None],
) -> list[StepOutcome]:
    async with connected(collector.logins) as connections:
        apis = await _step_apis(connections, collector.logins)
        examine = examiner(collector, connections)
        applier = Applier(journal, apis, say, examine)
        return await applier.all(wanted_steps(request, journal.plan.steps), allowed)


async def _step_apis(connections: Sequence[Connection], logins: Sequence[ConnectionSettings]) -> StepApis:
    """The connections, each with the accounts that servers report for its login."""
    apis = tuple(
        LiveApi(connection, login.js_api_prefix, login.timeout_s)
        for connection, login in zip(connections, logins, strict=True)
    )
    known = [
        CommandLogin(login.flags, await api.accounts(), len(apis) > 1 and await api.is_system())
        for api, login in zip(apis, logins, strict=True)
    ]
    return StepApis(Logins(tuple(known)), apis)


def roll_back(request: RollbackRequest, confirm: Confirm, say: Callable[[str], None]) -> FixOutcome | None:
    """Undo the steps of a journal, last step first; None if no step was begun. Raises Problem."""
    logins = resolve_logins(request.connection, load_configuration(request))
    with closing(_open_journal(lambda: Journal.reopen(request.journal))) as journal:
        try:
            started = [step for step in journal.plan.steps if journal.past(step).may_have_written]
            if not started:
                return None
            confirm(f"take back {counted(len(started), 'step')}")
            outcomes = asyncio.run(_undo(logins, journal, say))
        except JournalError as error:
            raise Problem(error.message, error.hint) from None
        except (NoResponseError, DeniedError) as error:
            raise Problem(f"stopped: {error}", f"again: {_rollback_command(request.journal, logins)}") from None
    return FixOutcome(tuple(outcomes), request.journal)


async def _undo(
    logins: Sequence[ConnectionSettings], journal: Journal, say: Callable[[str], None]
) -> list[StepOutcome]:
    async with connected(logins) as connections:
        apis = await _step_apis(connections, logins)
        started = [step for step in journal.plan.steps if journal.past(step).may_have_written]
        if foreign := sorted({step.subject.account for step in started if apis.lacks(step)}):
            ours = sorted({name for login in apis.logins.each for name in login.accounts})
            raise UsageProblem(
                f"the journal is of account {', '.join(foreign)}, this login of {', '.join(ours)}",
                "give a login of the account that owns the streams",
            )
        return await Undoer(journal, apis, say).undo_all(journal.plan.steps)


USER_INFO = "$SYS.REQ.USER.INFO"
_DESCRIPTION_SHOWN, _BAD_REQUEST = 300, 400


class LiveApi(ClientMessages):
    """The `Api` of `jsdoctor.remedy.api`, through one connection."""

    def __init__(self, connection: Connection, prefix: str, timeout_s: float) -> None:
        super().__init__(connection.client, timeout_s)
        self._connection = connection
        self._prefix = prefix

    async def ask(self, subject: str, payload: object = None, *, timeout_s: float | None = None) -> Json:
        """Send a request to the JetStream API. Raises ApiError if the reply is an error."""
        reply = await self.request(f"{self._prefix}.{subject}", payload, timeout_s=timeout_s)
        if isinstance(error := reply.get("error"), dict):
            stated = printable(str(error.get("description", "")), limit=_DESCRIPTION_SHOWN)
            raise ApiError(subject, int(error.get("code") or 0), int(error.get("err_code") or 0), stated)
        return reply

    async def request(self, subject: str, payload: object = None, *, timeout_s: float | None = None) -> Json:
        """Send a request to any subject. Raises NoResponseError, DeniedError or LostError without a reply."""
        if not subject.isprintable() or " " in subject:
            raise ApiError(subject, _BAD_REQUEST, 0, "the name holds characters that no subject can have")
        body = b"" if payload is None else msgspec.json.encode(payload)
        asker = Asker(self._connection, timeout_s or self.timeout_s)
        try:
            reply = await asker.one(subject, body)
        except NoReplyError as error:
            raise _as_error(error) from None
        try:
            decoded: Any = decode_plain(reply.body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            decoded = None
        if not isinstance(decoded, dict):
            raise NoResponseError(f"{subject}: the reply is no JSON object")
        return decoded

    async def accounts(self) -> frozenset[str]:
        """Names of the account of this login; empty where the server does not tell."""
        try:
            data = (await self.request(USER_INFO)).get("data") or {}
        except (NoResponseError, DeniedError, ApiError):
            return frozenset()
        return frozenset(str(data[key]) for key in ("account", "account_name") if data.get(key))

    async def is_system(self) -> bool:
        """Whether servers respond to this login as they do to the system account alone."""
        try:
            await find_servers(Asker(self._connection, self.timeout_s))
        except NoReplyError:
            return False
        return True


def _as_error(error: NoReplyError) -> Exception:
    match error.why:
        case Why.DENIED:
            return DeniedError(
                f"this login is not allowed to ask: {error.words} (docs/permissions.md lists what it needs)"
            )
        case Why.NO_INBOX:
            return DeniedError(f"this login is not allowed to receive replies: {error.words}")
        case Why.LOST:
            return LostError("the connection was lost")
        case Why.NOBODY:
            return NoResponseError(f"no server responds to {error.subject}")
        case Why.LATE | Why.FLOODED:
            return NoResponseError(f"no reply to {error.subject} in time")
