"""The HTML report without a browser: well formed, self-contained, and text from servers stays text."""

import json
import re
import shutil
from base64 import b64encode
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from itertools import combinations
from pathlib import Path

import pytest
from msgspec.structs import replace

from jsdoctor.model.report import Report
from tests.cli.invoke import jsdoctor
from tests.html.outline import Outline, assert_self_contained
from tests.html.pages import HOSTILE, hostile, html, large, report_of_logs
from tests.render import reports

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def partition() -> Report:
    return report_of_logs(ROOT / "fixtures" / "logs" / "2.12.8")


CASES = {**reports.cases(), "hostile": hostile(), "large": large(200, 500)}


@pytest.mark.parametrize("case", CASES)
def test_is_well_formed_and_needs_no_other_file(case: str) -> None:
    text = html(CASES[case])
    page = Outline(text)
    assert_self_contained(page)
    assert "url(" not in text.replace("url(#", "")
    assert "@import" not in text


def test_real_logs_make_a_page_with_every_part(partition: Report) -> None:
    page = Outline(html(partition))
    assert not page.mistakes
    sections = {attributes["id"] for tag, attributes in page.elements if tag == "section"}
    assert {"verdict", "timeline", "charts", "findings", "unseen", "rules"} <= sections
    data = json.loads(page.inside("script")[0])
    assert {event["k"] for lane in data["lanes"] for event in lane["events"]} >= {"log", "outage", "run"}
    for lane in data["lanes"]:
        for event in lane["events"]:
            assert event["e"] >= event["s"]
            for number in event.get("x", ()):
                file, line, offset, text = data["lines"][number]
                assert read_line(ROOT / "fixtures" / "logs" / "2.12.8" / file, line, offset).startswith(text[:60])


def read_line(file: Path, line: int, offset: int) -> str:
    data = file.read_bytes()
    assert data[:offset].count(b"\n") == line - 1
    return data[offset:].split(b"\n", 1)[0].decode("utf-8", "replace").strip()


