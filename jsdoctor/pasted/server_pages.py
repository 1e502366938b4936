"""Pages about one server or one login: `nats server info`, `nats account info` and `nats-top`.

`nats server info` and `nats-top` show the variables of a server; rounded ones stay unknown. `nats account info` rounds
what an account uses, so it cannot be judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from jsdoctor.model.exchange import Access, Endpoint
from jsdoctor.model.server import Varz
from jsdoctor.pasted.found import RecognisedDocument, Refused
from jsdoctor.replies.unseen import unseen_fields

_MAX_LINE_LENGTH = 2_000
_MAX_LINES = 100_000
_SERVER = re.compile(r"^[\s>|*-]*Server information for (\S{1,200}) \((\w{1,80})\)\s*$")
_ACCOUNT = re.compile(r"^[\s>|*-]*(?:JetStream Account Information:|Account Usage:)\s*$")
_TOP = re.compile(r"^[\s>|*-]*NATS server version (\S{1,40}) \(uptime: ")
_TOP_NAME = re.compile(r"^[\s>|*-]*Server: (\S{1,200})\s*$")
_TOP_ID = re.compile(r"^[\s>|*-]*ID: +(N\w{20,80})\s*$")
_TOP_LOAD = re.compile(r"Load: CPU: +([\d.]{1,10})% .{0,40}Slow Consumers: (\d{1,18})")
_LABEL = re.compile(r"^[\s>|*-]*([A-Z][A-Za-z ()-]{2,40}?):[ \t]+(\S(?:.*\S)?)\s*$")
_NUMBER = re.compile(r"[\d,]{1,20}$")
_USED = re.compile(r"(.{1,20}?) of (\d.{0,20})$")
_CORES = re.compile(r"(\d{1,5}) ([\d.]{1,10})%")
_FIELDS = {
    "version": "version",
    "connections": "connections",
    "subscriptions": "subscriptions",
    "slow consumers": "slow_consumers",
    "maximum connections": "max_connections",
    "max conn": "max_connections",
    "maximum subscriptions": "max_subscriptions",
    "max subs": "max_subscriptions",
    "gomaxprocs": "gomaxprocs",
}
_TEXT_FIELDS = frozenset({"version"})
_LOGIN_HINT = "look at the deployment with that login: jsdoctor check --context NAME"


def server_pages(text: str) -> Iterator[RecognisedDocument | Refused]:
    """Every page of `nats server info`, `nats-top` and `nats account info` in a text."""
    kind = ""
    value: dict[str, Any] = {}
    for line in (line[:_MAX_LINE_LENGTH] for line in text.splitlines()[:_MAX_LINES]):
        page = _page_start(line)
        if page is not None and {page[0], kind} != {"account"}:  # an account page has two titles
            yield from _to_reply(kind, value)
            kind, value = page
        elif kind == "top":
            _read_top(value, line)
        elif kind and (label := _LABEL.match(line)):
            (_read_info if kind == "server" else _read_usage)(value, label[1].lower(), label[2])
    yield from _to_reply(kind, value)


def _page_start(line: str) -> tuple[str, dict[str, Any]] | None:
    """The kind of page that a line begins, and what the line shows; None if it begins none."""
    if match := _SERVER.match(line):
        return "server", {"server_name": match[1], "server_id": match[2]}
    if match := _TOP.match(line):
        return "top", {"version": match[1]}
    return ("account", {}) if _ACCOUNT.match(line) else None


def _read_info(value: dict[str, Any], label: str, text: str) -> None:
    name = _FIELDS.get(label)
    if name is not None and name not in value:
        if name in _TEXT_FIELDS:
            value[name] = text
        elif _NUMBER.match(text) and text.strip(","):
            value[name] = int(text.replace(",", ""))
    elif label == "cpu cores" and (match := _CORES.match(text)):
        value["cores"], value["cpu"] = int(match[1]), float(match[2])
    elif label == "name" and "cluster" not in value:
        value["cluster"] = {"name": text}


def _read_top(value: dict[str, Any], line: str) -> None:
    if match := _TOP_LOAD.search(line):
        value["cpu"], value["slow_consumers"] = float(match[1]), int(match[2])
    elif match := _TOP_NAME.match(line):
        value["server_name"] = match[1]
    elif match := _TOP_ID.match(line):
        value["server_id"] = match[1]


def _read_usage(value: dict[str, Any], label: str, text: str) -> None:
    if (match := _USED.match(text)) and "unlimited" not in text.lower():
        value[label] = f"{label} {match[1]} of {match[2]}"


def _to_reply(kind: str, value: Mapping[str, Any]) -> Iterator[RecognisedDocument | Refused]:
    if kind in ("server", "top"):
        unseen = unseen_fields(value, Varz, frozenset({"", "cluster"}))
        name = str(value.get("server_name") or value.get("server_id") or "")
        yield RecognisedDocument(Endpoint.VARZ, Access.PASTED, dict(value), server=name, unseen=unseen)
    elif kind:
        used = f": {'; '.join(value.values())}" if value else ""
        yield Refused("the page of nats account info", f"sizes in it are rounded{used}", _LOGIN_HINT)
