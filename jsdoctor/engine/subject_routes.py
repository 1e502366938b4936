"""The subjects and accounts in which messages of a subject arrive, by the mappings and imports of accounts.

A server maps what a client publishes, once. An import of a service then takes it to the account that exports it, whose
mappings apply as well; an import of a stream brings it from there (server: client.go processServiceImport).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import msgspec

from jsdoctor.model.account_mappings import AccountMappings, Import, MappedAccount, transformed
from jsdoctor.model.snapshot import Stream
from jsdoctor.model.subjects import common_subject, overlaps_any, subject_contains, subjects_overlap
from jsdoctor.model.wording import joined

_ALL_PERCENT = 100
_MAX_STEPS = 6
"""Maximum number of mappings and imports in a row that are followed."""
_Names: TypeAlias = frozenset[str]


class SubjectRoute(msgspec.Struct, frozen=True):
    """Messages arrive as `subject` in the account of these names; an empty subject: they are dropped.

    `share`: the percentage of them. `step`: a sentence on the mapping or import that takes them there from `origin`.
    `is_copy`: they also go on without it, as with the import of a stream.
    """

    names: _Names
    subject: str
    share: int = _ALL_PERCENT
    step: str = ""
    origin: SubjectRoute | None = None
    is_copy: bool = False

    @property
    def way(self) -> tuple[SubjectRoute, ...]:
        """The routes from the first to this one."""
        return (*(self.origin.way if self.origin else ()), self)

    @property
    def steps(self) -> tuple[str, ...]:
        """The mappings and imports in their order."""
        return tuple(route.step for route in self.way if route.step)

    def stored_subjects(self, stream: Stream) -> list[str]:
        """The subjects of this route that the stream stores; none if the stream is of another account."""
        known = self.subject and stream.own_account in self.names
        return [c for s in stream.config.subjects if (c := common_subject(s, self.subject))] if known else []

    def after(
        self, step: str, names: _Names, subject: str, share: int = _ALL_PERCENT, *, is_copy: bool = False
    ) -> SubjectRoute:
        """The route with one more step."""
        return SubjectRoute(names, subject, self.share * share // _ALL_PERCENT, step, self, is_copy)


class SubjectRoutes:
    """The routes of the accounts that have these streams, and of those whose mappings were read."""

    def __init__(self, mappings: AccountMappings | None, streams: Iterable[Stream]) -> None:
        self._reports: dict[_Names, list[tuple[MappedAccount, str]]] = {}
        variants: dict[_Names, dict[bytes, list[MappedAccount]]] = {}
        for account in mappings.accounts if mappings else ():
            variants.setdefault(account.names, {}).setdefault(_applied(account), []).append(account)
        for names, differing in variants.items():
            self._reports[names] = [
                (same[0], f" on {joined([each.server for each in same])}" if len(differing) > 1 else "")
                for same in differing.values()
            ]
        owners = {stream.own_account for stream in streams}
        self.unread = tuple(sorted(name for name in owners if not any(name in names for names in self._reports)))
        """The accounts whose mappings and imports were not read."""

    def of(self, subject: str) -> list[SubjectRoute]:
        """Where messages arrive that clients of any account publish to `subject`."""
        every = (*self._reports, *(frozenset({name}) for name in self.unread))
        return list(dict.fromkeys(r for names in every for r in self._after_publish(SubjectRoute(names, subject))))

    def leading_to(self, stream: Stream) -> list[str]:
        """Sentences on mappings and imports that lead to a stream, and on exports whose importers publish to it."""
        starts, exports = list[SubjectRoute](), list[str]()
        for names, account, _ in self._accounts():
            starts += [SubjectRoute(names, start) for start in account.mappings]
            starts += [SubjectRoute(names, each.local_subject) for each in _imports(account, "service")]
            starts += [SubjectRoute(self.names_of(each.account), each.subject) for each in _imports(account, "stream")]
            exports += [
                f"{_label(names)} exports the service {export.subject}, whose importers publish here"
                for export in account.exports
                if stream.own_account in names and export.type == "service"
                if overlaps_any(export.subject, stream.config.subjects)
            ]
        routes = [r for start in starts for r in self._after_publish(start) if r.step and r.stored_subjects(stream)]
        return [*sorted({", then ".join(route.steps) for route in routes}), *sorted({*exports})]

    def _accounts(self) -> Iterator[tuple[_Names, MappedAccount, str]]:
        """Each account as servers apply it, with the servers where they differ."""
        return ((names, *report) for names, reports in self._reports.items() for report in reports)

    def names_of(self, account: str) -> _Names:
        """All names of an account: its public key and its name tag are two."""
        return next((names for names in self._reports if account in names), frozenset({account}))

    def _after_publish(self, route: SubjectRoute, *, by_client: bool = True) -> Iterator[SubjectRoute]:
        """The routes of a message that a client, or else the import of a service, publishes in an account."""
        for account, where in self._reports.get(route.names, ()):
            for mapped in _after_mappings(route, account, where):
                yield mapped
                if len(route.way) < _MAX_STEPS:
                    yield from self._after_service_imports(mapped, account)
                    yield from self._after_stream_imports(mapped) if by_client else ()
        if route.names not in self._reports:
            yield from (route, *self._after_stream_imports(route))

    def _after_stream_imports(self, route: SubjectRoute) -> Iterator[SubjectRoute]:
        """The routes in accounts that import the subject as a stream. They do not get what a service import brought."""
        for names, account, where in self._accounts():
            for each in _imports(account, "stream"):
                if each.account in route.names and (subject := each.imported(route.subject)):
                    step = f"{_label(names)} imports the stream {each.subject} of {_label(route.names)}{where}"
                    copied = route.after(step, names, subject, is_copy=True)
                    yield from (copied, *(self._after_stream_imports(copied) if len(copied.way) < _MAX_STEPS else ()))

    def _after_service_imports(self, route: SubjectRoute, account: MappedAccount) -> Iterator[SubjectRoute]:
        """The routes in accounts whose services this account imports."""
        for each in _imports(account, "service"):
            if subject := each.exported(route.subject):
                names = self.names_of(each.account)
                step = f"{_label(route.names)} imports the service {each.subject} of {_label(names)}"
                yield from self._after_publish(route.after(step, names, subject), by_client=False)


_OF_SERVERS = ("$JS.", "$JSC.", "$SYS.", "$NRG.")
"""Subjects of servers themselves: what they map and import for every account is left out."""


def _after_mappings(route: SubjectRoute, account: MappedAccount, where: str) -> Iterator[SubjectRoute]:
    """The routes after the mappings of an account. Of several whose sources overlap, any may apply."""
    own = (source for source in sorted(account.mappings) if not source.startswith(_OF_SERVERS))
    sources = [source for source in own if subjects_overlap(source, route.subject)]
    if not any(subject_contains(source, route.subject) for source in sources):
        yield route
    commons = [common_subject(source, route.subject) for source in sources]
    for source, common in zip(sources, commons, strict=True):
        may = "may map" if sum(subjects_overlap(common, other) for other in commons) > 1 else "maps"
        shares = account.shares(source)
        parts = [subject if share == _ALL_PERCENT else f"{subject} ({share} %)" for subject, share in shares]
        step = f"{_label(route.names)} {may} {source} to {joined(parts)}{where}"
        for subject, share in shares:
            yield route.after(step, route.names, transformed(common, source, subject), share)
        if (kept := sum(share for _, share in shares)) < _ALL_PERCENT:
            yield route.after(step, route.names, "", _ALL_PERCENT - kept)


def _imports(account: MappedAccount, kind: str) -> Iterator[Import]:
    """The imports of one kind, without those from the system account that every account has."""
    return (each for each in account.imports if each.type == kind and not each.local_subject.startswith(_OF_SERVERS))


def _applied(account: MappedAccount) -> bytes:
    """The mappings, exports and imports that a server applies, as bytes that are equal for equal ones."""
    mappings = {source: account.destinations(source) for source in sorted(account.mappings)}
    return msgspec.json.encode((mappings, sorted(map(msgspec.json.encode, (*account.exports, *account.imports)))))


def _label(names: _Names) -> str:
    """The shortest name: the name tag rather than the public key."""
    return min(names, key=lambda name: (len(name), name), default="")
