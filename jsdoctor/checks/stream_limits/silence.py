"""For how long a mirror or source has received nothing from its origin, not even a heartbeat."""

from __future__ import annotations

import itertools

from jsdoctor.checks.stream_limits.origins import Deployment, Origin
from jsdoctor.model.snapshot import Stream
from jsdoctor.model.trend import StreamHistory

HEARD_NS = 5_000_000_000
"""An origin sends a heartbeat each second: one received this lately shows that nothing waits to be sent (stream.go)."""
_MISSED_NS = 3_000_000_000
"""Three heartbeats. Half of what a server before 2.11 shows while an origin is silent is above it."""
_NEVER = -1


def is_heard(origin: Origin) -> bool:
    """Whether every reading shows a heartbeat, and no error."""
    readings = (*origin.before, origin.now)
    return all(0 <= reading.active_ns < HEARD_NS and not reading.error for reading in readings)


def quiet_ns(stream: Stream, origin: Origin, history: StreamHistory | None, deployment: Deployment) -> int:
    """For how long nothing was received. A leader that never received anything may have been elected just now."""
    if origin.now.active_ns >= 0:
        return max(origin.now.active_ns, _over_attempts_ns(stream, origin, history, deployment))
    since = deployment.copying_since(stream)
    if since:
        return int((stream.at - since).total_seconds() * 1e9)
    never = history and all(reading.active_ns < 0 for reading in origin.before)
    return int(history.elapsed_s * 1e9) if history and never else 0


def unheard(origin: Origin, stream: Stream, deployment: Deployment) -> bool:
    """Whether nothing was received yet, and nothing shows since when it could have been."""
    return origin.now.active_ns == _NEVER and deployment.copying_since(stream) is None


def is_unclear(stream: Stream, origin: Origin, deployment: Deployment) -> bool:
    """Whether heartbeats were missed and `active` may have started again since."""
    return deployment.counts_again(stream) and any(
        reading.active_ns >= _MISSED_NS for reading in (*origin.before, origin.now)
    )


def _over_attempts_ns(stream: Stream, origin: Origin, history: StreamHistory | None, deployment: Deployment) -> int:
    """From the first reading that shows missed heartbeats to the last, where `active` starts again with each attempt.

    Two readings below the limit one after the other show that the origin sends again.
    """
    if not history or not deployment.counts_again(stream) or len(origin.before) != len(history.readings) - 1:
        return 0
    actives = [reading.active_ns for reading in (*origin.before, origin.now)]
    silent = [number for number, active in enumerate(actives) if active >= _MISSED_NS]
    received = history.first.state.last_seq != stream.state.last_seq
    if len(silent) < 2 or received or any(max(pair) < _MISSED_NS for pair in itertools.pairwise(actives[silent[0] :])):
        return 0
    between = history.readings[silent[-1]].at - history.readings[silent[0]].at
    return actives[silent[0]] + int(between.total_seconds() * 1e9)
