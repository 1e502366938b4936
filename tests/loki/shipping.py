"""Logs of real servers as a shipper sends them to Loki, and the reports on them from there and from files."""

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from jsdoctor.cli.app import run
from tests.support.evidence import FIXTURES

S = 1_000_000_000
Push = Callable[[Mapping[str, str], Sequence[tuple[int, str]]], None]
_UNDATED = "notime"


class Done(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str

    @property
    def report(self) -> dict[str, Any]:
        """The JSON report."""
        assert self.stdout, self.stderr
        report: dict[str, Any] = json.loads(self.stdout)
        return report


def jsdoctor(*arguments: str) -> Done:
    """One run in this process."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run([*arguments, "--isolated"])
    assert "Traceback" not in err.getvalue(), err.getvalue()
    return Done(code, out.getvalue(), err.getvalue())


def incidents_of(version: str) -> dict[str, list[Path]]:
    """The logs of each incident that was recorded on real servers of a version, one log for each server."""
    groups: dict[str, list[Path]] = {}
    for path in sorted((FIXTURES / "logs" / version).glob("*.log")):
        if _UNDATED not in path.name:
            groups.setdefault(re.sub(r"[-_]n\d$", "", path.stem), []).append(path)
    return groups


def ship(push: Push, paths: Sequence[Path], until_ns: int, every_ns: int = 1_000_000, coarse_ns: int = 1) -> int:
    """Send logs as a shipper does that dates lines when it reads them, `every_ns` apart, rounded to `coarse_ns`.

    The lines of a server go to two streams, as with the label `level`. Returns the time of the first line.
    """
    first = until_ns
    for path in paths:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        streams: dict[str, list[tuple[int, str]]] = {}
        for number, line in enumerate(lines):
            at = until_ns - (len(lines) - number) * every_ns
            at -= at % coarse_ns
            first = min(first, at)
            level = "error" if "[ERR]" in line or "[WRN]" in line else "info"
            streams.setdefault(level, []).append((at, line))
        for level, own in streams.items():
            push({"app": "nats", "namespace": "shop", "pod": path.stem, "level": level}, own)
    return first


def from_files(paths: Sequence[Path], directory: Path) -> Done:
    """The report on the files under the names that those from Loki have."""
    (directory / "loki").mkdir(parents=True, exist_ok=True)
    names = []
    for path in paths:
        names.append(f"loki/{path.stem}")
        text = path.read_text(encoding="utf-8", errors="replace")
        (directory / names[-1]).write_text("".join(f"{line}\n" for line in text.splitlines()), encoding="utf-8")
    options = [word for name in names for word in ("--logs", name)]
    return jsdoctor("check", *options, "--format", "json", "-vv")


def reported(report: Mapping[str, Any]) -> dict[str, Any]:
    """All that a report says but for where the lines are from, and when it was made."""
    names = ("results", "rules", "incidents", "gaps")
    return {name: report[name] for name in names}


def judged(report: Mapping[str, Any]) -> dict[str, Any]:
    """All that a report decides: findings with their words and numbers, the outcome of each rule, and the gaps."""
    results = [
        {key: result.get(key) for key in ("code", "outcome", "subject", "severity", "message", "measured")}
        for result in report["results"]
    ]
    rules = [{key: rule.get(key) for key in ("code", "outcome", "reason")} for rule in report["rules"]]
    gaps = [(gap["kind"], gap["reason"], gap["requested"]) for gap in report["gaps"]]
    order = lambda entry: json.dumps(entry, sort_keys=True)  # noqa: E731
    return {"results": sorted(results, key=order), "rules": rules, "gaps": gaps}


def live_and_kept(*options: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The report of `check --loki`, and that of `check --bundle` on what `capture --loki` writes then."""
    until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 1))
    # A busy machine takes longer than the default for a reply, which would be a gap of one of the two.
    words = ("--timeout", "60s", *options, "--until", until, "--since", "2h")
    live = jsdoctor("check", *words, "--format", "json", "-vv")
    captured = jsdoctor("capture", "-o", "b.zip", *words)
    assert captured.exit_code == (3 if any(gap["requested"] for gap in live.report["gaps"]) else 0), captured.stderr
    kept = jsdoctor("check", "--bundle", "b.zip", "--format", "json", "-vv")
    assert kept.exit_code == live.exit_code
    return live.report, kept.report
