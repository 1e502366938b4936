"""Collects what a request names, and judges it by the rules that it can decide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from jsdoctor.app.judging import Judging
from jsdoctor.app.messages import LOGGED, Messages
from jsdoctor.checks.registry import Check
from jsdoctor.configuration.file import Configuration
from jsdoctor.model.evidence import Evidence, EvidenceSet, Gaps
from jsdoctor.model.logins import Logins
from jsdoctor.model.problems import Problem
from jsdoctor.model.report import EvidenceOrigin, Report
from jsdoctor.model.rule import Rule
from jsdoctor.model.suppression import Suppressions
from jsdoctor.sources.base import Collection, Need, Run, Source
from jsdoctor.sources.collect import collect as collect_from
from jsdoctor.sources.listing import sources_of
from jsdoctor.sources.request import EvidenceRequest

Kinds: TypeAlias = Sequence[type[Evidence]]


class Collected(msgspec.Struct, frozen=True):
    """The evidence of a run, its origins, a headline, and the problem that prevented access to a source, if any.

    `saw_nothing`: no source gave anything to judge. `is_live`: the deployment can be queried again.
    """

    judging: Judging
    evidence: EvidenceSet
    sources: tuple[EvidenceOrigin, ...]
    headline: str
    problem: Problem | None
    saw_nothing: bool
    logins: Logins
    is_live: bool

    def report(self) -> Report:
        """Judge the evidence by the selected rules."""
        return self.judging.report(self.evidence, self.sources, self.headline, self.logins)


def collect(request: EvidenceRequest, judging: Judging, messages: Messages = LOGGED) -> Collected:
    """Collect the evidence for the selected rules. Without a deployment, only the rules that have evidence are kept."""
    checks = judging.rulebook.checks
    needed = tuple(checks[name] for rule in judging.selection.rules for name in rule.checks)
    need = Need(needed, judging.rulebook.rules)
    collection = collected(request, need, judging.config, messages, quiet=judging.request.quiet)
    return Collected(
        judging if collection.deployed else _decidable(judging, collection),
        collection.evidence,
        collection.origin,
        collection.headline,
        collection.problem,
        collection.saw_nothing,
        collection.logins,
        collection.settings is not None,
    )


def collected(
    request: EvidenceRequest,
    need: Need,
    config: Configuration,
    messages: Messages,
    *,
    quiet: bool,
    sources: Sequence[Source] | None = None,
) -> Collection:
    """Collect what is needed from `sources`, by default those of the request, and show progress."""
    with messages.progress(quiet) as show:
        run = Run(config, show, messages.notice, request.window, request.reader, request.events)
        return collect_from(sources_of(request) if sources is None else sources, need, run)


def need_of(required: Kinds, optional: Kinds = (), rules: Sequence[Rule] = ()) -> Need:
    """The need of a command that evaluates no rule: of a check that requires and can use these kinds of evidence."""
    needed, useful = ({kind.__name__: kind for kind in kinds} for kinds in (required, optional))
    return Need((Check("", lambda: iter(()), needed, useful, takes_params=False),), tuple(rules))


def _decidable(judging: Judging, collection: Collection) -> Judging:
    """The same without rules that no evidence and no gap here can decide. Rules selected by name stay."""
    checks, selection = judging.rulebook.checks, judging.selection
    available = {*collection.kinds, Gaps, Suppressions}
    kept = tuple(
        rule
        for rule in selection.rules
        if rule.code in selection.named or any(available & set(checks[name].kinds) for name in rule.checks)
    )
    return replace(judging, selection=replace(selection, rules=kept))
