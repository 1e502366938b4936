"""Log evidence for rule tests: real logs of real servers, and small edits of them.

In `fixtures/rules/<CODE>/cases.toml` these are the tables `log_case`:

    [[log_case]]
    kind = "fires"                     # fires | silent | below | above | fixed | unknown
    about = "the majority is lost and does not come back"
    like = "..."                       # an earlier case by its `about`: this has all of it, and more
    files = ["partition/n*.log"]       # below fixtures/rules/<CODE>/logs, else below fixtures/logs (globs); one is
                                       # named by its file name, so that n1.log and n2.log are two servers
    text = { "app.log" = '''...''' }   # instead, or besides: small logs in full
    zone = "UTC"                       # of all of them; none by default: local time of an unknown zone
    servers = { "n1.log" = "n1" }      # what the user would say with --server-name
    beside = true                      # with the log of a healthy server, so that few lines are not an excerpt
    params = { repeated = 2 }          # optional overrides, in the parameter's unit (durations as text)
    [[log_case.edit]]                      # edits, in order; `files` narrows them to some (globs)
    files = ["n1.log"]
    drop = "Router connection"         # lines that match are taken away
    keep = "NO quorum"                 # lines that do not match are taken away
    until = "12:00:05"                 # the log ends before the first line that matches
    since = "12:00:05"                 # the log begins with the first line that matches
    replace = ["took 1.2s", "took 12s"]    # text by text (Python's re.sub) in every line
    append = "[1] 2026/11/21 ..."      # a line (or several) at the end
    [[log_case.expect]]                    # exactly the failures of this rule; none for silent, below, fixed
    subject = "APP/ORDERS/billing"     # the label's parts joined by "/"
    severity = "error"                 # default: the rule's own
    outcome = "fail"                   # fail (default) | not_evaluated

Only the checks of log evidence run on these cases: there is no other evidence.
"""

import json
import re
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from jsdoctor.logs.lines.matcher import Matcher
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.evidence_kinds import KINDS as EVIDENCE_KINDS
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.log_scan import ScanSettings
from jsdoctor.sources.archives.discover import discover
from jsdoctor.sources.archives.selected import selected_logs
from jsdoctor.sources.rule_pages import known_lines
from tests.logs.corpus import evidence
from tests.support.ruleset import checks, rules

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures"
LOGS = FIXTURES / "logs"
HEALTHY = LOGS / "healthy"
BESIDE = HEALTHY / "2.15.1" / "one-node" / "n1.log"

Json = dict[str, Any]


@cache
def settings() -> ScanSettings:
    """Every signature of every rule, and the known lines."""
    return ScanSettings(signatures=(*(s for rule in rules() for s in rule.signatures), *known_lines()))


@cache
def matcher() -> Matcher:
    """What finds them. To build it takes longer than to read the log of a case."""
    return Matcher(settings().signatures)


def logged_rules() -> list[str]:
    """Codes of the rules with a check of log evidence."""
    return [rule.code for rule in rules() if any(takes_logs(name) for name in rule.checks)]


def takes_logs(name: str) -> bool:
    """Whether this check works on log evidence."""
    return LogEvidence in checks()[name].required.values()


def log_evidence_of(code: str, case: Json, selected: bool = False) -> EvidenceSet:
    """What a run with `--logs` alone has. Many rules look at the same logs: each reading is kept.

    `selected`: only the lines that a bundle keeps are there.
    """
    contents = {key: value for key, value in case.items() if key not in ("kind", "about", "expect", "params")}
    own = any((FIXTURES / "rules" / code / "logs").glob(pattern) for pattern in case.get("files", []))
    return _evidence_of(code if own else "", json.dumps(contents, sort_keys=True), selected)


@cache
def _evidence_of(code: str, contents: str, selected: bool) -> EvidenceSet:
    case: Json = json.loads(contents)
    with TemporaryDirectory(prefix="jsdoctor-case-") as directory:
        for name, original in _files(code, case).items():
            lines = original
            for edit in case.get("edit", []):
                if any(fnmatch(name, pattern) for pattern in edit.get("files", ["*"])):
                    lines = _edited(lines, edit)
            (Path(directory) / name).write_text("".join(f"{line}\n" for line in lines), errors="surrogateescape")
        if case.get("beside"):
            (Path(directory) / "beside.log").write_bytes(BESIDE.read_bytes())
        if selected:
            select_lines(Path(directory))
        return only_logs(
            evidence(
                [directory],
                settings=settings(),
                matcher=matcher(),
                zones=[("*", case["zone"])] if "zone" in case else [],
                servers=[(f"*{name}", server) for name, server in case.get("servers", {}).items()],
            )
        )


def select_lines(directory: Path) -> int:
    """Leave only the lines that a bundle keeps; how many lines are gone."""
    logs = selected_logs(settings(), discover([str(directory)]), lambda _: None)
    for log in logs:
        (directory / log.path).write_bytes(log.text)
    return sum(log.lines - log.kept for log in logs)


def evidence_of_files(*paths: Path) -> EvidenceSet:
    """Files or directories as they are."""
    return only_logs(evidence(paths, settings=settings()))


def only_logs(logs: LogEvidence) -> EvidenceSet:
    """Log evidence and nothing else."""
    gap = Gap(kind="access", subject=CLUSTER, reason="only logs were read", how_to_get="name a server", requested=False)
    return EvidenceSet({LogEvidence: logs}, {kind: gap for kind in EVIDENCE_KINDS if kind is not LogEvidence})


def _files(code: str, case: Json) -> dict[str, list[str]]:
    lines_by_file = {name: text.strip("\n").split("\n") for name, text in case.get("text", {}).items()}
    for pattern in case.get("files", []):
        paths = sorted((FIXTURES / "rules" / code / "logs").glob(pattern)) or sorted(LOGS.glob(pattern))
        assert paths, f"{code}: no file is named {pattern}"
        for path in paths:
            assert path.name not in lines_by_file, f"{code}: two files are named {path.name}"
            lines_by_file[path.name] = path.read_text(errors="surrogateescape").splitlines()
    assert lines_by_file, f"{code}: a case without logs"
    return lines_by_file


def _edited(lines: list[str], edit: Json) -> list[str]:
    for action, value in edit.items():
        match action:
            case "drop":
                lines = [line for line in lines if not re.search(value, line)]
            case "keep":
                lines = [line for line in lines if re.search(value, line)]
            case "until":
                lines = lines[: _first(lines, value)]
            case "since":
                lines = lines[_first(lines, value) :]
            case "replace":
                lines = [re.sub(value[0], value[1], line) for line in lines]
            case "append":
                lines = [*lines, *value.strip("\n").split("\n")]
            case "files":
                pass
            case _:
                raise ValueError(f"unknown edit {action!r}")
    return lines


def _first(lines: list[str], pattern: str) -> int:
    line_number = next((number for number, line in enumerate(lines) if re.search(pattern, line)), None)
    assert line_number is not None, f"no line matches {pattern!r}"
    return line_number


def healthy_logs() -> list[Path]:
    """Directories with logs of clusters that nothing was wrong with, whatever was done to them."""
    return sorted(path for path in HEALTHY.glob("*/*") if path.is_dir())
