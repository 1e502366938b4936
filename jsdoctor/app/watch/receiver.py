"""A receiver of notifications, as `--notify` names it."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from jsdoctor.render.watch.notification_format import NotificationFormat


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
    if not _is_web_address(url):
        raise ValueError("write it as http(s)://HOST/PATH, slack=URL or alertmanager=URL")
    return Receiver(NotificationFormat(format_), url)


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False
