"""The logins of a run, and printed commands with the flags that lead each to a login that can run it."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from jsdoctor.model.finding import Subject

_NATS = re.compile(r"(?<![\w./-])nats (?=(server|stream|consumer|kv|object|account|events) -?[a-z])")
_JSDOCTOR = re.compile(r"(?<![\w./-])jsdoctor (?:rollback|fix|capture)\b")


class CommandLogin(msgspec.Struct, frozen=True):
    """One login. `flags` lead there, as a shell takes them; empty if `nats` gets there without. `accounts` are the
    names of its account, empty if no server reported any.
    """

    flags: tuple[str, ...] = ()
    accounts: frozenset[str] = frozenset()
    is_system: bool = False


class Logins(msgspec.Struct, frozen=True):
    """All logins of a run, in order; none for what was captured before."""

    each: tuple[CommandLogin, ...] = ()

    def flagged(self, text: str, subject: Subject) -> str:
        """The text with the flags of a login added to each `nats` and `jsdoctor` command in it about that subject."""
        if not self.each or ("nats " not in text and "jsdoctor " not in text):
            return text
        text = _NATS.sub(lambda match: " ".join(("nats", *self._flags(match[1], subject), "")), text)
        return _JSDOCTOR.sub(lambda match: " ".join((match[0], *self.all_flags)), text)

    def needed(self, command: str, subject: Subject) -> str:
        """The login that a command needs and that this run does not have; empty if it has it, or none is needed."""
        match = _NATS.match(command)
        if match is None or self._login(match[1], subject):
            return ""
        if match[1] == "server":
            return "a login of the system account"
        return f"a login of account {account}" if (account := account_of(subject)) else "a login of the account"

    @property
    def all_flags(self) -> tuple[str, ...]:
        """The flags of all logins, for a command of jsdoctor."""
        return tuple(dict.fromkeys(flag for login in self.each for flag in login.flags))

    def of_account(self, account: str) -> int | None:
        """The place of a login of that account: one that is known to be, else the first whose account is not known.

        Of any account for an empty name.
        """
        plain = [(place, login) for place, login in enumerate(self.each) if not login.is_system]
        known = (place for place, login in plain if not account or account in login.accounts)
        unknown = (place for place, login in plain if not login.accounts)
        return next(known, next(unknown, None))

    def of_system(self) -> int | None:
        """The place of the login of the system account."""
        return next((place for place, login in enumerate(self.each) if login.is_system), None)

    def _login(self, group: str, subject: Subject) -> CommandLogin | None:
        place = self.of_system() if group == "server" else self.of_account(account_of(subject))
        return None if place is None else self.each[place]

    def _flags(self, group: str, subject: Subject) -> Iterable[str]:
        login = self._login(group, subject)
        return login.flags if login else ()


NO_LOGINS = Logins()


def account_of(subject: Subject) -> str:
    """The account that owns a subject, empty if none does."""
    return subject.name if subject.kind == "account" else subject.account
