"""Every case of a rule with its evidence, whatever its kind of evidence: what golden files are written from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import msgspec

from jsdoctor.engine.select import find_rule
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.rule import Rule
from tests.support.evidence import FIXTURES, cases, evidence_of
from tests.support.log_cases import log_cases, log_evidence_of
from tests.support.manifest_cases import manifest_cases, manifest_evidence_of
from tests.support.packet_cases import packet_cases, packet_evidence_of
from tests.support.ruleset import rules

ROOT = FIXTURES.parent
REPEATED = 12
"""So often at least a log has each example: more than any rule asks for."""
_SERVER = re.compile(r"(\[\d+\] \d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d+ )\[")
_TEMPORARY = re.compile(r"[^\s'\"]*/jsdoctor-case-[^/]*/")


class DeclaredCase(msgspec.Struct, frozen=True):
    """A case as its file declares it. `family`: its kind of evidence; `evidence` reads it."""

    family: str
    title: str
    declared: dict[str, Any]
    evidence: Callable[[], EvidenceSet]


def declared_cases(code: str) -> Iterator[DeclaredCase]:
    """The cases of a rule, none of them read."""
    of_log = partial(log_evidence_of, code)
    readers: dict[str, tuple[list[dict[str, Any]], Callable[[dict[str, Any]], EvidenceSet]]] = {
        "": (cases(code), evidence_of),
        "log ": (log_cases(code), of_log),
        "manifest ": (manifest_cases(code), manifest_evidence_of),
        "packet ": (packet_cases(code), packet_evidence_of),
    }
    for family, (declared, read) in readers.items():
        for number, case in enumerate(declared, 1):
            base = "" if family else f", {case.get('base', 'no recording')}"
            title = f"{family}{case['kind']} {number}{base}"
            yield DeclaredCase(family, title, case, partial(read, case))
    for case in _examples(find_rule(rules(), code)):
        yield DeclaredCase("example", "example", case, partial(of_log, case))


def cases_of(code: str) -> Iterator[tuple[str, dict[str, Any], EvidenceSet]]:
    """Name, declaration and evidence of each case of a rule."""
    for case in declared_cases(code):
        yield case.title, case.declared, case.evidence()


def in_the_repository(text: str) -> str:
    """A text without the directories of this machine."""
    return _TEMPORARY.sub("", text).replace(f"{ROOT}/", "")


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
