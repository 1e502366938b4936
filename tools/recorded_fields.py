"""What jsdoctor says of changes of fields and what servers did (`fixtures/fields`, by `tools.record_fields`).

`make golden` writes `fixtures/fields/results.txt`: every different finding, with the field that its evidence shows, at
the first change that gives it, versions and starts in their order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec.structs import replace

from jsdoctor.engine.runner import evaluate
from jsdoctor.engine.select import select_rules
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.exchange import Endpoint
from jsdoctor.model.finding import Confidence, Outcome, Severity
from jsdoctor.model.manifest import Manifests
from jsdoctor.model.report import Result
from jsdoctor.replies.assemble import assemble
from jsdoctor.sources.manifests.load import load_manifests
from tests.servers import VERSIONS
from tests.support.evidence import read_samples
from tests.support.ruleset import checks, rules
from tools.field_changes import FieldChange
from tools.field_trial import CODES, changed, is_refusal, manifest
from tools.record_fields import DIRECTORY, changes, start_of

PATH = DIRECTORY / "results.txt"

Json = dict[str, Any]
_PLACE = re.compile(r"line (\d+), column \d+")
_KEY = re.compile(r'"(\w+)":')
_CODE = re.compile(r"\(error (\d+)\)")
_UNREADABLE = 10025
"""The error code for JSON that a server cannot read: the readers of manifests give their own reason for that."""


@dataclass(frozen=True)
class Answer:
    """What the server did. `code`: of its refusal, 0 if it took the change; `deleted`: messages that were gone then."""

    code: int = 0
    message: str = ""
    deleted: int = 0


@dataclass(frozen=True)
class Judged:
    """One change, the server's answer, and the findings of jsdoctor."""

    change: FieldChange
    answer: Answer
    results: tuple[Result, ...]
    manifest: str

    @property
    def refused(self) -> bool:
        """Whether jsdoctor says that the change will be refused."""
        return any(is_refusal(r.rule.code, r.severity.value, r.finding.message) for r in self._failed())

    @property
    def undecided(self) -> bool:
        """Whether jsdoctor says that it does not know."""
        return any(r.finding.outcome is Outcome.NOT_EVALUATED for r in self.results)

    @property
    def codes(self) -> list[int]:
        """The error codes that jsdoctor names."""
        codes = [_CODE.findall(r.finding.message) for r in self._failed() if r.severity is Severity.ERROR]
        return [int(code) for several in codes for code in several]

    @property
    def mistake(self) -> str:
        """How a gate on these findings would have been wrong; empty: it is right."""
        deletions = [r.finding for r in self._failed() if r.rule.code == "JSD615"]
        if self.refused and not self.answer.code:
            return "falsely refused"
        if self.answer.code:
            return "" if self.refused or self.undecided else f"not foreseen: {self.answer.code} {self.answer.message}"
        exact = [
            deletion.measured
            for deletion in deletions
            if deletion.confidence is Confidence.HIGH and deletion.measured is not None
        ]
        if exact and exact != [self.answer.deleted]:
            return f"{exact[0]} deletions foreseen, {self.answer.deleted} made"
        if bool(deletions) != bool(self.answer.deleted) and not self.undecided:
            return f"{'some' if deletions else 'no'} deletions foreseen, {self.answer.deleted} made"
        return ""

    @property
    def wrong_code(self) -> bool:
        """Whether the one reason that jsdoctor gives has another code than that of the server."""
        known = self.answer.code not in (0, _UNREADABLE) and len(self.codes) == 1
        return known and all("; " not in r.finding.message for r in self._failed()) and self.codes != [self.answer.code]

    def lines(self) -> Iterator[str]:
        """The findings, in the order of the rules."""
        for result in self._failed():
            finding, name = result.finding, self.change.name
            amount = f" [{finding.measured}, {finding.confidence.value}]" if finding.measured is not None else ""
            fields = ", ".join(dict.fromkeys(self._field(item.path) for item in finding.evidence))
            text = f"{result.rule.code} {result.severity.value}: {finding.message}{amount} ({fields})"
            yield text.replace(self.change.asset, "{asset}").replace(name, "{n}")

    def _field(self, path: str) -> str:
        """What a place in the manifest is the place of; the path of what is deployed stays."""
        place = _PLACE.fullmatch(path)
        if not place:
            return path
        match = _KEY.match(self.manifest.split("\n")[int(place[1]) - 1])
        return match[1] if match else "the whole"

    def _failed(self) -> list[Result]:
        return [r for r in self.results if r.finding.outcome is Outcome.FAIL]


