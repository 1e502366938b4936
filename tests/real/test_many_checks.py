"""Fifty checks of one plain account at once: all of them find out what they were asked for, with few requests."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.remedy.asking import PlainApi, with_api
from tests.servers import ClusterFactory
from tests.support.deployment import HOUR_NS, add_consumer, add_stream

STREAMS, CONSUMERS, CHECKS = 300, 5, 50
MAX_REQUESTS = 320
"""Of one check: pages of lists, twice, and what is asked of each stream."""


async def fill(to: PlainApi) -> None:
    for start in range(0, STREAMS, 20):
        names = [f"S{number}" for number in range(start, start + 20)]
        await asyncio.gather(*(add_stream(to.client, name, subjects=[name], max_age=HOUR_NS) for name in names))
        await asyncio.gather(
            *(add_consumer(to.client, name, f"c{number}") for name in names for number in range(CONSUMERS))
        )


@pytest.mark.real
@pytest.mark.nightly
def test_all_are_conclusive(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    cluster = cluster_factory(nodes=1)
    with_api(cluster.url(), fill)
    asked = cluster.monitor("n1", "/jsz")["api"]["total"]
    began = time.monotonic()
    command = [sys.executable, "-m", "jsdoctor", "check", "--isolated", "--server", cluster.url(), "--format", "json"]
    runs = []
    for number in range(CHECKS):
        with (tmp_path / f"{number}.json").open("wb") as output:
            runs.append(subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL))
    codes = [run.wait(timeout=600) for run in runs]
    took = time.monotonic() - began
    requests = cluster.monitor("n1", "/jsz")["api"]["total"] - asked
    reports = [json.loads((tmp_path / f"{number}.json").read_text()) for number in range(CHECKS)]
    gaps = [gap for report in reports for gap in report["gaps"] if gap["requested"]]
    if place := os.environ.get("JSDOCTOR_FIGURES"):
        with Path(place).open("a") as file:
            file.write(f"{CHECKS} checks: {took:.1f} s, {requests / CHECKS:.1f} requests each, exits {sorted(codes)}\n")
    assert set(codes) <= {0, 1}, codes
    assert gaps == []
    assert requests / CHECKS <= MAX_REQUESTS
