"""Gaps for requests without a reply: the request, the reason, and what to do about it."""

from __future__ import annotations

from collections.abc import Collection

from jsdoctor.model.finding import CLUSTER, Subject
from jsdoctor.model.gap import Gap
from jsdoctor.sources.servers.ask import MAX_UNAWAITED_BYTES, MAX_UNPACKED_BYTES, NoReplyError, Why

_MAX_NAMES = 3
_LEADERLESS_REPLY_S = 4.0
"""If a server cannot reach the leaders of all assets of a list, it replies after this time (jetstream_cluster.go)."""


def unanswered(error: NoReplyError, kind: str, subject: Subject, timeout_s: float) -> Gap:
    """The gap for `subject`, of which nothing is known without that reply.

    A reason that applies to the whole login or connection becomes a gap of the cluster, so that it is reported once.
    """
    match error.why:
        case Why.DENIED:
            return Gap(
                kind="access",
                subject=Subject(kind="client", name=error.subject),
                reason=f"this login is not allowed to ask: {error.words}",
                how_to_get=f'add "{error.subject}" to publish.allow of the user\'s permissions, or use another login',
            )
        case Why.NO_INBOX:
            return Gap(
                kind="access",
                subject=CLUSTER,
                reason=f"this login is not allowed to receive replies: {error.words}",
                how_to_get='add "_INBOX.>" to subscribe.allow of the user\'s permissions,'
                " or give the prefix that it may use with --inbox-prefix",
            )
        case Why.LOST:
            return Gap(
                kind="connection",
                subject=CLUSTER,
                reason="the connection was lost before every reply had arrived",
                how_to_get="run again; give several servers (--server nats://A,nats://B) so that another can take over",
            )
        case Why.NOBODY:
            return Gap(
                kind=kind,
                subject=subject,
                reason=f"no server responds to {error.subject}",
                how_to_get="see whether the servers that should respond are running",
            )
        case Why.FLOODED:
            return Gap(
                kind="connection",
                subject=CLUSTER,
                reason=f"replies to {error.subject} did not end, though each server sends one: they were not kept"
                f" (limit: {MAX_UNAWAITED_BYTES // 1_000_000} MB beside those of the known servers)",
                how_to_get="see what else responds to this subject, or query the servers one by one with --monitor URL",
            )
        case Why.LATE:
            return late(error.subject, kind, subject, timeout_s)


def late(asked: str, kind: str, subject: Subject, timeout_s: float) -> Gap:
    """The gap for a request `asked` that got no reply in time."""
    short = timeout_s <= _LEADERLESS_REPLY_S and ".LIST" in asked
    return Gap(
        kind=kind,
        subject=subject,
        reason=f"no reply to {asked} within {timeout_s:g} s",
        how_to_get="run again with --timeout 10s: servers take 4 s to report that a leader does not respond"
        if short
        else "run again, with a longer --timeout; if it stays, the server that should respond is down or overloaded",
    )


def too_long(asked: str, server: Subject) -> Gap:
    """The gap for a server whose reply was larger than what is kept of one."""
    return Gap(
        kind="server",
        subject=server,
        reason=f"its reply to {asked} unpacks to more than {MAX_UNPACKED_BYTES // 1_000_000} MB, or did not arrive",
        how_to_get="check the accounts one by one, each with a login of its own",
    )


def hanging(server: str) -> Gap:
    """The gap for a server that sent no reply before all others had responded."""
    return Gap(
        kind="server",
        subject=Subject(kind="server", name=server),
        reason=f"server {server} does not respond, though other servers have a route to it",
        how_to_get="JSD718 shows whether the queried server has no route to it, JSD724 whether it has another"
        " system account; else see in its log and its load whether it hangs",
    )


def no_jetstream(prefix: str, account: str) -> Gap:
    """The gap for an API prefix without responders."""
    return Gap(
        kind="access",
        subject=Subject(kind="account", name=account),
        reason=f"no JetStream responds at {prefix}",
        how_to_get="enable JetStream on the servers and for this account; if it lives in another domain or account,"
        " give --js-domain or --js-api-prefix",
    )


def not_allowed(subjects: str, streams: Collection[str], words: str) -> Gap:
    """The gap for streams whose consumers this login may not list. `words` are the server's, on one of them."""
    return Gap(
        kind="access",
        subject=Subject(kind="client", name=subjects),
        reason=f"this login is not allowed to list the consumers of {_named(streams)}: {words}",
        how_to_get=f'add "{subjects}" to publish.allow of the user\'s permissions, or use another login',
    )


def not_asked(streams: Collection[str], timeout_s: float) -> Gap:
    """The gap for streams whose consumers were not requested because no reply came for a timeout."""
    return Gap(
        kind="consumer",
        subject=CLUSTER,
        reason=f"the consumers of {_named(streams)} were not requested: nothing had responded for {timeout_s:g} s",
        how_to_get="run again, with a longer --timeout; if it stays, the servers are down or overloaded",
    )


def _named(streams: Collection[str]) -> str:
    shown = sorted(streams)[:_MAX_NAMES]
    more = f" and {len(streams) - _MAX_NAMES} more" if len(streams) > _MAX_NAMES else ""
    return f"{len(streams)} streams ({', '.join(shown)}{more})" if len(streams) > 1 else f"stream {shown[0]}"
