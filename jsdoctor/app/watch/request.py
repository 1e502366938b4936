"""What the command line asked `jsdoctor watch` for, receivers of notifications among it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple
from urllib.parse import urlsplit

from jsdoctor.app.request import JudgeRequest
from jsdoctor.model.duration import parse_positive_seconds
from jsdoctor.model.option import option
from jsdoctor.render.watch.notification_format import NotificationFormat
from jsdoctor.sources.request import EvidenceRequest


class Receiver(NamedTuple):
    """Where notifications go, and what is understood there."""

    format: NotificationFormat
    url: str


def parse_receiver(text: str) -> Receiver:
    """A receiver as given: a URL, with `slack=` or `alertmanager=` before it if it is one of these.

    Raises ValueError.
    """
    format_, equals, url = text.partition("=")
    if not (equals and format_ in set(NotificationFormat)):
        format_, url = NotificationFormat.JSON.value, text
    url = url.strip()
    if not _is_web_address(url):
        raise ValueError("write it as http(s)://HOST/PATH, slack=URL or alertmanager=URL")
    return Receiver(NotificationFormat(format_), url)


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        is_web = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
        return is_web and url.isprintable()
    except ValueError:
        return False


@dataclass(frozen=True, kw_only=True)
class WatchRequest:
    """The time between checks, and who receives notifications."""

    every_s: Annotated[
        float,
        option("--every", metavar="DURATION", help="Time between checks.", parse=parse_positive_seconds, default="10s"),
    ] = 10.0
    for_s: Annotated[
        float | None,
        option(
            "--for",
            metavar="DURATION",
            help="End after this time and at least one check.",
            parse=parse_positive_seconds,
            default="until stopped",
        ),
    ] = None
    once_healthy: Annotated[
        bool,
        option("--once-healthy", help="End with 0 at the first check without findings at or above --fail-on."),
    ] = False
    receivers: Annotated[
        tuple[Receiver, ...],
        option(
            "--notify",
            metavar="[FORMAT=]URL",
            help="Post findings at or above --fail-on there when they appear, worsen and are resolved, as JSON; "
            "FORMAT is json, slack or alertmanager. Repeatable.",
            parse=parse_receiver,
        ),
    ] = ()
    judge: JudgeRequest = JudgeRequest()  # noqa: RUF009 - frozen, so one shared instance is safe
    wanted: EvidenceRequest = EvidenceRequest()  # noqa: RUF009 - frozen, so one shared instance is safe
