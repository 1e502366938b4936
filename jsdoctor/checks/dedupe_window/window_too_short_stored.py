"""JSD301, from stored messages: retries that came after the window, and are stored twice."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.dedupe_window.repeats import ScannedStream, catching_window_ns, observed, scanned
from jsdoctor.checks.dedupe_window.windows import NS_PER_S
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, passed
from jsdoctor.model.params import Params
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.stored import StoredMessages
from jsdoctor.model.wording import counted, span


@check("dedupe_window.window_too_short_stored")
def window_too_short_stored(stored: StoredMessages, snapshots: SnapshotSeries, params: Params) -> Iterator[Finding]:
    """Where messages are copied from elsewhere, it is the window of the origin that they passed."""
    longest_ns = params.integer("longest_retry")
    for one in scanned(stored, snapshots):
        window_ns, distances = one.shortest_window_ns, one.stored.repeats.distances
        if window_ns is None:
            continue
        late = distances.below(longest_ns + 1) - distances.below(window_ns)
        yield _finding(one, window_ns, late, longest_ns) if late else passed(one.stored.subject)


def _finding(one: ScannedStream, window_ns: int, late: int, longest_ns: int) -> Finding:
    stored, distances = one.stored, one.stored.repeats.distances
    found = [r for r in stored.repeats.kept if window_ns <= r.distance_ns <= longest_ns and not r.differs]
    enough_ns, _ = catching_window_ns(one, longest_ns)
    whose = "the window of its origin" if one.is_copy and not one.stream.config.subjects else "the window"
    too_old = distances.largest_below(longest_ns + 1) >= enough_ns
    return Finding(
        subject=stored.subject,
        message=(
            f"{counted(late, 'message')} came again up to {span(distances.largest_below(longest_ns + 1))} later, when "
            f"{whose} of {span(window_ns)} had forgotten the id: retries were stored a second time"
            + ("; max_age allows no window that is long enough" if too_old else "")
        ),
        measured=distances.largest_below(longest_ns + 1),
        threshold=window_ns,
        unit="duration",
        evidence=(
            one.stream.observed("config.duplicate_window", one.stream.config.duplicate_window_ns),
            *observed(stored, found),
        ),
        remedy=_remedy(one, enough_ns),
    )


def _remedy(one: ScannedStream, enough_ns: int) -> dict[str, object]:
    """A copy's own window is not what let them pass."""
    if one.is_copy:
        return {
            "action": "stream.look_at_origins",
            "origins": tuple(source.name for source in one.stream.config.sources),
        }
    return {"duplicate_window_s": max(enough_ns // NS_PER_S, 1), "no_ack": one.stream.config.no_ack}
