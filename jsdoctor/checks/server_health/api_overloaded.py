"""JSD807: JetStream API requests that pile up on a server, or that mostly end in errors.

From logs: JetStream API requests that a server threw away because too many were waiting.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import finding_of, is_recent
from jsdoctor.checks.logs.words import by_server
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, Subject, failed, passed, suspected
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.release import release
from jsdoctor.model.server import ApiStats, Server, Servers
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.trend import ServerHistory, ServerTrend

_COUNTS_DELETES = ((2, 11, 0), (2, 15, 0))
"""From the first up to the second of these, servers count removals after an acknowledgement as API calls."""


class _ApiCalls(msgspec.Struct, frozen=True):
    """API calls between the first and the last sample, and how many of them failed."""

    total: int
    errors: int
    elapsed_s: float

    @property
    def error_share(self) -> float:
        return self.errors / self.total if self.total else 0.0

    @property
    def errors_per_s(self) -> float:
        return self.errors / self.elapsed_s

    @property
    def calls_per_s(self) -> float:
        return self.total / self.elapsed_s


@check("server_health.api_overloaded", compares_samples=True)
def api_overloaded(
    servers: Servers, trend: ServerTrend | None, snapshots: SnapshotSeries | None, params: Params
) -> Iterator[Finding]:
    """Requests wait in a queue of 10,000; when it is full, all that wait are dropped (jetstream_api.go apiDispatch)."""
    histories = {history.last.name: history for history in (trend.servers if trend else ())}
    blurred = _has_shared_queues(snapshots)
    for server in servers.servers:
        stats = server.jetstream
        if stats is None or stats.disabled:
            continue
        waits = [_waiting(item) for sample in servers.samples for item in sample if item.server_id == server.server_id]
        busy = _over(waits[-1], params)
        if busy and len(waits) == 1:
            yield suspected(
                server.subject,
                f"{waits[-1][0]:,} API requests wait, in the only sample",
                "run with --samples 2 or more",
            )
        elif busy and all(_over(wait, params) for wait in waits):
            yield _piled_up(server, waits, params)
        else:
            yield _by_errors(server, stats.api, _calls_between_samples(histories.get(server.name)), blurred, params)
    if not any(_counts_deletes(server, blurred) for server in servers.servers):
        yield from _by_account(trend.servers if trend else (), params)


def _has_shared_queues(snapshots: SnapshotSeries | None) -> bool:
    """Whether some replicated stream removes acknowledged messages. Without a sample: possibly."""
    if snapshots is None:
        return True
    return any(s.config.retention != "limits" and s.config.num_replicas > 1 for s in snapshots.last.streams)


def _waiting(server: Server) -> tuple[int, int]:
    """Requests in flight, and those of them that wait in the queue. The latter is shown in clusters only."""
    stats = server.jetstream
    return (stats.api.inflight, stats.meta_cluster.pending if stats.meta_cluster else 0) if stats else (0, 0)


def _over(waiting: tuple[int, int], params: Params) -> bool:
    return waiting[0] >= params.integer("max_inflight") or waiting[1] >= params.integer("max_pending")


def _piled_up(server: Server, waits: Sequence[tuple[int, int]], params: Params) -> Finding:
    inflight, pending = waits[-1]
    queue = max(inflight, pending)
    close = min(max(wait) for wait in waits) >= params.integer("near_queue_limit")
    by_pending = inflight < params.integer("max_inflight")
    limit = "near_queue_limit" if close else "max_pending" if by_pending else "max_inflight"
    return failed(
        server.subject,
        f"{queue:,} JetStream API requests wait there, in every sample: clients that time out ask again, and at"
        " 10,000 the server drops all that wait",
        server.observed("api.inflight", inflight),
        server.observed("meta_cluster.pending", pending),
        severity=Severity.ERROR if close else None,
        measured=(pending if by_pending else inflight, params.integer(limit), "count"),
    )


def _calls_between_samples(history: ServerHistory | None) -> _ApiCalls | None:
    if history is None or history.restarted or not (history.first.jetstream and history.last.jetstream):
        return None
    first, last = history.first.jetstream.api, history.last.jetstream.api
    return _ApiCalls(last.total - first.total, last.errors - first.errors, history.elapsed_s)


def _by_errors(server: Server, api: ApiStats, calls: _ApiCalls | None, blurred: bool, params: Params) -> Finding:
    if calls is None or calls.total < params.integer("min_requests"):
        return passed(server.subject)
    counts_deletes = _counts_deletes(server, blurred)
    if calls.error_share < params.number("warn_errors"):
        many = calls.calls_per_s >= params.number("many_calls") and not counts_deletes
        return _many_calls(server, api, calls, params) if many else passed(server.subject)
    if counts_deletes:
        return suspected(
            server.subject,
            f"{calls.errors:,} of {calls.total:,} API calls between the samples count as errors, and servers of"
            f" version {server.version} count removals of acknowledged messages among them",
            "watch the real ones: nats events --js-advisory --all",
        )
    most = calls.error_share >= params.number("max_errors") and calls.errors_per_s >= params.number("max_error_rate")
    return failed(
        server.subject,
        f"{calls.errors:,} of {calls.total:,} JetStream API calls between the samples returned an error,"
        f" {calls.errors_per_s:,.0f} each second: some client repeats requests for what does not exist or is not"
        " allowed",
        server.observed("api.errors", api.errors),
        server.observed("api.total", api.total),
        severity=None if most else Severity.INFO,
        measured=(calls.error_share, params.number("max_errors" if most else "warn_errors"), "ratio"),
    )


def _counts_deletes(server: Server, blurred: bool) -> bool:
    first, end = _COUNTS_DELETES
    return blurred and server.meta is not None and first <= release(server.version) < end


def _by_account(histories: Sequence[ServerHistory], params: Params) -> Iterator[Finding]:
    """A single client that is refused once a second is lost among the calls of a server, not among those of its
    account.
    """
    grown: dict[str, list[tuple[Server, _ApiCalls]]] = defaultdict(list)
    for history in histories:
        before = {calls.account: calls.api for calls in history.first.calls}
        if history.restarted:
            continue
        for calls in history.last.calls:
            first = before.get(calls.account, calls.api)
            total, errors = calls.api.total - first.total, calls.api.errors - first.errors
            grown[calls.account].append((history.last, _ApiCalls(total, errors, history.elapsed_s)))
    for account, of_servers in grown.items():
        errors, rate = sum(c.errors for _, c in of_servers), sum(c.errors_per_s for _, c in of_servers)
        subject, total = Subject(kind="account", name=account), sum(calls.total for _, calls in of_servers)
        if errors < params.integer("min_account_errors") or rate < params.number("account_error_rate"):
            yield passed(subject)
            continue
        share = errors / total if total else 0.0
        most = share >= params.number("max_errors") and rate >= params.number("max_error_rate")
        yield failed(
            subject,
            f"{errors:,} of its {total:,} JetStream API calls between the samples returned an error,"
            f" {rate:,.1f} a second: some client repeats what is refused, or looks for what is not there",
            *(server.observed("account_details.api.errors", calls.errors) for server, calls in of_servers),
            *(server.observed("account_details.api.total", calls.total) for server, calls in of_servers),
            severity=None if most else Severity.INFO,
            measured=(rate, params.number("account_error_rate"), "per_second"),
            how_to_get="watch which: nats events --js-advisory --all, or subscribe to $JS.EVENT.ADVISORY.API",
        )


def _many_calls(server: Server, api: ApiStats, calls: _ApiCalls, params: Params) -> Finding:
    return failed(
        server.subject,
        f"{calls.calls_per_s:,.0f} JetStream API calls each second between the samples, without publishes and pull"
        " requests: some client requests information of streams or consumers, or creates them, in a loop",
        server.observed("api.total", api.total),
        severity=Severity.INFO,
        measured=(calls.calls_per_s, params.number("many_calls"), "per_second"),
        how_to_get="watch which: nats events --js-advisory --all, or subscribe to $JS.EVENT.ADVISORY.API",
    )


@check("server_health.api_overloaded_logged", lines_of="servers")
def api_overloaded_logged(logs: LogEvidence) -> Iterator[Finding]:
    """At its limit the server drops the whole queue without responses (jetstream_api.go apiDispatch)."""
    for burst in bursts(logs, "api-requests-dropped", "api-queue-long", subjects=by_server, calm=False):
        dropped = burst.largest("dropped")
        what = (
            f"it threw away JetStream API requests, up to {dropped:,} at once"
            if dropped
            else f"up to {burst.largest('pending') or 0:,} JetStream API requests were waiting"
        )
        severity = Severity.ERROR if dropped and is_recent(logs, burst) else None
        yield finding_of(
            burst,
            f"{what} ({burst.story}); their clients got no response. Such lines are written at most once a second",
            severity,
        )
