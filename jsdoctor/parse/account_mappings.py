"""ACCOUNTZ replies about one account: its subject mappings, exports and imports."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from jsdoctor.model.account_mappings import AccountMappings, Destination, Export, Import, MappedAccount
from jsdoctor.model.exchange import Access, Endpoint, Exchange
from jsdoctor.model.reported import Instant
from jsdoctor.parse.opening import Identities, open_reply
from jsdoctor.parse.replies import ReplyError


class _Detail(msgspec.Struct, frozen=True):
    account_name: str = ""
    name_tag: str = ""
    leafnode_connections: int = 0
    mappings: dict[str, tuple[Destination, ...]] | None = None
    exports: tuple[Export, ...] | None = None
    imports: tuple[Import, ...] | None = None


class _ReportedAccount(_Detail, frozen=True):
    """The reply, and its content alone, as archives have it."""

    now: Instant | None = None
    account_detail: _Detail | None = None


def account_mappings(exchanges: Iterable[Exchange], identities: Identities) -> AccountMappings | None:
    """The accounts that servers reported one by one; None if there are none. `assemble` names what cannot be read."""
    accounts: list[MappedAccount] = []
    for exchange in exchanges:
        if exchange.endpoint is not Endpoint.ACCOUNTZ or exchange.access is Access.ACCOUNT:
            continue
        try:
            identity, reply = open_reply(exchange, identities, _ReportedAccount)
        except ReplyError:
            continue
        detail = reply.account_detail or reply
        if detail.account_name:
            accounts.append(
                MappedAccount(
                    server=identities.name(identity),
                    cluster=identity.cluster,
                    names=frozenset({detail.account_name, detail.name_tag} - {""}),
                    at=reply.now or identity.time or exchange.asked_at,
                    mappings=detail.mappings or {},
                    exports=detail.exports or (),
                    imports=detail.imports or (),
                    leafs=detail.leafnode_connections,
                )
            )
    return AccountMappings(tuple(accounts)) if accounts else None
