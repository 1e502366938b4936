"""The commands that are measured, and proof that each did the whole job: a fast answer about less is no answer."""

import re
import sysconfig
import zipfile
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bench.process import CannotMeasureError, Run, run
from tests.servers import ROOT

NATS = ROOT / ".cache" / "bin" / "nats"
JSDOCTOR = Path(sysconfig.get_path("scripts")) / "jsdoctor"
NO_WAITING = ("--interval", "1ms")
"""Two samples back to back: the same work as by default, without the two seconds between them."""

FORMATS = ("text", "html", "sarif", "junit")
"""What a report is written as, beside JSON, which is measured everywhere."""

_GATHER_ATTEMPTS = 4
_FOUND_SOMETHING_OR_NOTHING = (0, 1)
_SEEN = re.compile(r"([\d,]+) streams?, ([\d,]+) consumers?, ")


class _Summary(msgspec.Struct):
    headline: str
    findings: dict[str, int]


class _Rule(msgspec.Struct):
    outcome: str


class _Report(msgspec.Struct):
    summary: _Summary
    rules: list[_Rule]


class _Analysis(msgspec.Struct):
    outcomes: dict[str, int]


@dataclass(frozen=True, slots=True)
class Checked:
    """A run of `jsdoctor check --format json`."""

    run: Run
    headline: str
    findings: int
    rules: int
    rules_failed: int


@dataclass(frozen=True, slots=True)
class Audited:
    """A run of `nats audit gather` and `nats audit analyze`. `outcomes` counts the checks by outcome.

    `incomplete`: how many runs before it left out streams and were not counted. They exit with 0 all the same.
    """

    gather: Run
    analyze: Run
    outcomes: dict[str, int]
    incomplete: int

    @property
    def seconds(self) -> float:
        """Both together."""
        return self.gather.seconds + self.analyze.seconds


def check_text(url: str) -> Run:
    """`jsdoctor check` with its default options and report."""
    return run(_check(url), _FOUND_SOMETHING_OR_NOTHING)


def check_json(url: str, streams: int, consumers: int, *options: str) -> Checked:
    """`jsdoctor check --format json`. Raises CannotMeasureError unless it saw that many streams and consumers."""
    return _checked([*_check(url), *options], streams, consumers, _FOUND_SOMETHING_OR_NOTHING)


def check_as(url: str, report_format: str, *options: str) -> Run:
    """`jsdoctor check` in another format."""
    return run([*_check(url), *options, "--format", report_format], _FOUND_SOMETHING_OR_NOTHING)


def check_file(path: Path, streams: int, consumers: int) -> Checked:
    """The same of what was captured. An archive of `nats audit gather` lacks things, which is told by exit code 3."""
    return _checked([JSDOCTOR, "check", "--isolated", "--bundle", path], streams, consumers, (0, 1, 3))


def _checked(command: list[str | Path], streams: int, consumers: int, accept: tuple[int, ...]) -> Checked:
    done = run([*command, "--format", "json"], accept)
    report = msgspec.json.decode(done.stdout, type=_Report)
    seen = _SEEN.match(report.summary.headline)
    if not seen or [int(number.replace(",", "")) for number in seen.groups()] != [streams, consumers]:
        raise CannotMeasureError(f"jsdoctor saw something else than what was created: {report.summary.headline}")
    failed = sum(rule.outcome == "fail" for rule in report.rules)
    return Checked(done, report.summary.headline, sum(report.summary.findings.values()), len(report.rules), failed)


def audit(url: str, copies: int, archive: Path, *options: str) -> Audited:
    """`nats audit gather` and `analyze`. Raises CannotMeasureError when it never archives all *copies* of streams."""
    done, incomplete = gather(url, copies, archive, *options)
    analyzed, outcomes = analyze(archive)
    archive.unlink()
    return Audited(done, analyzed, outcomes, incomplete)


def gather(url: str, copies: int, archive: Path, *options: str) -> tuple[Run, int]:
    """`nats audit gather` into *archive*, and how many runs before it left out streams. Raises CannotMeasureError."""
    login = ("--no-context", "--server", url)
    archived = []
    for incomplete in range(_GATHER_ATTEMPTS):
        archive.unlink(missing_ok=True)
        done = run([_nats(), *login, "audit", "gather", "--no-progress", "--output", archive, *options])
        with zipfile.ZipFile(archive) as content:
            archived.append(sum("/stream_info/" in name for name in content.namelist()))
        if archived[-1] == copies:
            return done, incomplete
    raise CannotMeasureError(f"`nats audit gather {' '.join(options)}` archived {archived} of {copies} streams")


def analyze(archive: Path) -> tuple[Run, dict[str, int]]:
    """`nats audit analyze`, and how many checks had which outcome."""
    done = run([_nats(), "--no-context", "audit", "analyze", "--json", archive])
    return done, msgspec.json.decode(done.stdout, type=_Analysis).outcomes


def report(url: str) -> Run:
    """`nats server report jetstream`, which shows what every server stores, and judges nothing."""
    return run([_nats(), "--no-context", "--server", url, "server", "report", "jetstream"])


def capture(url: str, bundle: Path, *options: str) -> Run:
    """`jsdoctor capture` into *bundle*."""
    login = ("--isolated", "--no-context", "--server", url)
    return run([JSDOCTOR, "capture", *login, "--quiet", "--force", "--output", bundle, *options])


def nats_version() -> str:
    """The version of the nats command, in its own words."""
    return run([_nats(), "--version"]).stdout.decode().strip()


def _nats() -> Path:
    if not NATS.exists():
        raise CannotMeasureError(f"the nats command is not at {NATS}: run `make natscli`, which needs Go")
    return NATS


def _check(url: str) -> list[str | Path]:
    return [JSDOCTOR, "check", "--isolated", "--no-context", "--server", url]
