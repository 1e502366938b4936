"""Every source that a capture takes, alone and with every other: a bundle shows what `check` finds there."""

import json
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tests.cli.invoke import jsdoctor
from tests.kube.cluster import missing_parts
from tests.kube.lab import lab
from tests.kube.pods import NAMESPACE
from tests.loki.documented import DocumentedLoki, serving
from tests.loki.shipping import S, incidents_of, ship
from tests.packets.reading import CAPTURES
from tests.servers import ClusterFactory
from tests.support.evidence import FIXTURES

pytestmark = pytest.mark.real
Json = dict[str, Any]
Options = tuple[str, ...]
NAMES = ("server", "monitor", "kube", "logs", "loki", "packets")
WITHOUT_KUBE = pytest.mark.skipif(bool(missing_parts()), reason=missing_parts())
PAIRS = [
    pytest.param(names, marks=[WITHOUT_KUBE] if "kube" in names else [])
    for names in (*((name,) for name in NAMES), *combinations(NAMES, 2))
]
KINDS = {"server": "live", "monitor": "live", "kube": "kubernetes", "logs": "logs", "loki": "loki", "packets": "pcap"}
"""The kind under which a report lists each source."""
OF_ONE_MOMENT = frozenset({"JSD726", "JSD846"})
"""Rules about what passes by itself within seconds of the start of a cluster."""


@pytest.fixture(scope="module")
def site(
    shared_cluster: ClusterFactory, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, dict[str, Options], dict[str, str]]]:
    """A place with a log and packets, the options of each source, and the environment of the commands."""
    cluster = shared_cluster(nodes=3)
    place = tmp_path_factory.mktemp("site")
    shutil.copy(FIXTURES / "logs" / "2.15.1" / "l3-bad_meta_n1.log", place / "n1.log")
    shutil.copy(CAPTURES / "nats-errors.client.pcap.gz", place / "c.pcap.gz")
    loki = DocumentedLoki()
    ship(lambda labels, lines: loki.push(labels, list(lines)), incidents_of("2.15.1")["c1"], time.time_ns() - S)
    kubernetes = nullcontext() if missing_parts() else lab(cluster, place)
    with serving(loki) as url, kubernetes as kube:
        options = {
            "server": ("-s", cluster.url("sys")),
            "monitor": tuple(
                word
                for name in cluster.names
                for word in ("--monitor", f"http://127.0.0.1:{cluster.node(name).ports.monitor}")
            ),
            "kube": ("--kube", "-n", NAMESPACE),
            "logs": ("--logs", "n1.log"),
            "loki": ("--loki", url, "--loki-query", '{app="nats"}'),
            "packets": ("--pcap", "c.pcap.gz"),
        }
        yield place, options, {"KUBECONFIG": str(kube[0].kubeconfig)} if kube else {}


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_a_bundle_shows_what_a_check_finds(site: Any, names: Sequence[str]) -> None:
    place, of_source, environment = site
    options = [word for name in names for word in of_source[name]]
    until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 1))
    if {"logs", "loki", "kube"} & set(names):
        options += ["--since", "2h", "--until", until]
    if {"server", "monitor", "kube"} & set(names):
        options += ["--samples", "1", "--timeout", "30s"]
    captures_alone = not {"server", "monitor", "kube", "loki"} & set(names)
    if captures_alone:  # a capture is of a deployment; beside files it takes the one that is selected
        options += [*of_source["server"], "--samples", "1", "--timeout", "30s"]
    capture = jsdoctor("capture", "-o", "b.zip", "--force", "--isolated", *options, cwd=place, env=environment)
    assert capture.returncode in (0, 3), capture.stderr
    kept, live = (_report(place, environment, *words) for words in (("--bundle", "b.zip"), options))
    for part, ours in zip(_decided(kept), _decided(live), strict=True):
        assert part == ours
    sources = {source["kind"] for source in live["sources"]}
    assert {KINDS[name] for name in names} <= sources
    assert {KINDS[name] for name in names} - {"live", "kubernetes", "logs"} <= {
        source["kind"] for source in kept["sources"]
    }


def _report(place: Path, environment: dict[str, str], *words: str) -> Json:
    done = jsdoctor("check", *words, "--format", "json", "--isolated", "-vv", cwd=place, env=environment)
    assert "Traceback" not in done.stderr, done.stderr
    report: Json = json.loads(done.stdout)
    return report


def _decided(report: Json) -> tuple[dict[str, str], set[tuple[str, str, str]]]:
    """The outcome of each rule, and the faults: code, severity and subject."""
    outcomes = {rule["code"]: rule["outcome"] for rule in report["rules"] if rule["code"] not in OF_ONE_MOMENT}
    faults = {
        (result["code"], result["severity"], result["subject"]["name"])
        for result in report["results"]
        if result["outcome"] == "fail" and result["code"] not in OF_ONE_MOMENT
    }
    return outcomes, faults
