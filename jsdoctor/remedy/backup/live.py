"""Messages as the stream has them now, one by one through STREAM.MSG.GET: it works on every stream and changes none."""

from __future__ import annotations

import binascii
from typing import Any, NamedTuple

from jsdoctor.model.plan import Request
from jsdoctor.remedy.backup.problem import BackupProblem
from jsdoctor.remedy.moment import date_ns
from jsdoctor.remedy.operation import Api, ApiError

_NO_MESSAGE = 10037


class LiveMessage(NamedTuple):
    """A message: its place in the stream, its date in nanoseconds since 1970, and all of its bytes."""

    stream_seq: int
    date_ns: int
    subject: bytes
    headers: bytes
    payload: bytes


def reading(stream: str, stream_seq: int, subjects: str = ">") -> Request:
    """STREAM.MSG.GET of the first message of that sequence or a later one, with such a subject."""
    return Request(f"STREAM.MSG.GET.{stream}", {"seq": stream_seq, "next_by_subj": subjects})


async def message_from(api: Api, stream: str, stream_seq: int) -> LiveMessage | None:
    """The first message of that sequence or a later one; None where there is none. Raises what `api` raises."""
    try:
        request = reading(stream, stream_seq)
        result = (await api.ask(request.subject, request.payload))["message"]
        return decoded(result)
    except ApiError as refused:
        if refused.err_code == _NO_MESSAGE:
            return None
        raise
    except (KeyError, TypeError, ValueError):
        raise BackupProblem(f"STREAM.MSG.GET.{stream}: the reply is not a message", "look at the stream") from None


def decoded(result: dict[str, Any]) -> LiveMessage:
    """The message in a reply to STREAM.MSG.GET. Raises KeyError, TypeError or ValueError where it is none."""
    headers, payload = (binascii.a2b_base64(result.get(key, "")) for key in ("hdrs", "data"))
    return LiveMessage(int(result["seq"]), date_ns(result["time"]), result["subject"].encode(), headers, payload)
