"""How often to look and how long to wait between: the command line, else the configuration file, else the default."""

from __future__ import annotations

from typing import NamedTuple

from jsdoctor.parse.configuration import Configuration

_SAMPLES = 2
_INTERVAL_S = 2.0


class SamplingPlan(NamedTuple):
    """Number of samples, and seconds from the start of one to the start of the next."""

    samples: int
    interval_s: float


def pace(samples: int | None, interval_s: float | None, config: Configuration) -> SamplingPlan:
    """The pace of a run. None: the command line does not say."""
    configured_s = config.interval_ns / 1e9 if config.interval_ns is not None else _INTERVAL_S
    return SamplingPlan(samples or config.samples or _SAMPLES, configured_s if interval_s is None else interval_s)
