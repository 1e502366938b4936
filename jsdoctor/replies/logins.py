"""Several logins of one deployment: the samples of each as one, and what the accounts add to what servers show."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import zip_longest

import msgspec

from jsdoctor.model.exchange import Access, Endpoint, Exchange, Sample
from jsdoctor.model.logins import CommandLogin, Logins
from jsdoctor.model.server import Account
from jsdoctor.model.snapshot import UnresponsiveAsset
from jsdoctor.replies.account import AccountReplies
from jsdoctor.replies.decoding import ReplyError, user_of
from jsdoctor.replies.merge import ConsumerCopies, StreamCopy
from jsdoctor.replies.system import ServerReplies


class KnownLogin:
    """Facts of a login from an earlier sample that later ones lack: its account, domain, consumers and usage."""

    def __init__(self) -> None:
        self.account = ""
        self.domain = ""
        self.consumers: ConsumerCopies = {}
        self.usage: Account | None = None


class Assets(msgspec.Struct, frozen=True):
    """Streams and consumers as servers and accounts show them, and those of which only the name is known."""

    copies: list[StreamCopy]
    consumers: ConsumerCopies
    silent: tuple[UnresponsiveAsset, ...]
    listed: frozenset[str] = frozenset()


def of_several_logins(by_login: Sequence[Sequence[Sample]]) -> tuple[Sample, ...]:
    """The samples of all logins side by side, each exchange with the number of its login.

    Only the first login of the system account counts: a second one gets the same replies. What the scan of one login
    could not read is no gap if another one read it.
    """
    scanned = {
        exchange.target.rpartition(" of ")[2]
        for samples in by_login
        for sample in samples
        for exchange in sample.exchanges
        if exchange.endpoint is Endpoint.STORED_MESSAGES
    }
    system = next((number for number, samples in enumerate(by_login) if _is_system(samples)), None)
    kept = []
    for number, samples in enumerate(by_login):
        if number != system and _is_system(samples):
            continue
        has_none = bool(scanned) and not _has_endpoint(samples, Endpoint.STORED_MESSAGES)
        kept.append([_numbered(sample, number, scanned, has_none) for sample in samples])
    return tuple(_side_by_side([item for item in row if item is not None]) for row in zip_longest(*kept))


def samples_by_login(samples: Sequence[Sample]) -> list[tuple[Sample, ...]]:
    """The samples of each login alone, as if it had been the only one."""
    numbers = sorted({exchange.login for sample in samples for exchange in sample.exchanges})
    return [
        tuple(
            Sample(sample.taken_at, tuple(e.of_login(0) for e in sample.exchanges if e.login == number), sample.gaps)
            for sample in samples
        )
        for number in numbers
    ]


def logins_of(samples: Iterable[Sample], flags: Sequence[tuple[str, ...]]) -> Logins:
    """The logins through which servers responded. `flags` lead to each login, by its number."""
    exchanges = [exchange for sample in samples for exchange in sample.exchanges]
    system = {exchange.login for exchange in exchanges if exchange.access is Access.SYSTEM}
    accounts: dict[int, frozenset[str]] = {
        exchange.login: frozenset() for exchange in exchanges if exchange.access is Access.ACCOUNT
    }
    accounts |= {e.login: frozenset(_account_names(e)) for e in exchanges if e.endpoint is Endpoint.USER_INFO}
    return Logins(
        tuple(
            CommandLogin(words, accounts.get(number, frozenset()), number in system)
            for number, words in enumerate(flags)
            if number in system or number in accounts
        )
    )


def _account_names(exchange: Exchange) -> set[str]:
    try:
        user = user_of(exchange.body)
    except ReplyError:
        return set()
    return {user.account, user.account_name} - {""}


def _is_system(samples: Iterable[Sample]) -> bool:
    return any(exchange.access is Access.SYSTEM for sample in samples for exchange in sample.exchanges)


def _has_endpoint(samples: Iterable[Sample], endpoint: Endpoint) -> bool:
    return any(exchange.endpoint is endpoint for sample in samples for exchange in sample.exchanges)


def _numbered(sample: Sample, number: int, scanned: Collection[str], has_none: bool) -> Sample:
    """A sample with the number of its login, without its gaps of scans where others read these streams.

    `has_none`: it read none at all.
    """
    exchanges = tuple(exchange.of_login(number) for exchange in sample.exchanges)
    gaps = tuple(gap for gap in sample.gaps if gap.kind != "scan" or not (has_none or gap.subject.name in scanned))
    return Sample(sample.taken_at, exchanges, gaps)


def _side_by_side(samples: Sequence[Sample]) -> Sample:
    return Sample(
        taken_at=min(sample.taken_at for sample in samples),
        exchanges=tuple(exchange for sample in samples for exchange in sample.exchanges),
        gaps=tuple(gap for sample in samples for gap in sample.gaps),
    )


def account_replies(exchanges: Sequence[Exchange], known: Mapping[int, KnownLogin]) -> dict[int, AccountReplies]:
    """The replies to each login of an account in a sample, and what `known` keeps of them for later samples.

    Of two logins of one account, the first counts.
    """
    replies_by_login: dict[int, AccountReplies] = {}
    names: set[str] = set()
    for number, login in sorted(known.items()):
        replies = AccountReplies(login.account, login.consumers)
        replies.add_all(exchange for exchange in exchanges if exchange.login == number)
        login.account, login.usage = replies.name, replies.account() or login.usage
        login.consumers = replies.consumers
        if replies.name and replies.name in names and replies.answered:
            continue
        names |= {replies.name} if replies.answered else set()
        replies_by_login[number] = replies
    return replies_by_login


def joined_assets(
    servers: ServerReplies, accounts: Mapping[int, AccountReplies], known: Mapping[int, KnownLogin], by_system: bool
) -> Assets:
    """The assets that servers show and those that accounts show.

    The API responds from leaders and covers its whole account; JSZ covers every account of the servers queried. A login
    of the system account (`by_system`) queries all servers that run, so accounts only add what is on none of them.
    """
    copies, consumers = servers.streams, dict(servers.consumers)
    silent: list[UnresponsiveAsset] = []
    listed: set[str] = set()
    for number, account in accounts.items():
        names = servers.names_of(account.name, known[number].domain)
        if by_system and servers.showed_assets:
            shown = {copy.stream.config.name: copy.account for copy in copies if copy.account in names}
            label = next(iter(shown.values()), account.name)
            listed |= {label} if account.answered and not account.gaps else set()
            copies = copies + [
                msgspec.structs.replace(copy, account=label)
                for copy in account.streams
                if copy.stream.config.name not in shown
            ]
            consumers |= {(label, s): listed for (_, s), listed in account.consumers.items() if s not in shown}
            silent += [
                _in_account(asset, label)
                for asset in account.silent
                if (asset.subject.stream or asset.subject.name) not in shown
            ]
            continue
        silent += account.silent
        if account.answered:
            listed |= set() if account.gaps else {account.name}
            copies = [copy for copy in copies if copy.account not in names] + account.streams
            consumers = {key: value for key, value in consumers.items() if key[0] not in names}
            consumers |= account.consumers
    return Assets(copies, consumers, tuple(silent), frozenset(listed))


def _in_account(asset: UnresponsiveAsset, account: str) -> UnresponsiveAsset:
    subject = msgspec.structs.replace(asset.subject, account=account)
    return msgspec.structs.replace(asset, subject=subject)
