"""What is read from texts: dates, headers, the option `--scan`; and what is told while a scan goes on."""

import base64
from datetime import UTC, datetime
from pathlib import Path

import pytest

from jsdoctor.configuration.option_values import parse_scan_target
from jsdoctor.model.stored import ScanTarget
from jsdoctor.replies.decoding import ReplyError
from jsdoctor.sources.scan.stream import Rate, date_ns, headers_of
from tests.cli.invoke import jsdoctor

DAY = int(datetime(2026, 11, 21, tzinfo=UTC).timestamp()) * 1_000_000_000


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("2026-11-21T00:00:01.000000001Z", 1_000_000_001),
        ("2026-11-21T00:00:01.5Z", 1_500_000_000),
        ("2026-11-21T00:00:01Z", 1_000_000_000),
        ("2026-11-21T02:00:01.25+02:00", 1_250_000_000),
        ("2026-11-20T23:00:01.25-01:00", 1_250_000_000),
    ],
)
def test_dates(text: str, after: int) -> None:
    assert date_ns(text) == DAY + after


@pytest.mark.parametrize("text", ["", "yesterday", "2026-11-21T00:00:01.xZ"])
def test_what_is_no_date(text: str) -> None:
    with pytest.raises(ReplyError):
        date_ns(text)


def test_headers() -> None:
    raw = base64.b64encode(b"NATS/1.0\r\nNats-Msg-Id: a:b \r\nNats-Msg-Id: c\r\nX:\r\n\r\n").decode()
    assert headers_of(raw) == {"Nats-Msg-Id": "a:b", "X": ""}
    assert headers_of("") == {}


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("ORDERS", ScanTarget("ORDERS")),
        ("ORDERS:5", ScanTarget("ORDERS", 5)),
        ("A:B", ScanTarget("A:B")),
        ("A:5:7", ScanTarget("A:5", 7)),
    ],
)
def test_targets(text: str, target: ScanTarget) -> None:
    assert parse_scan_target(text) == target


@pytest.mark.parametrize("text", ["", ":5", "a.b", "a b", "*", "a>", "a\r\nPUB x 0", "a:0", "a:99999999999"])
def test_what_is_no_target(text: str) -> None:
    with pytest.raises(ValueError, match=r"write it as|from 1 to"):
        parse_scan_target(text)


def test_what_is_reported_meanwhile() -> None:
    rate = Rate("ORDERS", 200_000, lambda _: None)
    assert rate.words(0, 0.1) == "reading the headers of ORDERS: 0 of 200,000"
    assert rate.words(40_000, 2.0) == "reading the headers of ORDERS: 40,000 of 200,000, 20,000/s, 8 s left"


def test_a_bundle_cannot_be_scanned(tmp_path: Path) -> None:
    done = jsdoctor("check", "--bundle", "x.zip", "--scan", "ORDERS", cwd=tmp_path)
    assert done.returncode == 2
    assert "--scan cannot be given with it" in done.stderr
