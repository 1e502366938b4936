"""What the user reports about the problem, turned into results: an expected sequence, a probed subject."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import msgspec

from jsdoctor.app.collecting import Collected
from jsdoctor.app.judging import Judging, open_judging
from jsdoctor.app.request import JudgeRequest
from jsdoctor.engine.expectation import findings_on_expectation
from jsdoctor.engine.select import find_rule
from jsdoctor.model.diagnosis import Narrowing
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.expectation import RefusedPublish, StoredMessage
from jsdoctor.model.finding import CLUSTER, Finding, failed, passed
from jsdoctor.model.probe import Probe
from jsdoctor.model.problems import ConnectProblem
from jsdoctor.model.report import Result
from jsdoctor.model.reported import Instant
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.remedy.offer import with_offers
from jsdoctor.replies.decoding import ErrorReply, ReplyError, decode
from jsdoctor.sources.connect.connection import Connection, connect
from jsdoctor.sources.connection import resolve_connection
from jsdoctor.sources.probe import probe
from jsdoctor.sources.request import EvidenceRequest
from jsdoctor.sources.scan.stream import headers_of
from jsdoctor.sources.servers.ask import Asker, NoReplyError

_EXPECTED_HEADER = "Nats-Expected-Last-Sequence"
_NO_STREAM_RULE = "JSD613"


@dataclass(frozen=True, slots=True)
class OperatorInput:
    """The options of the user, the last sequence that the error text names, and the result of a probe."""

    narrowing: Narrowing
    actual_seq: int | None = None
    probed: Probe | None = None


def results_of_input(
    operator_input: OperatorInput, wanted: EvidenceRequest, judging: Judging, collected: Collected
) -> dict[str, Result]:
    """The results that follow from the input of the user, by rule code, with their remedies."""
    findings = {
        **_probe_findings(operator_input.probed),
        **_sequence_findings(operator_input, wanted, judging, collected),
    }
    rules = judging.rulebook.rules
    results = [Result(find_rule(rules, code), finding) for code, finding in findings.items()]
    offered = with_offers(results, judging.rulebook.actions, collected.evidence, collected.logins)
    return {result.rule.code: result for result in offered}


def run_probe(subject: str, narrowing: Narrowing, wanted: EvidenceRequest, judge: JudgeRequest) -> Probe:
    """Probe a subject with the given expected sequence and message id. Raises ConnectProblem."""
    settings = resolve_connection(wanted.connection, open_judging(judge).config)
    headers = {_EXPECTED_HEADER: str(narrowing.expected_seq)} if narrowing.expected_seq is not None else {}
    headers |= {MSG_ID: narrowing.msg_id} if narrowing.msg_id else {}
    return asyncio.run(probe(settings, subject, headers))


def _probe_findings(probed: Probe | None) -> dict[str, Finding]:
    if probed is None or probed.refused:
        return {}
    return {_NO_STREAM_RULE: passed(CLUSTER) if probed.stream else failed(CLUSTER, probed.verdict)}


def _sequence_findings(
    operator_input: OperatorInput, wanted: EvidenceRequest, judging: Judging, collected: Collected
) -> dict[str, Finding]:
    """Findings from the expected and the actual last sequence, compared with the stream."""
    expected, stream = (
        operator_input.narrowing.expected_seq,
        _stream_named(collected.evidence, operator_input.narrowing.stream),
    )
    if stream is None or (expected is None and operator_input.actual_seq is None):
        return {}
    follower, first = None, operator_input.actual_seq if stream.is_key_value else (expected or 0) + 1
    if collected.is_live and stream.from_leader and expected is not None and expected < stream.state.last_seq and first:
        follower = asyncio.run(_message_at(wanted, judging, stream.name, first))
    return findings_on_expectation(
        RefusedPublish(expected, operator_input.narrowing.msg_id, operator_input.actual_seq, follower), stream
    )


def _stream_named(evidence: EvidenceSet, name: str) -> Stream | None:
    """The stream of this name; None if there is none, or several accounts have one."""
    series = evidence.get(SnapshotSeries)
    streams = series.last.streams if series is not None else ()
    named = [stream for stream in streams if stream.name == name]
    return named[0] if len(named) == 1 else None


async def _message_at(wanted: EvidenceRequest, judging: Judging, stream: str, stream_seq: int) -> StoredMessage | None:
    settings = resolve_connection(wanted.connection, judging.config)
    try:
        async with connect(settings) as connection:
            return await stored_message(connection, settings.js_api_prefix, stream, stream_seq, settings.timeout_s)
    except ConnectProblem:
        return None


MSG_ID = "Nats-Msg-Id"


class _StoredMessage(msgspec.Struct, frozen=True):
    seq: int
    time: Instant | None = None
    subject: str = ""
    hdrs: str = ""


class _StoredMessageReply(msgspec.Struct, frozen=True):
    message: _StoredMessage | None = None
    error: ErrorReply | None = None


async def stored_message(
    connection: Connection, prefix: str, stream: str, stream_seq: int, timeout_s: float
) -> StoredMessage | None:
    """A stored message without its payload; None if it is not stored, or this login may not read it."""
    request = b'{"seq":%d}' % stream_seq
    try:
        reply = await Asker(connection, timeout_s).one(f"{prefix}.STREAM.MSG.GET.{stream}", request)
        message = decode(reply.body, _StoredMessageReply).message
    except (NoReplyError, ReplyError):
        return None
    if message is None:
        return None
    return StoredMessage(message.seq, message.subject, headers_of(message.hdrs).get(MSG_ID, ""), message.time)
