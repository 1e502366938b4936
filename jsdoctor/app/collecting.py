"""Collects all requested evidence of a run into one set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from jsdoctor.app.beside import BesideRead
from jsdoctor.app.evidence_request import EvidenceRequest
from jsdoctor.app.judging import Judging
from jsdoctor.app.logs.options import LogRequest
from jsdoctor.app.messages import LOGGED, Messages, Show
from jsdoctor.app.unrecognised import with_gaps
from jsdoctor.collect.problems import Problem, UsageProblem
from jsdoctor.model.evidence import Evidence, EvidenceSet, Gaps
from jsdoctor.model.evidence_kinds import KINDS
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.logins import NO_LOGINS, Logins
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.model.report import Report, Source
from jsdoctor.model.suppression import Suppressions

if TYPE_CHECKING:
    from jsdoctor.collect.bundle.read import Captured


class Collected(msgspec.Struct, frozen=True):
    """The evidence, its sources, a line on it, and the problem that prevented access to a deployment, if any.

    `saw_nothing`: there is nothing to judge, neither of a deployment nor beside it.
    """

    judging: Judging
    evidence: EvidenceSet
    sources: tuple[Source, ...]
    headline: str
    problem: Problem | None = None
    saw_nothing: bool = False
    logins: Logins = NO_LOGINS

    def report(self) -> Report:
        """The report of the selected rules on it."""
        return self.judging.report(self.evidence, self.sources, self.headline, self.logins)


def collect(request: EvidenceRequest, judging: Judging, messages: Messages = LOGGED) -> Collected:
    """Collect the evidence for the selected rules. Without a deployment, only the rules that have evidence are kept."""
    captured: Captured | None = None
    if request.window is not None and not _has_times(request):
        raise UsageProblem("--since and --until narrow logs and history, and neither is given", "add --logs PATH")
    if request.is_in_metrics:
        collected = _in_metrics(request, judging, messages)
    elif request.names_a_deployment:
        from jsdoctor.app.deployment import read_deployment

        read = read_deployment(request, judging, messages)
        gathered, evidence = read.gathered, read.evidence
        captured = gathered.bundle
        if request.packets and evidence.get(PacketEvidence) is not None:
            raise UsageProblem(f"{request.bundle} has packets, and --pcap names others", "judge them apart")
        saw_nothing = not request.beside and not any(sample.exchanges for sample in gathered.samples)
        collected = Collected(
            judging, evidence, gathered.sources, read.headline, gathered.problem, saw_nothing, gathered.logins
        )
        if gathered.has_logs_alone:
            collected = replace(
                _without_deployment(judging, {**request.beside, LogEvidence: "logs"}), sources=gathered.sources
            )
    else:
        collected = _without_deployment(judging, request.beside)
    collected = replace(collected, evidence=with_gaps(collected.evidence, request.unrecognised))
    with (
        messages.progress(judging.request.quiet) as show,
        _with_logs(request, judging, captured, show) as logs_to_read,
    ):
        if request.window is not None and request.bundle is not None and logs_to_read is None and not request.history:
            raise UsageProblem(f"--since and --until narrow logs, and {request.bundle} has none", "leave them out")
        request = replace(request, logs=logs_to_read)
        for more in (*_before(request, collected, show), *_beside(request, judging, show, messages)):
            evidence = collected.evidence.joined(more.evidence, more.gaps)
            evidence = evidence.without(*more.absent) if more.absent else evidence
            reported = "; ".join(filter(None, [collected.headline, more.headline]))
            collected = replace(
                collected, evidence=evidence, sources=(*collected.sources, *more.sources), headline=reported
            )
            if more.problem is not None and collected.problem is None:
                alone = request.is_only_loki
                collected = replace(collected, problem=more.problem, saw_nothing=alone)
        if request.manifests:
            from jsdoctor.app.manifest_subjects import with_subject_counts

            counted = with_subject_counts(collected.evidence, request, judging.config)
            collected = replace(collected, evidence=counted)
    return collected


def _judges_logs(judging: Judging) -> bool:
    checks = judging.rulebook.checks
    return any(LogEvidence in checks[name].kinds for rule in judging.selection.rules for name in rule.checks)


def _has_times(request: EvidenceRequest) -> bool:
    """Whether there is something that a time window narrows."""
    return bool(request.logs or request.loki or request.kube or request.history or request.bundle)


@contextmanager
def _with_logs(
    request: EvidenceRequest,
    judging: Judging,
    captured: Captured | None,
    show: Show,
) -> Iterator[LogRequest | None]:
    """The logs that were given, of the bundle, of Loki and of Kubernetes; these are files while the context lasts."""
    with ExitStack() as files:
        logs = request.logs
        if captured is not None and captured.has_logs:
            from jsdoctor.app.logs.captured import with_captured_logs

            logs = files.enter_context(with_captured_logs(logs, captured, str(request.bundle), request.window))
        if request.loki is not None or (request.kube is not None and _judges_logs(judging)):
            from jsdoctor.app.connection import resolve_connection
            from jsdoctor.app.log_services import with_service_logs

            settings = partial(resolve_connection, request.connection, judging.config)
            logs = files.enter_context(with_service_logs(request, settings, logs, request.window, show))
        yield logs


def _in_metrics(request: EvidenceRequest, judging: Judging, messages: Messages) -> Collected:
    """The deployment as Prometheus shows it."""
    from jsdoctor.app.connection import resolve_connection
    from jsdoctor.app.prometheus.reading import read_deployment

    given = [name for name in ("ntp", "scan", "host", "samples", "interval_s") if getattr(request, name)]
    if given or request.prometheus is None:
        option = given[0].removesuffix("_s") if given else "prometheus"
        raise UsageProblem(f"--{option} needs a connection, and --prometheus alone makes none", "add --context NAME")
    settings = resolve_connection(request.connection, judging.config)
    with messages.progress(judging.request.quiet) as show:
        read = read_deployment(request.prometheus, settings, show)
    return Collected(judging, read.evidence, (read.source,), read.headline)


def _before(request: EvidenceRequest, collected: Collected, show: Show) -> list[BesideRead]:
    """Earlier samples of the deployment."""
    if request.prometheus is not None and not request.is_in_metrics:
        from jsdoctor.app.connection import resolve_connection
        from jsdoctor.app.prometheus.reading import read_history

        settings = resolve_connection(request.connection, collected.judging.config)
        return read_history(request.prometheus, settings, collected.evidence, show)
    if request.history is None:
        return []
    from jsdoctor.app.history_reading import earlier_samples

    return earlier_samples(request.history, collected.evidence, show, request.window)


def _beside(request: EvidenceRequest, judging: Judging, show: Show, messages: Messages) -> list[BesideRead]:
    """Evidence beside a deployment; the module that reads each kind is imported only if that kind is requested."""
    read = []
    if request.logs is not None:
        from jsdoctor.app.logs.reading import read_logs

        read.append(read_logs(request.logs, judging.rulebook.rules, show, messages.notice))
    if request.manifests:
        from jsdoctor.app.manifest_reading import read_manifests

        read.append(read_manifests(request.manifests, show))
    if request.packets:
        from jsdoctor.app.packets.reading import read_packets

        read.append(read_packets(request.packets, show))
    return read


def _without_deployment(judging: Judging, beside: Mapping[type[Evidence], str]) -> Collected:
    """Nothing yet, for evidence of these kinds alone, each with the word for it."""
    return Collected(_told_by(judging, beside), _nothing_but(beside), (), "")


def _told_by(judging: Judging, beside: Mapping[type[Evidence], str]) -> Judging:
    """Keep the selected rules that this evidence, or its gaps, can decide; and those selected by name."""
    checks, selection = judging.rulebook.checks, judging.selection
    telling = {*beside, Gaps, Suppressions}
    kept = tuple(
        rule
        for rule in selection.rules
        if rule.code in selection.named or any(telling & set(checks[name].kinds) for name in rule.checks)
    )
    return replace(judging, selection=replace(selection, rules=kept))


def _nothing_but(beside: Mapping[type[Evidence], str]) -> EvidenceSet:
    """No evidence yet, and why there will be none of a deployment."""
    names = " and ".join(beside.values())
    gap = Gap(
        kind="access",
        subject=CLUSTER,
        reason=f"only {names} were read",
        how_to_get=f"name a deployment beside them: jsdoctor check -s URL or --bundle FILE, with the {names}",
        requested=False,
    )
    return EvidenceSet({Gaps: Gaps(())}, dict.fromkeys(KINDS, gap))