def test_the_policy_allows_its_own_style_and_script_and_nothing_else(partition: Report) -> None:
    text = html(partition)
    page = Outline(text)
    [policy] = [a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    rules = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    for name, element in (("style-src", "style"), ("script-src", "script")):
        content = page.inside(element)[-1]
        assert rules[name] == f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"
    assert "unsafe" not in policy


@pytest.mark.parametrize("ascii_only", [False, True])
def test_hostile_names_stay_text(ascii_only: bool) -> None:
    text = html(hostile(), ascii_only)
    page = Outline(text)
    assert len([tag for tag, _ in page.elements if tag == "script"]) == 2
    assert not [character for character in text if not character.isprintable() and character != "\n"]
    shown = "".join(data for within, data in page.texts if within not in ("script", "style"))
    assert "</script><script>alert(1)</script><img src=x onerror=alert(2)>\\u202egnp.exe\\u200f{{ 7*7 }}${1}" in shown
    lane = json.loads(page.inside("script")[0])["lanes"][0]
    assert lane["name"].startswith(HOSTILE[:60])
    assert lane["events"][0]["l"].startswith(HOSTILE[:60])


def test_a_rule_page_can_hold_no_markup_and_load_nothing() -> None:
    body = "## What\n\n<script>x</script> ![y](https://example.com/y.png) [z](javascript:alert(1)) [w](https://nats.io)"
    result = replace(reports.nearly_full(), rule=replace(reports.NEAR_LIMIT, body=body))
    page = Outline(html(reports.report([result])))
    assert not page.mistakes
    assert len([tag for tag, _ in page.elements if tag == "script"]) == 2
    assert not [tag for tag, _ in page.elements if tag == "img"]
    links = [attributes["href"] for tag, attributes in page.elements if tag == "a"]
    assert "https://nats.io" in links
    assert not [link for link in links if link and link.startswith("javascript")]


def test_ten_thousand_findings_stay_below_two_megabytes_and_what_is_left_out_is_counted() -> None:
    text = html(large(10_000, 6_000))
    assert len(text.encode()) < 2_000_000
    assert "8500 more findings are not listed" in text


def test_clocks_that_are_off_by_known_times_are_drawn_in_true_order(tmp_path: Path) -> None:
    """Real logs of one cluster, those of one server shifted by 90 s: its events are drawn where they were before."""
    logs = sorted((ROOT / "fixtures" / "rules" / "JSD106" / "logs").glob("n*.log"))
    for file in logs:
        shutil.copy(file, tmp_path / file.name)
    before = starts(report_of_logs(tmp_path))
    shifted = tmp_path / "n2.log"
    shifted.write_text(re.sub(r"(?m)^(\[\d+\] )(\S+ \S+)", later, shifted.read_text()))
    after = starts(report_of_logs(tmp_path))
    compared = 0
    for key, (at, bound) in after.items():
        if key in before and bound is not None:
            was, known = before[key]
            compared += 1
            assert abs(at - was) <= bound + (known or 0) + 2_000, key
    assert compared > 5


@pytest.mark.parametrize(
    "shifts", [(90.0, -37.5, 0.0), (0.0, 4.2, 7.7), (-300.0, 0.0, 600.0), (0.75, -0.75, 0.25), (3600.5, 12.0, -1800.0)]
)
def test_events_of_several_servers_keep_their_order_whatever_their_clocks_show(
    tmp_path: Path, shifts: tuple[float, ...]
) -> None:
    """Real logs of three servers, each shifted by a known time. Where two events of different servers lie further apart
    than the drawn bounds, the earlier is drawn first, and as far before the other as it was.
    """
    logs = sorted((ROOT / "fixtures" / "rules" / "JSD106" / "logs").glob("n*.log"))
    for file in logs:
        shutil.copy(file, tmp_path / file.name)
    before = starts(report_of_logs(tmp_path))
    for file, seconds in zip(logs, shifts, strict=True):
        copy = tmp_path / file.name
        copy.write_text(re.sub(r"(?m)^(\[\d+\] )(\S+ \S+)", partial(later, seconds=seconds), copy.read_text()))
    after = starts(report_of_logs(tmp_path))
    known = [key for key, (_, bound) in after.items() if key in before and bound is not None]
    compared = 0
    for first, other in combinations(known, 2):
        if first[0] == other[0]:
            continue
        bounds = sum(bound or 0 for _, bound in (before[first], before[other], after[first], after[other])) + 2_000
        was, is_now = before[other][0] - before[first][0], after[other][0] - after[first][0]
        assert abs(is_now - was) <= bounds, (first, other)
        if abs(was) > bounds:
            compared += 1
            assert (was > 0) == (is_now > 0), (first, other)
    assert compared > 5


def later(header: re.Match[str], seconds: float = 90) -> str:
    at = datetime.strptime(header[2], "%Y/%m/%d %H:%M:%S.%f") + timedelta(seconds=seconds)  # noqa: DTZ007 - only shifted
    return f"{header[1]}{at:%Y/%m/%d %H:%M:%S.%f}"


def starts(report: Report) -> dict[tuple[str, str, str, int], tuple[int, int | None]]:
    assert report.picture is not None
    starts_by_event: dict[tuple[str, str, str, int], tuple[int, int | None]] = {}
    for lane in report.picture.timeline.lanes:
        for event in lane.events:
            if event.kind in ("finding", "run", "down"):
                continue
            same = sum(1 for key in starts_by_event if key[:3] == (lane.name, event.kind, event.label))
            starts_by_event[lane.name, event.kind, event.label, same] = (event.start_us, event.bound_us)
    return starts_by_event


def test_a_diagnosis_is_a_page_too(tmp_path: Path) -> None:
    asked = f"nats: wrong last sequence: 5123 {HOSTILE}"
    done = jsdoctor("diagnose", "--offline", asked, "-o", "diagnosis.html", "-o", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = Outline((tmp_path / "diagnosis.html").read_text(encoding="utf-8"))
    assert not page.mistakes
    assert len([tag for tag, _ in page.elements if tag == "script"]) == 2
    identities = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    assert {"verdict", "causes", "rules"} <= identities
    links = [attributes["href"] or "" for tag, attributes in page.elements if tag == "a"]
    assert not [link for link in links if link.startswith("#") and link[1:] not in identities]
    assert "undecided" in " ".join(page.inside("span"))
