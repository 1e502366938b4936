"""Compares metrics with a login in every scene, and keeps the results in `fixtures/prometheus/compared.json`.

python -m tests.prometheus.record                                          all runs
python -m tests.prometheus.record --scene one-node --server 2.15.1         some of them again

It needs what `tests.prometheus.stack` needs. Afterwards `python -m tests.prometheus.page` writes the table.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tests.faults.planting import TOPOLOGIES
from tests.prometheus.comparison import Run, compare
from tests.prometheus.scenes import SCENES
from tests.prometheus.stack import EXPORTERS, SURVEYOR
from tests.servers import DEFAULT_VERSION, VERSIONS
from tests.support.evidence import FIXTURES

FILE = FIXTURES / "prometheus" / "compared.json"


def wanted() -> Iterator[tuple[str, str, str]]:
    """Every run: exporter, version of the server, scene.

    Exporters pass on what each version of a server reports, so all versions are looked at in the deployments that have
    most faults. nats-surveyor has no metrics of leaf nodes, and ends when it reads JetStream of a cluster of 2.10,
    which reports no snapshots of the meta group (surveyor/collector_statz.go).
    """
    left_out = {(SURVEYOR, DEFAULT_VERSION, "lost-hub"), (SURVEYOR, "2.10.26", "three-nodes")}
    for exporter in EXPORTERS:
        for scene in SCENES:
            for version in VERSIONS if scene in TOPOLOGIES else (DEFAULT_VERSION,):
                if (exporter, version, scene) not in left_out:
                    yield exporter, version, scene


def load() -> list[Run]:
    """The recorded runs, in the order of `wanted`."""
    return msgspec.json.decode(FILE.read_bytes(), type=list[Run]) if FILE.exists() else []


def keep(run: Run) -> None:
    """Put a run in the place of the one that it repeats."""
    runs = {(known.exporter, known.server, known.scene): known for known in (*load(), run)}
    lines = ",\n".join(_text(runs[key]) for key in wanted() if key in runs)
    FILE.write_text(f"[\n{lines}\n]\n", "utf-8")


def _text(run: Run) -> str:
    """A rule on each line, for readers of a difference."""
    fields = msgspec.to_builtins(run)
    rules = ",\n".join(f'  "{code}": {_json(record)}' for code, record in fields.pop("rules").items())
    return f'{_json(fields)[:-1]}, "rules": {{\n{rules}\n}}}}'


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def main() -> int:
    """Run what was chosen, and say which runs contradict."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name in ("exporter", "server", "scene"):
        parser.add_argument(f"--{name}", default="")
    chosen = vars(parser.parse_args())
    status = 0
    for exporter, version, scene in wanted():
        given = {"exporter": exporter, "server": version, "scene": scene}
        if any(chosen[name] not in ("", value) for name, value in given.items()):
            continue
        with tempfile.TemporaryDirectory() as directory:
            run = compare(Path(directory), scene, version, exporter)
        keep(run)
        sys.stdout.write("\n  ".join([" ".join(given.values()), *run.contradictions]) + "\n")
        sys.stdout.flush()
        status |= bool(run.contradictions)
    return status


if __name__ == "__main__":
    sys.exit(main())
