"""What `jsdoctor fix` plans for the failures of each rule in its cases: a section of its golden file.

And what it plans where a person chooses another remedy: `fixtures/engine/chosen_remedies.txt`. `make golden` writes
both; whoever changes a rule or a remedy reads their diff.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import msgspec

from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.exchange import Sample
from jsdoctor.model.finding import Outcome, Subject
from jsdoctor.model.plan import Choice, Request, Step
from jsdoctor.redaction.raw_configs import raw_configs
from jsdoctor.remedy.offer import with_offers
from jsdoctor.remedy.operation import Operation
from jsdoctor.remedy.plan import Drafted, draft
from tests.support.evidence import FIXTURES, cases, edited_samples, evidence_of, samples_of
from tests.support.ruleset import actions, rules, run_rule

CHOSEN = FIXTURES / "engine" / "chosen_remedies.txt"
CHOICES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("JSD602", "stream.bound", {}),
    ("JSD602", "stream.set_max_age", {"max_age_s": 259_200}),
    ("JSD602", "stream.set_discard", {"discard": "new"}),
    ("JSD602", "stream.enable_deduplication", {"duplicate_window_s": 3_600}),
    ("JSD602", "stream.step_down", {}),
    ("JSD602", "stream.backup", {}),
    ("JSD607", "stream.unfreeze_sources", {}),
    ("JSD203", "stream.restore", {"backup": "/var/backups/ORDERS"}),
    ("JSD108", "stream.delete_first_message", {}),
    ("JSD403", "consumer.set_max_deliver", {"max_deliver": 5}),
    ("JSD403", "consumer.raise_inactive_threshold", {"inactive_threshold_s": 7_200}),
    ("JSD403", "consumer.pause", {"pause_until": "2026-11-22T18:00:00Z"}),
    ("JSD414", "consumer.resume", {}),
    ("JSD403", "consumer.step_down", {}),
    ("JSD404", "consumer.unpin", {}),
    ("JSD205", "consumer.reset", {"seq": 1}),
    ("JSD205", "consumer.recreate", {}),
    ("JSD409", "consumer.keep_dead_letters", {"into": "ALL", "seqs": [5, 7]}),
    ("JSD703", "server.remove_peer", {"unseen": "APP"}),
    ("JSD712", "cluster.balance", {}),
    ("JSD101", "cluster.step_down_meta", {}),
)
"""Remedies that a person may choose (`--remedy CODE=ACTION`), each with a rule to which it fits, and values."""


class PlannedCase(NamedTuple):
    """The plan for the failures of one case; `failures` is their number."""

    about: str
    evidence: EvidenceSet
    drafted: Drafted
    failures: int


def codes() -> list[str]:
    """The rules for whose failures there is more to plan than a list of commands for a person."""
    return [rule.code for rule in rules() if rule.remedy and isinstance(actions()[rule.remedy.action], Operation)]


@cache
def configs_of(base: str) -> dict[Subject, dict[str, Any]]:
    """The raw configurations of a recording."""
    return _configs(samples_of(base))


def _configs(samples: Iterable[Sample]) -> dict[Subject, dict[str, Any]]:
    return raw_configs([exchange for sample in samples for exchange in sample.exchanges])


def planned_cases(code: str, choices: Sequence[Choice] = ()) -> Iterator[PlannedCase]:
    """Every case of a rule that fails, each with the first of its recordings."""
    for case in {case["about"]: case for case in cases(code) if case["kind"] in ("fires", "above")}.values():
        evidence = evidence_of(case)
        results = with_offers(run_rule(code, evidence, case.get("params")).results, actions)
        failures = [result for result in results if result.finding.outcome is Outcome.FAIL]
        drafted = draft(failures, actions(), evidence, _configs(edited_samples(case)), choices)
        yield PlannedCase(case["about"], evidence, drafted, len(failures))


def lines_of(code: str) -> Iterator[str]:
    """The plans of all cases of a rule, if its failures can be planned for."""
    if code in codes():
        yield from ("", f"# What `jsdoctor fix` plans for {code} in each of its cases.")
        for planned in planned_cases(code):
            yield from ("", planned.about, *_drafted(planned.drafted))


def text_of_choices() -> str:
    """The plan of each choice for the first case in which it is possible, else the reasons against it."""
    lines = ["# What `jsdoctor fix` plans where a person chooses the remedy. `make golden` writes this file."]
    for code, action, values in CHOICES:
        lines += ["", f"--remedy {code}={action} {_json(values)}"]
        cases_of_code = list(planned_cases(code, (Choice(code, action, values),)))
        first = next((p for p in cases_of_code if any(s.action == action for s in p.drafted.steps)), cases_of_code[0])
        lines += [f"  {first.about}", *_drafted(first.drafted)]
    return "\n".join(lines) + "\n"


def _drafted(drafted: Drafted) -> Iterator[str]:
    for step in drafted.steps:
        yield from _step(step)
    for refused in drafted.refused:
        yield f"  not planned: {refused.code} {refused.subject.kind} {refused.subject.label}: {refused.reason}"


def _step(step: Step) -> Iterator[str]:
    yield f"  {step.id}. {step.action} ({step.operation}, {step.risk}) on {step.subject.kind} {step.subject.label}"
    yield f"     {step.effect}"
    yield from (f"     change {change.key}: {_json(change.before)} to {_json(change.after)}" for change in step.changes)
    for name in ("values", "tolerates", "preconditions", "findings", "needs"):
        if value := getattr(step, name):
            yield f"     {name} {_json(value)}"
    yield from (f"     loss {loss.text}" for loss in step.losses)
    yield from _requests("sends", step.requests)
    yield from (f"     $ {command}" for command in step.commands)
    yield from _requests("undo", step.undo)
    yield from (f"     proof {proof.code} {proof.subject.kind} {proof.subject.label}" for proof in step.proofs)
    yield f"     inverse {step.inverse or 'none'}, at most {step.patience_s} s"


def _requests(name: str, requests: Sequence[Request]) -> Iterator[str]:
    yield from (f"     {name} {request.subject} {_json(request.payload)}" for request in requests)


def _json(value: object) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


def write_choices() -> None:
    """Write the golden file of the chosen remedies."""
    CHOSEN.write_text(text_of_choices(), encoding="utf-8", errors="backslashreplace")
