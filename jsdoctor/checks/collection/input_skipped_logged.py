"""JSD903: files of logs that were not read, or not to their end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from jsdoctor.checks.logs.words import listed
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Observation, Severity, Subject, passed
from jsdoctor.model.log import LogEvidence, LogFile
from jsdoctor.model.wording import counted

_SINGLY = 20
"""More files with one problem than this are told of together."""


@check("collection.input_skipped_logged")
def input_skipped_logged(logs: LogEvidence) -> Iterator[Finding]:
    """What was not read was not judged, and no rule says so by itself."""
    by_problem: dict[str, list[LogFile]] = defaultdict(list)
    for file in logs.files:
        if file.problem:
            by_problem[file.problem].append(file)
        elif file.interleaved or file.long_lines:
            yield _doubtful(file)
    many = [files for files in by_problem.values() if len(files) > _SINGLY]
    for files in by_problem.values():
        if len(files) <= _SINGLY:
            yield from map(_skipped, files)
    if many:
        yield _together(many)
    elif not by_problem:
        yield passed(CLUSTER)


def _skipped(file: LogFile) -> Finding:
    part = f"; {file.read:,} bytes of text before that were read" if file.read else "; nothing of it was read"
    return Finding(
        subject=Subject(kind="file", name=file.path),
        message=f"{file.problem}{part}",
        measured=file.skipped,
        unit="bytes",
        evidence=(_observed(file),),
    )


def _together(groups: Sequence[Sequence[LogFile]]) -> Finding:
    files = [file for group in groups for file in group]
    reasons = "; ".join(f"{counted(len(group), 'file')}: {group[0].problem}" for group in groups)
    return Finding(
        subject=CLUSTER,
        message=f"{reasons} ({listed(file.path for file in files)})",
        measured=sum(file.skipped for file in files),
        unit="bytes",
        evidence=tuple(map(_observed, files[:_SINGLY])),
    )


def _doubtful(file: LogFile) -> Finding:
    words = []
    if file.interleaved:
        words.append(
            "lines of several servers mix in it and cannot be told apart: its clock and its processes were not judged"
        )
    if file.long_lines:
        words.append(f"{counted(file.long_lines, 'line')} longer than 16 KiB, of which only the beginning was searched")
    return Finding(
        subject=Subject(kind="file", name=file.path),
        severity=Severity.INFO,
        message="; ".join(words),
        evidence=(_observed(file),),
    )


def _observed(file: LogFile) -> Observation:
    return Observation(
        file.path, "read and skipped", f"{file.read:,} bytes of text read, {file.skipped:,} bytes skipped"
    )
