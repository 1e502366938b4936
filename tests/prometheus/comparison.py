"""One deployment, looked at with a login and through Prometheus alone, and what either found."""

import asyncio
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from tests.prometheus.scenes import SCENES
from tests.prometheus.stack import prometheus, scrapes
from tests.servers import wait_until
from tests.support.reports import Json, run_check

LOUD = ("warning", "error", "critical")
_PAIRS = {"JSD401": "JSD402", "JSD402": "JSD401"}
"""A consumer whose lag grows in one look may just be far behind in another."""

_SCRAPES = 4
"""So many scrapes come before the fault and after it: what was there before is judged by two of them."""

_OF_THE_SAMPLE = "JSD9"
"""Rules on what a look could not see, not on the deployment."""

Faults = Mapping[str, str]
"""Severity by subject."""


class Run(NamedTuple):
    """The rules of which a login found a fault at warning or above, those of which metrics did, and where metrics
    contradict.
    """

    by_login: set[str]
    by_metrics: set[str]
    contradictions: list[str]


def compare(directory: Path, scene: str, version: str, exporter: str) -> Run:
    """Start everything, look, and compare."""
    login, metrics, again = asyncio.run(_samples(directory, scene, version, exporter))
    return Run(set(_faults_of(login)), set(_faults_of(metrics)), _contradictions(login, again, metrics))


async def _samples(directory: Path, scene: str, version: str, exporter: str) -> tuple[Json, Json, Json]:
    """A look with a login before and after the one at the metrics: work goes on in between."""
    async with SCENES[scene](directory / "servers", version) as stage:
        with ExitStack() as stack:
            url = await asyncio.to_thread(stack.enter_context, prometheus(stage.servers, directory, exporter))
            began = time.monotonic()
            await _scraped(url, _SCRAPES)
            await stage.happen()
            await _scraped(url, _SCRAPES)
            first = await asyncio.to_thread(_check, *stage.login, "--interval", "3s")
            since = max(60, round(time.monotonic() - began))  # a busy machine takes long
            shown = await asyncio.to_thread(_check, "--prometheus", url, "--prometheus-since", f"{since}s")
            return first, shown, await asyncio.to_thread(_check, *stage.login, "--interval", "3s")


async def _scraped(url: str, times: int) -> None:
    """Until there were so many more scrapes."""
    before = scrapes(url)
    await asyncio.to_thread(wait_until, lambda: scrapes(url) >= before + times, "more scrapes", timeout=60)


def _check(*arguments: str) -> Json:
    _, report = run_check("-vv", "--isolated", *arguments)
    return report


def _contradictions(login: Json, again: Json, metrics: Json) -> list[str]:
    """What metrics show and neither look with a login found, and what they pass although both found it."""
    with_login, later = _faults_of(login), _faults_of(again)
    contradictions = []
    for code, subjects in _faults_of(metrics).items():
        known = {**with_login.get(code, {}), **later.get(code, {}), **with_login.get(_PAIRS.get(code, ""), {})}
        contradictions += [f"{code} {subject}: only metrics show it" for subject in subjects if subject not in known]
    for result in metrics["results"]:
        code, subject = result["code"], label(result["subject"])
        if result["outcome"] == "error":
            contradictions.append(f"{code}: {result['message']}")
        elif result["outcome"] == "pass" and subject in with_login.get(code, {}) and subject in later.get(code, {}):
            contradictions.append(f"{code} {subject}: metrics pass it")
    passed = {rule["code"] for rule in metrics["rules"] if rule["outcome"] == "pass"}
    return [
        *contradictions,
        *(f"{code}: metrics pass the rule" for code in sorted(passed & with_login.keys() & later.keys())),
    ]


def _faults_of(report: Json) -> dict[str, Faults]:
    """Faults at warning or above, by rule and subject."""
    faults: dict[str, dict[str, str]] = {}
    for result in report["results"]:
        if result["outcome"] == "fail" and result["severity"] in LOUD and not result["code"].startswith(_OF_THE_SAMPLE):
            faults.setdefault(result["code"], {})[label(result["subject"])] = result["severity"]
    return dict(faults)


def label(subject: Json) -> str:
    """A subject in one word: `APP/ORDERS/worker`, or the server's name."""
    parts = [subject.get("account"), subject.get("stream"), subject.get("name")]
    return "/".join(part for part in parts if part) or str(subject["kind"])
