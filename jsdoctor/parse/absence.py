"""Why a kind of evidence is not there: what each access cannot show, and how to see it."""

from __future__ import annotations

from collections.abc import Sequence

from jsdoctor.model.evidence import Evidence
from jsdoctor.model.exchange import Access, Endpoint, Sample
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.server import Accounts, ConnectedServer, Servers
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.trend import Trend


def _not_offered(reason: str, how_to_get: str, kind: str = "access") -> Gap:
    return Gap(kind=kind, subject=CLUSTER, reason=reason, how_to_get=how_to_get, requested=False)


_NOTHING = _not_offered("nothing answered", "see what is said of the connection, and run again")
_PLAIN_ACCOUNT = _not_offered(
    "this login belongs to a plain account, which cannot see servers",
    "use a login of the system account, or add --monitor http://HOST:8222 for each server",
)
_NO_SERVERS = _not_offered("no server told of itself", "use a login of the system account")
_NO_ACCOUNTS = _not_offered(
    "no reply told how much of its limits any account uses",
    "use a login of an account with JetStream, or of the system account",
)
_NO_CONNECTION = _not_offered("no client connection was made", "give --server or --context")
_NO_ASSETS = _not_offered(
    "no server told of its streams", "use a login of an account with JetStream, or of the system account"
)
_ONE_SAMPLE = _not_offered("a rate needs two samples and one was taken", "run with --samples 2 or more", kind="samples")

_ONE_ANSWERED = _not_offered(
    "a rate needs two samples, and only one of them was answered",
    "see what could not be seen, and run again",
    kind="samples",
)


def why_absent(samples: Sequence[Sample], looks: int) -> dict[type[Evidence], Gap]:
    """For every kind of evidence the reason that fits if it is missing. `looks` is how many snapshots there are."""
    exchanges = [exchange for sample in samples for exchange in sample.exchanges]
    seen = {exchange.access for exchange in exchanges}
    if all(exchange.endpoint is Endpoint.CONNECT_INFO for exchange in exchanges):
        nothing: dict[type[Evidence], Gap] = dict.fromkeys((SnapshotSeries, Trend, Servers, Accounts), _NOTHING)
        return nothing | {ConnectedServer: _NOTHING if not seen else _NO_CONNECTION}
    return {
        SnapshotSeries: _NO_ASSETS,
        Trend: (_ONE_ANSWERED if len(samples) > 1 else _ONE_SAMPLE) if looks else _NO_ASSETS,
        Servers: _PLAIN_ACCOUNT if Access.ACCOUNT in seen else _NO_SERVERS,
        Accounts: _NO_ACCOUNTS,
        ConnectedServer: _NO_CONNECTION,
    }
