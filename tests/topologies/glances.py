"""Many checks of a deployment, in this process: every login in turn, with samples at several distances."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor

import jsdoctor
from tests.topologies.healthy import loud
from tests.topologies.states import Login

PACES = ((2, 2.0), (2, 0.5), (3, 1.0), (2, 5.0), (1, 1.0))
"""Samples, and the seconds between them."""
_AT_ONCE = 4


def glance(login: Login, samples: int, interval_s: float) -> list[str]:
    """What one check reports: at warning or above, failed checks, gaps, no connection."""
    result = jsdoctor.check(**login, samples=samples, interval_s=interval_s)
    problems = [f"no connection: {result.problem}"] if result.problem else loud(result.document)
    access = login["monitor"] if "monitor" in login else login["deployment"].server
    return [f"{samples} samples, {interval_s:g} s apart, {access}: {problem}" for problem in problems]


def glances(logins: list[Login], times: int) -> list[str]:
    """What so many checks report. Several run at a time, as where a team and its pipelines run them."""
    planned = itertools.islice(itertools.cycle(itertools.product(PACES, logins)), times)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        done = [pool.submit(glance, login, *pace) for pace, login in planned]
        return [problem for future in done for problem in future.result()]
