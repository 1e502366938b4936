"""How long `check --manifest` takes on a directory of files, beyond its start, beside yamllint on the same files."""

import json
import sysconfig
import tempfile
from pathlib import Path

from bench.commands import JSDOCTOR
from bench.figures import Row, Spread, Table
from bench.process import CannotMeasureError, Run, run
from bench.settings import Site
from tests.servers import ROOT

LIMIT_S = 1.5
FOR_FILES = 500
"""The limit is promised of so many files."""

_MODEL = ROOT / "fixtures" / "manifests" / "nack" / "good.yaml"
_YAMLLINT = Path(sysconfig.get_path("scripts")) / "yamllint"
_ROUNDS = 5


def measure(site: Site) -> Table:
    """One after the other in each round: all files, one file, and yamllint on all."""
    count = site.settings.manifests
    with tempfile.TemporaryDirectory(prefix="jsdoctor-bench-") as directory:
        many, single = Path(directory) / "many", Path(directory) / "one"
        for place, files in ((many, count), (single, 1)):
            place.mkdir()
            for number in range(files):
                (place / f"s{number:04}.yaml").write_text(_manifest(number))
        _check(single, 1)
        rounds = [
            (_check(many, count), _check(single, 1), _lint(many)) for _ in range(min(site.settings.rounds, _ROUNDS))
        ]
    all_files = Spread.of([whole.seconds for whole, _, _ in rounds])
    start = Spread.of([alone.seconds for _, alone, _ in rounds])
    beyond = Spread.of([max(whole.seconds - alone.seconds, 0.0) for whole, alone, _ in rounds])
    lint = Spread.of([linted.seconds for _, _, linted in rounds])
    met = beyond.middle < LIMIT_S if count >= FOR_FILES else None
    rows = (
        Row(f"jsdoctor check --manifest, {count} files", all_files.text(" s")),
        Row("  1 file", start.text(" s")),
        Row("  beyond the start", beyond.text(" s"), f"under {LIMIT_S:g} s", met),
        Row("yamllint, the same files", lint.text(" s")),
        Row("  times jsdoctor", f"{lint.middle / all_files.middle:.1f}x"),
    )
    notes = ("Each file has five resources of NACK and some 55 lines. yamllint looks at the form of YAML only.",)
    return Table(f"Manifests: median of {len(rounds)} rounds (least to greatest)", rows, notes)


def _manifest(number: int) -> str:
    text = _MODEL.read_text()
    for name in ("ORDERS", "orders.", "bucket: settings", "bucket: invoices"):
        text = text.replace(name, f"{name.rstrip('.')}{number}{'.' if name.endswith('.') else ''}")
    return text


def _check(directory: Path, files: int) -> Run:
    done = run([JSDOCTOR, "check", "--isolated", "--manifest", directory, "--format", "json"], (0, 1))
    headline = json.loads(done.stdout)["summary"]["headline"]
    if f"declared in {files} manifest" not in headline:
        raise CannotMeasureError(f"jsdoctor read something else than was written: {headline}")
    return done


def _lint(directory: Path) -> Run:
    return run([_YAMLLINT, "-d", "relaxed", directory], (0, 1))
