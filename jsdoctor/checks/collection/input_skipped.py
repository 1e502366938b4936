"""JSD903: files of logs that were not read, or not to their end.

From packets: what of a capture was not read, not captured, or cannot be read at all.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from jsdoctor.checks.logs.words import listed
from jsdoctor.checks.packets.views import View, dropped, missed, percent, views
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Observation, Severity, Subject, failed, passed
from jsdoctor.model.log import LogEvidence, LogFile
from jsdoctor.model.nats_traffic import Content
from jsdoctor.model.packets import Capture, PacketEvidence
from jsdoctor.model.wording import counted

_MAX_SINGLE = 20
"""If more files than this have one problem, they share one finding."""


@check("collection.input_skipped_logged")
def input_skipped_logged(logs: LogEvidence) -> Iterator[Finding]:
    """Report files that were not read: no other rule reports that their content was not judged."""
    by_problem: dict[str, list[LogFile]] = defaultdict(list)
    doubted = False
    for file in logs.files:
        if file.problem:
            by_problem[file.problem].append(file)
        elif file.interleaved or file.long_lines:
            doubted = True
            yield failed(
                Subject(kind="file", name=file.path),
                "; ".join(_doubts_of_log(file)),
                _observed(file),
                severity=Severity.INFO if file.long_lines < file.lines else None,
            )
    many = [files for files in by_problem.values() if len(files) > _MAX_SINGLE]
    for files in by_problem.values():
        if len(files) <= _MAX_SINGLE:
            yield from map(_skipped, files)
    if many:
        yield _together(many)
    elif not by_problem and not doubted:
        yield passed(CLUSTER)


def _doubts_of_log(file: LogFile) -> Iterator[str]:
    if file.interleaved:
        yield "lines of several servers mix in it and cannot be separated: its clock and its processes were not judged"
    if file.long_lines:
        yield f"{counted(file.long_lines, 'line')} longer than 16 KiB, of which only the beginning was searched"


def _skipped(file: LogFile) -> Finding:
    part = f"; {file.read:,} bytes of text before that were read" if file.read else "; nothing of it was read"
    return failed(
        Subject(kind="file", name=file.path),
        f"{file.problem}{part}",
        _observed(file),
        measured=(file.skipped, None, "bytes"),
    )


def _together(groups: Sequence[Sequence[LogFile]]) -> Finding:
    files = [file for group in groups for file in group]
    reasons = "; ".join(f"{counted(len(group), 'file')}: {group[0].problem}" for group in groups)
    return failed(
        CLUSTER,
        f"{reasons} ({listed(file.path for file in files)})",
        *map(_observed, files[:_MAX_SINGLE]),
        measured=(sum(file.skipped for file in files), None, "bytes"),
    )


def _observed(file: LogFile) -> Observation:
    value = f"{file.read:,} bytes of text read, {file.skipped:,} bytes skipped"
    return Observation(file.path, "read and skipped", value)


_UNREADABLE = {
    Content.TLS: "encrypted with TLS",
    Content.S2: "compressed",
    Content.WEBSOCKET: "WebSocket, which is not read",
    Content.UNKNOWN: "of unknown content",
}
_MUCH_LOST = 0.01


@check("collection.input_skipped_captured")
def input_skipped_captured(packets: PacketEvidence) -> Iterator[Finding]:
    """One finding for each capture that is incomplete."""
    by_capture: dict[int, list[View]] = {number: [] for number in range(len(packets.captures))}
    for view in views(packets):
        by_capture[view.tcp.capture].append(view)
    for number, capture in enumerate(packets.captures):
        seen = by_capture[number]
        unread, doubts = list(_unread(capture)), [*_doubts(capture, seen), *_unreadable_nats(seen)]
        subject = Subject(kind="file", name=capture.name)
        if not unread and not doubts:
            yield passed(subject)
            continue
        yield failed(
            subject,
            "; ".join((*unread, *doubts)),
            Observation(capture.name, "packets read, of these TCP", f"{capture.packets:,}, {capture.tcp:,}"),
            severity=None if unread else Severity.INFO,
            measured=(capture.packets, None, "packets"),
        )


def _unread(capture: Capture) -> Iterator[str]:
    """Reasons why a capture was not judged completely: packets not read, cut, or lost in numbers."""
    if capture.problem:
        yield f"{capture.problem}; {counted(capture.packets, 'packet')} before that were read"
    if capture.unknown_link:
        yield f"{counted(capture.unknown_link, 'packet')} with a link layer that is not known here were left out"
    if capture.cut:
        yield f"{counted(capture.cut, 'packet')} were captured without all of their headers: use a snaplen of 256"
    if capture.not_compared:
        packets = counted(capture.not_compared, "packet")
        yield f"{packets} were not compared with the other captures: too many came before"
    if dropped(capture).ratio >= _MUCH_LOST:
        lost = dropped(capture)
        yield f"the capturing host lost {counted(lost.events, 'packet')} ({percent(lost.ratio)})"


def _doubts(capture: Capture, seen: list[View]) -> Iterator[str]:
    """What limits the findings of a capture."""
    if capture.kernel_drops and dropped(capture).ratio < _MUCH_LOST:
        yield f"the capturing host lost {counted(capture.kernel_drops, 'packet')}: figures are lower bounds"
    holes = sum(missed(flow).events for view in seen for flow in view.tcp.flows)
    if holes:
        yield f"{counted(holes, 'byte')} were received by their receivers and are not in the capture"
    if capture.connections_left_out:
        yield f"{counted(capture.connections_left_out, 'short connection')} were counted and not kept"
    if twice := sum(view.tcp.captured_twice or view.tcp.copies > 0 for view in seen):
        yield f"the packets of {counted(twice, 'connection')} were captured twice, so copies were left out"
    if any(flow.oversized for view in seen for flow in view.tcp.flows):
        yield "segments are larger than any network carries: the network card splits and joins them, so counts are low"
    if one_sided := sum(view.tcp.one_sided for view in seen):
        yield f"of {counted(one_sided, 'connection')} only one direction was captured"
    if capture.tunnelled or capture.fragments:
        yield f"{counted(capture.tunnelled + capture.fragments, 'packet')} in tunnels or fragments were left out"


def _unreadable_nats(seen: list[View]) -> Iterator[str]:
    """NATS traffic in a capture that cannot be read."""
    if resynced := sum(view.nats.content is Content.NATS and view.nats.resyncs > 0 for view in seen):
        yield f"lines of NATS are missing on {counted(resynced, 'connection')}: what is counted there is a lower bound"
    unread = Counter(_UNREADABLE[view.nats.content] for view in seen if view.nats.content in _UNREADABLE)
    for what, count in sorted(unread.items()):
        yield f"{counted(count, 'connection')} {'is' if count == 1 else 'are'} {what}: only TCP was judged there"
    if not seen:
        yield "no connection in it is of NATS"
