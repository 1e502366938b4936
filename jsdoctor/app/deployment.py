"""Reading a deployment: live, from a bundle, or as its replies were pasted."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import msgspec

from jsdoctor.app.connection import resolve_logins
from jsdoctor.app.evidence import Gathered, emptied, gather_bundle, gather_live
from jsdoctor.app.evidence_request import EvidenceRequest
from jsdoctor.app.headline import headline
from jsdoctor.app.judging import Judging
from jsdoctor.app.messages import Messages
from jsdoctor.app.sampling_plan import pace
from jsdoctor.collect.problems import UsageProblem
from jsdoctor.engine.planner import plan_collection, plan_scan
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.parse.assemble import assemble
from jsdoctor.parse.pasted.sample import Pasted


@dataclass(frozen=True, slots=True)
class DeploymentRead:
    """What was gathered of it, without the replies themselves; the evidence in them, and a line on it."""

    gathered: Gathered
    evidence: EvidenceSet
    headline: str


def read_deployment(request: EvidenceRequest, judging: Judging, messages: Messages) -> DeploymentRead:
    """Read it once for all selected rules. Raises `UsageProblem` where options contradict."""
    gathered, pasted = _gathered(request, judging, messages)
    evidence = assemble(gathered.samples)
    gathered = replace(gathered, samples=emptied(gathered.samples))
    if pasted is None:
        return DeploymentRead(gathered, evidence, headline(evidence, gathered.samples, gathered.captured_at))
    from jsdoctor.parse.pasted.partial import with_unseen

    evidence = with_unseen(evidence, [pasted])
    return DeploymentRead(gathered, evidence, headline(evidence, (), gathered.captured_at))


def _gathered(request: EvidenceRequest, judging: Judging, messages: Messages) -> tuple[Gathered, Pasted | None]:
    """The samples; for pasted evidence, also the fields that the paste does not show."""
    if not request.pasted:
        return _gather(request, judging, messages), None
    if request.bundle is not None:
        raise UsageProblem(
            f"{request.bundle} and {request.pasted[0].name} both describe a deployment", "judge them one by one"
        )
    _refuse_live_options(request)
    from jsdoctor.app.pasted_reading import gather_pasted

    return gather_pasted(request.pasted)


def _gather(request: EvidenceRequest, judging: Judging, messages: Messages) -> Gathered:
    quiet = judging.request.quiet
    if request.bundle is not None:
        _refuse_live_options(request)
        with messages.progress(quiet) as show:
            show(f"reading {request.bundle}")
            return gather_bundle(request.bundle)
    config = judging.config
    logins = resolve_logins(request.connection, config)
    checks = judging.rulebook.checks
    needed = [checks[name] for rule in judging.selection.rules for name in rule.checks]
    paced = pace(request.samples, request.interval_s, config)
    ntp = request.ntp or config.ntp or ()
    plan = plan_collection(needed, *paced, logins[0].timeout_s, ntp, host=request.host)
    plan = msgspec.structs.replace(plan_scan(plan, needed, request.scan, request.digests), keep_bodies=False)
    monitor = request.monitor or config.monitor or ()
    with messages.progress(quiet) as show:
        if request.kube is None:
            return gather_live(logins, monitor, plan, show)
        from jsdoctor.app.kube.reading import gather_through_kube

        return gather_through_kube(request.kube, logins, monitor, plan, show)


def _refuse_live_options(request: EvidenceRequest) -> None:
    """Refuse options of a connection beside a bundle: they would be ignored."""
    given = [f.name for f in fields(request.connection) if getattr(request.connection, f.name) not in (None, False)]
    given += [name for name in ("monitor", "kube", "ntp", "scan", "host", "samples") if getattr(request, name)]
    given += ["interval"] if request.interval_s is not None else []
    if given:
        names = " and ".join(f"--{name.replace('_', '-')}" for name in given)
        raise UsageProblem(
            f"{'--bundle' if request.bundle else 'a file'} judges what was captured and connects to nothing:"
            f" {names} cannot be given with it",
            "leave one of them away",
        )