def judged(version: str, start: str) -> list[Judged]:
    """Every change from a start, judged by jsdoctor beside the recorded deployment."""
    selected, deployment = select_rules(rules(), CODES.split(",")), _deployment(version)
    return [
        Judged(change, answer, evaluate(selected, checks(), deployment.joined(manifests), {}).results, text)
        for change, answer, manifests, text in _declared(version, start)
    ]


def starts(version: str) -> list[str]:
    """All starts that this version has."""
    return list(_answers(version)["tried"])


def written() -> str:
    """The content of the golden file for what jsdoctor says now."""
    known: set[str] = set()
    sections = []
    for version in VERSIONS:
        for start in starts(version):
            new = {line: setting for line, setting in findings(judged(version, start)).items() if line not in known}
            known.update(new)
            if new:
                lines = [f"{setting}\n  {line}" for line, setting in new.items()]
                sections.append("\n".join([f"# {version}, {start}", *lines]) + "\n")
    return "\n".join(sections)


def findings(changes: Iterable[Judged]) -> dict[str, str]:
    """Every different finding on some changes, with the first of them."""
    setting_by_line: dict[str, str] = {}
    for change in changes:
        for line in change.lines():
            setting_by_line.setdefault(line, change.change.setting)
    return setting_by_line


@cache
def golden() -> dict[str, dict[str, str]]:
    """The content of the golden file: findings with their changes, by version and start."""
    settings: dict[str, dict[str, str]] = {}
    for section in PATH.read_text(encoding="utf-8").split("\n\n"):
        title, *lines = section.rstrip("\n").split("\n")
        settings[title.removeprefix("# ")] = dict(zip((line.strip() for line in lines[1::2]), lines[::2], strict=True))
    return settings


@cache
def known() -> frozenset[str]:
    """Every finding of the golden file."""
    return frozenset(line for section in golden().values() for line in section)


def write_all() -> None:
    """Write the golden file."""
    PATH.write_text(written(), encoding="utf-8")


@cache
def _answers(version: str) -> Json:
    answers: Json = json.loads((DIRECTORY / f"{version}.answers.json").read_text(encoding="utf-8"))
    return answers


@cache
def _deployment(version: str) -> EvidenceSet:
    return assemble(read_samples(DIRECTORY / f"{version}.json"))


@cache
def _stored(version: str) -> dict[tuple[str, str], Json]:
    """Configurations of deployed streams, and of their consumers `reader`, by stream and kind."""
    (sample,) = read_samples(DIRECTORY / f"{version}.json")
    listed = {Endpoint.STREAM_LIST: "streams", Endpoint.CONSUMER_LIST: "consumers"}
    configurations: dict[tuple[str, str], Json] = {}
    for exchange in sample.exchanges:
        for asset in json.loads(exchange.body).get(listed.get(exchange.endpoint, "")) or []:
            if exchange.endpoint is Endpoint.STREAM_LIST:
                configurations["stream", asset["config"]["name"]] = asset["config"]
            elif asset["name"] == "reader":
                configurations["consumer", asset["stream_name"]] = asset["config"]
    return configurations


@cache
def _by_start(version: str) -> dict[str, list[FieldChange]]:
    by_start: dict[str, list[FieldChange]] = {}
    for change in changes(version, one_name=True):
        by_start.setdefault(start_of(change), []).append(change)
    return by_start


@cache
def _declared(version: str, start: str) -> Sequence[tuple[FieldChange, Answer, Manifests, str]]:
    """The changes from a start with their answers, and each as the manifest that says it, read and as text."""
    every, kept = _answers(version), _by_start(version)[start]
    answers = every["answers"].get(start, {})
    assert every["tried"][start] == len(kept), f"{start} has other changes than recorded: tools.record_fields"
    assert answers.keys() <= {change.setting for change in kept}, f"{start} has other values: tools.record_fields"
    declared = []
    with TemporaryDirectory(prefix="jsdoctor-case-") as directory:
        file = Path(directory) / "change.json"
        for change in kept:
            config = change.after
            if change.before is not None:
                config = changed(_stored(version)["consumer" if change.of_consumer else "stream", change.name], change)
            text = json.dumps(manifest(change, config), indent=0)
            file.write_text(text)
            manifests = load_manifests([str(file)])
            if counts := every["messages"].get(change.name):
                manifests = replace(manifests, subject_counts={change.name: counts})
            declared.append((change, _answer(answers.get(change.setting, 0)), manifests, text))
    return declared


def _answer(recorded: str | int) -> Answer:
    if isinstance(recorded, int):
        return Answer(deleted=recorded)
    code, _, message = recorded.partition(" ")
    return Answer(int(code), message)
