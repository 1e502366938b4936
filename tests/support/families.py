"""The cases of rules by their kind of evidence: how each is read, and which cases a rule must have."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import msgspec

from jsdoctor.engine.select import find_rule
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.rule import Rule
from tests.support.evidence import FIXTURES, cases, evidence_of
from tests.support.log_cases import log_evidence_of, takes_logs
from tests.support.manifest_cases import manifest_evidence_of, takes_manifests
from tests.support.packet_cases import packet_evidence_of, takes_packets
from tests.support.rule_case import Case, listed
from tests.support.ruleset import rules

ROOT = FIXTURES.parent
REPEATED = 12
"""So often at least a log has each example: more than any rule asks for."""
_SERVER = re.compile(r"(\[\d+\] \d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d+ )\[")
_TEMPORARY = re.compile(r"[^\s'\"]*/jsdoctor-case-[^/]*/")
_ALWAYS = {"fires", "silent"}
_ALL = {"fires", "silent", "below", "above", "fixed"}


class Family(NamedTuple):
    """A kind of evidence: the cases of a rule with it, and what reads the evidence of one.

    `takes`: whether a check judges it. `required`: the kinds of cases that a rule with such a check has; `alone`: one
    without other checks. `notes`: a finding of severity info fails no case, unless the rule has it.
    """

    name: str
    cases: Callable[[str], list[Case]]
    evidence: Callable[[str, Case], EvidenceSet]
    takes: Callable[[str], bool]
    required: set[str]
    alone: set[str]
    notes: bool

    def requires(self, rule: Rule) -> set[str]:
        """The kinds of cases that a rule must have in this family."""
        taken = [self.takes(name) for name in rule.checks]
        return self.alone if all(taken) else self.required if any(taken) else set()


def _takes_state(name: str) -> bool:
    return not (takes_logs(name) or takes_manifests(name) or takes_packets(name))


FAMILIES = (
    Family("", cases, lambda _, case: evidence_of(case), _takes_state, _ALL, _ALL, notes=False),
    Family("log", partial(listed, table="log_case"), log_evidence_of, takes_logs, _ALWAYS, _ALWAYS, notes=True),
    Family(
        "manifest",
        partial(listed, table="manifest_case"),
        lambda _, case: manifest_evidence_of(case),
        takes_manifests,
        _ALWAYS,
        _ALWAYS,
        notes=False,
    ),
    Family(
        "packet",
        partial(listed, table="packet_case"),
        lambda _, case: packet_evidence_of(case),
        takes_packets,
        _ALWAYS,
        _ALL,
        notes=True,
    ),
)


class DeclaredCase(msgspec.Struct, frozen=True):
    """A case as its file declares it; `evidence` reads it. `family`: its kind of evidence, of examples none."""

    family: Family | None
    title: str
    declared: dict[str, Any]
    evidence: Callable[[], EvidenceSet]


def declared_cases(code: str) -> Iterator[DeclaredCase]:
    """The cases of a rule, none of them read."""
    for family in FAMILIES:
        for number, case in enumerate(family.cases(code), 1):
            name = f"{family.name} " if family.name else ""
            base = "" if family.name else f", {case.get('base', 'no recording')}"
            title = f"{name}{case['kind']} {number}{base}"
            yield DeclaredCase(family, title, case, partial(family.evidence, code, case))
    for case in _examples(find_rule(rules(), code)):
        yield DeclaredCase(None, "example", case, partial(log_evidence_of, code, case))


def without_temporary(text: str) -> str:
    """A text without the directories in which cases have files."""
    return _TEMPORARY.sub("", text)


def in_the_repository(text: str) -> str:
    """A text without the directories of this machine."""
    return without_temporary(text).replace(f"{ROOT}/", "")


def _examples(rule: Rule) -> Iterator[dict[str, Any]]:
    """A log of the example lines of each signature beside the log of a healthy server; then those of all signatures,
    from two servers, and from servers that start just then.
    """
    for signature in rule.signatures:
        yield {"about": signature.name, "text": {"n1.log": _repeated(signature.examples)}, "beside": True}
    lines = [line for signature in rule.signatures for line in signature.examples]
    if len(lines) > 1:
        yield {"about": "all signatures", "text": {"n1.log": _repeated(lines), "n2.log": _repeated(lines[1:])}}
    heads = [(line, match[1]) for line in lines if (match := _SERVER.match(line))]
    starting = {f"s{number}.log": _while_starting(*head) for number, head in enumerate(heads, 1)}
    if starting:
        yield {"about": "all signatures, while the server starts", "text": starting, "beside": True}


def _repeated(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" * (REPEATED + more) for more, line in enumerate(lines))


def _while_starting(line: str, head: str) -> str:
    return f"{head}[INF] Starting nats-server\n{line}\n{line}\n{head}[INF] Server is ready\n"
