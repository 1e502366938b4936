"""A rule page of a team that finds lines of its own application: the page is all there is."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.invoke import jsdoctor

USE = Path(__file__).resolve().parents[2] / "docs" / "use.md"
BLOCKS = re.findall(r"```toml\n(.*?)```", USE.read_text("utf-8"), re.DOTALL)
FRONT = next(block for block in BLOCKS if "OPS001" in block)
SECTIONS = ("What it detects", "Why it matters", "How it is measured", "Fix", "False positives", "References")
BODY = "".join(f"\n## {section}\n\nText.\n" for section in SECTIONS)
LINE = "2026-11-21T16:04:5{}Z ERROR booking failed in shard {}\n"


def failures(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [result for result in report["results"] if result["outcome"] == "fail"]


def page(directory: Path, front: str = FRONT) -> Path:
    directory.mkdir(exist_ok=True)
    (directory / "OPS001.md").write_text(f"+++\n{front}+++\n{BODY}")
    return directory


@pytest.mark.parametrize(("count", "severity"), [(2, "info"), (3, "error")])
def test_the_page_of_the_documentation_finds_its_lines(tmp_path: Path, count: int, severity: str) -> None:
    log = tmp_path / "ledger.log"
    log.write_text("".join(LINE.format(number, "{story}" if number == 0 else f"s{number}") for number in range(count)))
    done = jsdoctor("audit", str(log), "--rules", str(page(tmp_path / "own")), "--format", "json", cwd=tmp_path)
    assert done.returncode == (1 if severity == "error" else 0), done.stderr
    (finding,) = failures(json.loads(done.stdout))
    assert (finding["code"], finding["severity"], finding["subject"]["name"]) == ("OPS001", severity, "ledger")
    assert finding["message"].startswith("bookings fail in s1")
    assert f": logged {'twice' if count == 2 else '3 times'} by ledger" in finding["message"]


def test_a_log_without_them_passes_where_an_application_wrote_it(tmp_path: Path) -> None:
    log = tmp_path / "ledger.log"
    log.write_text("2026-11-21T16:04:50Z ERROR nats: timeout\n" * 3)
    done = jsdoctor(
        "audit", str(log), "--rules", str(page(tmp_path / "own")), "--select", "OPS", "--format", "json", cwd=tmp_path
    )
    assert failures(json.loads(done.stdout)) == []
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ('signatures = ["booking-failed"]', 'signatures = ["booking-fails"]', "no signature is named 'booking-fails'"),
        ('at_least = "many"', 'at_least = "few"', "no parameter is named 'few'"),
        ('subject = "client" ', 'subject = "clients" ', "Invalid enum value 'clients'"),
    ],
)
def test_a_mistake_is_named_with_its_page(tmp_path: Path, right: str, wrong: str, says: str) -> None:
    assert right in FRONT
    done = jsdoctor("rules", "validate", str(page(tmp_path / "own", FRONT.replace(right, wrong))), cwd=tmp_path)
    assert done.returncode != 0
    assert "OPS001.md" in done.stdout + done.stderr
    assert says in done.stdout + done.stderr
