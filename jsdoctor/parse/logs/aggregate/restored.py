"""Counts of messages that streams had when servers started: the only trace of some losses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from jsdoctor.model.log import RestoredFall
from jsdoctor.parse.logs.aggregate.series import File, Names
from jsdoctor.parse.logs.lines.builtin import START
from jsdoctor.parse.logs.scan.rows import MarkRow

_BANNER = 4096  # bytes within which a server names itself after it starts

FALLS_KEPT = 1000
"""Of one series, the largest first."""


def falls(
    files: Sequence[File],
    names: Names,
    restored: Mapping[str, list[MarkRow]],
    marks: Mapping[str, list[MarkRow]],
) -> tuple[list[RestoredFall], set[tuple[str, str]]]:
    """Every fall from one start to the next, and the streams (account, stream) whose counts were compared at all."""
    starts: Counter[str] = Counter()
    last: dict[tuple[str, str, str], tuple[File, MarkRow, int, int]] = {}
    restored_falls: list[RestoredFall] = []
    compared: set[tuple[str, str]] = set()
    for file in files:
        name = file.part.name
        begun = [mark for mark in marks.get(name, ()) if mark.name == START]
        for mark in sorted((*restored.get(name, ()), *begun), key=lambda mark: mark.seen.offset):
            if mark.name == START:  # its server is named a few lines on
                starts[names.of(file, mark.start, mark.process, mark.seen.offset + _BANNER)[0]] += 1
                continue
            fields = dict(mark.seen.fields)
            count = int(fields["messages"].replace(",", "") or 0)
            server = names.of(file, mark.start, mark.process, mark.seen.offset)[0]
            key = (server, fields["account"], fields["stream"])
            before = last.get(key)
            if before is not None and before[3] == starts[server]:
                continue
            if before is not None:
                compared.add(key[1:])
                if count < before[2]:
                    restored_falls.append(_fall(key, before[:2], (file, mark), (before[2], count)))
            last[key] = (file, mark, count, starts[server])
    restored_falls.sort(key=lambda fall: (fall.after - fall.before, fall.server, fall.account, fall.stream))
    return restored_falls[:FALLS_KEPT], compared


def _fall(
    key: tuple[str, str, str],
    before: tuple[File, MarkRow],
    after: tuple[File, MarkRow],
    counts: tuple[int, int],
) -> RestoredFall:
    return RestoredFall(
        server=key[0],
        account=key[1],
        stream=key[2],
        before=counts[0],
        after=counts[1],
        before_line=before[0].exemplar(before[1].start, before[1].seen),
        after_line=after[0].exemplar(after[1].start, after[1].seen),
    )
