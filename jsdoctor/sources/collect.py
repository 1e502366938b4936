"""Reads all sources of a run. Whatever command collects evidence does it here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from jsdoctor.model.problems import UsageProblem
from jsdoctor.model.window import Window
from jsdoctor.sources.base import Collection, Need, Role, Run, Source


def collect(sources: Sequence[Source], need: Need, run: Run) -> Collection:
    """Read all sources, and the logs that they have found. What cannot be read is a gap.

    Raises `UsageProblem` for sources that contradict each other or cannot be used.
    """
    with opened(sources, need, run) as collection:
        if collection.logs:
            from jsdoctor.sources.logs import read_logs  # numpy takes a tenth of a second to load

            collection.add(read_logs(collection.logs, need, run))
    return collection


@contextmanager
def opened(sources: Sequence[Source], need: Need, run: Run) -> Iterator[Collection]:
    """What all sources yield, read in the order of their roles. Their files exist while the context lasts."""
    _refuse_contradictions(sources, run.window)
    collection = Collection(sources, need)
    with ExitStack() as readings:
        for source in sorted(sources, key=lambda source: source.role):
            collection.add(readings.enter_context(source.read(need, run, collection)))
        if run.window is not None and not (collection.logs or any(s.has_times for s in sources if s.role is Role.PAST)):
            raise UsageProblem("--since and --until narrow logs, and there are none", "leave them out")
        yield collection


def _refuse_contradictions(sources: Sequence[Source], window: Window | None) -> None:
    for role in (Role.DEPLOYMENT, Role.PAST):
        alike = [source for source in sources if source.role is role]
        for source in alike:
            others = [option for other in alike if other is not source for option in other.options]
            if source.alone and others:
                raise UsageProblem(
                    f"{source.alone}: {' and '.join(others)} cannot be given with it", "leave one of them away"
                )
    if window is not None and not any(source.has_times for source in sources):
        raise UsageProblem("--since and --until narrow logs and history, and neither is given", "add --logs PATH")
