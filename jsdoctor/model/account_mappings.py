"""Subject mappings of accounts as each server applies them, with what the accounts import and export.

Source: the ACCOUNTZ endpoint with an account (server: monitor.go accountInfo).
"""

from __future__ import annotations

import re
from datetime import datetime

import msgspec

from jsdoctor.model.evidence import Evidence, EvidenceSource, not_offered
from jsdoctor.model.finding import Observation
from jsdoctor.model.subjects import common_subject

_FUNCTION = re.compile(r"\{\{\s*(\w+)\s*\(?(.*?)\)?\s*\}\}")
_ONE_TOKEN_FUNCTIONS = {"partition", "left", "right", "random"}


class Destination(msgspec.Struct, frozen=True):
    """Where a mapping leads. `weight` is the sum of its own and those before it in its cluster, as the server keeps it.

    `cluster`: only for clients of that cluster; empty for all others.
    """

    subject: str = ""
    weight: int = 0
    cluster: str = ""


class Export(msgspec.Struct, frozen=True):
    """Subjects that other accounts may import. `type`: `service` or `stream`."""

    subject: str = ""
    type: str = ""


class Import(msgspec.Struct, frozen=True):
    """What `account` exports as `subject` is `local_subject` here.

    A service takes messages to that account, a stream brings them from there. Servers do not report in which order
    several wildcards are used.
    """

    subject: str = ""
    account: str = ""
    local_subject: str = ""
    type: str = ""

    def exported(self, subject: str) -> str:
        """What a subject of this account is in the other one; empty for one that is not imported."""
        return _mapped_subject(subject, self.local_subject, self.subject)

    def imported(self, subject: str) -> str:
        """What a subject of the other account is in this one; empty for one that is not imported."""
        return _mapped_subject(subject, self.subject, self.local_subject)


def _mapped_subject(subject: str, source: str, destination: str) -> str:
    """`subject` moved from pattern `source` to `destination`; all of `destination` if `source` has several `*`."""
    common = common_subject(source, subject)
    return destination if common and source.count("*") > 1 else common and transformed(common, source, destination)


class MappedAccount(msgspec.Struct, frozen=True, kw_only=True):
    """One account on one server of `cluster`. `names`: its name, or its public key and name tag.

    `leafs`: its leaf connections.
    """

    server: str
    cluster: str = ""
    names: frozenset[str]
    at: datetime
    mappings: dict[str, tuple[Destination, ...]]
    exports: tuple[Export, ...] = ()
    imports: tuple[Import, ...] = ()
    leafs: int = 0

    @property
    def shared(self) -> tuple[str, ...]:
        """Subjects that it exports, and those under which it imports services."""
        services = (each.local_subject for each in self.imports if each.type == "service")
        return tuple(filter(None, (*(each.subject for each in self.exports), *services)))

    def destinations(self, source: str) -> tuple[Destination, ...]:
        """Those that apply to clients of this server: of its cluster if any name it (server: accounts.go)."""
        own = tuple(d for d in self.mappings[source] if d.cluster and d.cluster == self.cluster)
        return own or tuple(d for d in self.mappings[source] if not d.cluster)

    def shares(self, source: str) -> list[tuple[str, int]]:
        """The subjects that it leads to, each with its own percentage."""
        sums = [0, *(destination.weight for destination in self.destinations(source))]
        return [(d.subject, d.weight - before) for d, before in zip(self.destinations(source), sums, strict=False)]

    def observed(self, source: str) -> Observation:
        """A mapping of this server as evidence."""
        value = [msgspec.to_builtins(destination) for destination in self.destinations(source)]
        return Observation(source=self.server, path=f"mappings.{source}", value=value, at=self.at)


class AccountMappings(Evidence, frozen=True):
    """Every account with streams whose own report a server sent, on each of these servers."""

    source = EvidenceSource.SYSTEM
    parts = ("mappings",)
    unavailable = not_offered(
        "the mappings of no account were requested: no server listed an account with streams, or the capture is older",
        "run again with a login of the system account; of captured evidence, capture it again",
    )
    said_by = ("mappings",)
    of_deployment = True
    left_out_by = frozenset({"reply"})

    accounts: tuple[MappedAccount, ...]


def transformed(subject: str, source: str, destination: str) -> str:
    """The pattern of the subjects to which a mapping from `source` to `destination` moves messages on `subject`.
    `subject` is a pattern within `source`. Tokens that a function decides become `*`, several of them a final `>`.
    Wildcards of the destination stand for those of the source in their order.
    """
    tokens, rest, values = subject.split("."), list[str](), list[str]()
    for number, token in enumerate(source.split(".")):
        if token == ">":
            rest = tokens[number:]
        elif token == "*":
            values.append(tokens[number] if number < len(tokens) else "*")
    result, order = list[str](), iter(values)
    for token in _FUNCTION.sub(_replaced_function, destination).split("."):
        if _TOKENS_MARK in token:
            return ".".join([*result, ">"])
        if token == ">":
            result += rest or [">"]
        elif token == "*":
            result.append(next(order, "*"))
        elif token.startswith("$") and token[1:].isdigit():
            result.append(dict(enumerate(values, 1)).get(int(token[1:]), "*"))
        else:
            result.append("*" if _ONE_TOKEN_MARK in token else token)
    return ".".join(result)


_ONE_TOKEN_MARK, _TOKENS_MARK = "\1", "\0"


def _replaced_function(function: re.Match[str]) -> str:
    """`$N` for `{{wildcard(N)}}`, else a mark for the one token or the several tokens that a function yields."""
    name, argument = function[1].lower(), function[2].strip()
    if name == "wildcard":
        return f"${argument}"
    return _ONE_TOKEN_MARK if name in _ONE_TOKEN_FUNCTIONS else _TOKENS_MARK
