"""JSD614: a stream that its tool or the servers will refuse to create or to change.

From logs: streams that servers refused, as applications logged it.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared import stream_refusals
from jsdoctor.checks.declared.deployed import Declarations, Deployed, release_for
from jsdoctor.checks.declared.doubts import indeterminate
from jsdoctor.checks.declared.refusal import ServerRefusal, verdict
from jsdoctor.checks.declared.stream_resources import ResourceLimits
from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import finding_of
from jsdoctor.checks.logs.words import client_of
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, passed, unknown
from jsdoctor.model.jetstream import StreamConfig
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.manifest import DeclaredStream, Manifests, PlannedAction
from jsdoctor.model.server import Accounts, ConnectedServer, Servers
from jsdoctor.model.server_defaults import stream_as_checked
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.subjects import subjects_overlap
from jsdoctor.model.wording import counted

_MAX_SHOWN = 3
"""Number of streams with overlapping subjects that get a refusal each; the others are counted."""
_REFUSED = (
    "stream-subjects-taken",
    "stream-replicas-without-cluster",
    "stream-limit-of-account",
    "stream-bytes-wanted",
    "stream-count-reached",
    "stream-reservation-refused",
    "stream-setting-fixed",
    "stream-mirror-refused",
)

_EXISTS = "stream-exists-otherwise"
"""Logged by programs that create their stream at each start, which may go on or not."""

_STREAM_REFUSED = ("a stream was refused", "it does not exist, or stays as it was")
_ANY_REFUSED = ("a stream or a publish was refused", "it was not created or changed, or the message not stored")
_NO_TIER = "no JetStream default"
"""Beginning of the only text (10120) with which servers refuse publishes as well as streams."""


@check("stream_limits.configuration_refused_logged", lines_of="clients")
def configuration_refused_logged(logs: LogEvidence) -> Iterator[Finding]:
    """One finding for each application: servers do not log refused streams."""
    for burst in bursts(logs, *_REFUSED, subjects=client_of, calm=False):
        reason = burst.values("reason")
        what, effect = _ANY_REFUSED if _NO_TIER in reason else _STREAM_REFUSED
        yield finding_of(burst, f"{what} ({reason}), {burst.story}: {effect}", Severity.WARNING)
    for burst in bursts(logs, _EXISTS, subjects=client_of, calm=False):
        text = "it requests a stream that exists with other settings (10058)"
        yield finding_of(burst, f"{text}, {burst.story}: the stream stays as it is", Severity.INFO)


@check("stream_limits.configuration_refused_declared")
def configuration_refused_declared(
    manifests: Manifests,
    snapshots: SnapshotSeries | None,
    servers: Servers | None,
    connected: ConnectedServer | None,
    accounts: Accounts | None,
) -> Iterator[Finding]:
    """One finding for each stream, with all reasons why its configuration is refused.

    Beside a deployment also if it cannot be changed, its subjects are taken, or a limit of account or server is passed.
    """
    declared, deployed = Declarations(manifests), Deployed(snapshots)
    account = deployed.account_of(stream.name for stream in manifests.kept_streams())
    limits = ResourceLimits(account, manifests, snapshots, accounts, servers)
    for stream in manifests.kept_streams():
        release = release_for(deployed.stream(stream.name), servers, connected)
        refusals = list(_refusals(stream, declared, deployed, account, release))
        refusals += _beyond_limits(stream, deployed, limits, release)
        refusals = [refusal for refusal in refusals if refusal.field not in stream.unknown]
        dropped = [] if refusals else list(stream_refusals.dropped_fields(stream.config, release))
        if finding := verdict(stream, refusals, dropped, release) or deployed.doubt(stream, stream.name):
            yield finding
        elif unsure := indeterminate(stream, *stream.unknown):
            yield unsure
        elif deployed.seen and account is None:
            text = "several accounts have streams: whether its subjects are taken in its own account is not known"
            yield unknown(stream.subject, text, "use a login of the account that it is for")
        else:
            yield passed(stream.subject)


def _refusals(
    stream: DeclaredStream, declared: Declarations, deployed: Deployed, account: str | None, release: tuple[int, ...]
) -> Iterator[ServerRefusal]:
    current = deployed.stream(stream.name) if stream.planned_action is not PlannedAction.REPLACED else None
    if current and not stream.may_update:
        return
    config = stream_as_checked(stream.asked(current.config) if current else stream.config, release)

    def known(name: str) -> StreamConfig | None:
        """A stream of the same account, as it is declared, else as it is deployed."""
        deployed_stream = deployed.stream(name)
        return declared.config_of(stream.account, name) or (deployed_stream.config if deployed_stream else None)

    is_there = bool(deployed.streams(stream.name))
    yield from stream_refusals.of_stream(config, known, creating=deployed.seen and not is_there)
    if current:
        consumers = {consumer.name: consumer.config for consumer in current.consumers}
        yield from stream_refusals.of_change(config, current.config, consumers)
    held = current.config.subjects if current else ()
    wanted = tuple(subject for subject in config.subjects if subject not in held)
    yield from _overlaps(stream, wanted, declared, deployed, account)


def _beyond_limits(
    stream: DeclaredStream, deployed: Deployed, limits: ResourceLimits, release: tuple[int, ...]
) -> Iterator[ServerRefusal]:
    deployed_stream = deployed.stream(stream.name)
    if deployed.doubt(stream, stream.name):
        return
    if stream.planned_action is PlannedAction.REPLACED:
        replaced = deployed_stream.config if deployed_stream else None
        yield from limits.refusals(stream_as_checked(stream.config, release), None, replaced)
    elif deployed_stream is None or stream.may_update:
        asked = stream.asked(deployed_stream.config) if deployed_stream else stream.config
        yield from limits.refusals(
            stream_as_checked(asked, release), deployed_stream.config if deployed_stream else None
        )


def _overlaps(
    stream: DeclaredStream, subjects: tuple[str, ...], declared: Declarations, deployed: Deployed, account: str | None
) -> Iterator[ServerRefusal]:
    """Refusals of subjects that overlap with those of the same file, or with those that deployed streams keep."""
    others = declared.subjects_in_file(stream).near(subjects)
    if account is not None:
        for name, taken in deployed.subjects_of(account).near(subjects).items():
            kept = declared.config_of(stream.account, name)
            others.setdefault(name, tuple(text for text in taken if kept is None or text in kept.subjects))
    pairs = [
        (pair, name)
        for name, taken in sorted(others.items())
        if name != stream.name
        and (pair := next(((s, t) for s in subjects for t in taken if subjects_overlap(s, t)), None))
    ]
    for (subject, other), name in pairs[:_MAX_SHOWN]:
        yield ServerRefusal("subjects", f"its subject {subject!r} overlaps with {other!r} of stream {name}", 10065)
    if (more := len(pairs) - _MAX_SHOWN) > 0:
        result = f"its subjects overlap with those of {counted(more, 'more stream')}"
        yield ServerRefusal("subjects", result, 10065)
