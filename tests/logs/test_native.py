"""The compiled scan gives the rows of the one in Python, whatever it reads."""

import random
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsdoctor.app.rulebook import open_rulebook
from jsdoctor.logs.lines.matcher import Matcher
from jsdoctor.logs.scan.native_core import have_native
from jsdoctor.logs.scan.part import BLOCK
from jsdoctor.sources.archives.part import Scanner
from tests.logs.corpus import REAL, SIGNATURES, WRAPPINGS
from tests.logs.same_rows import differences, parts_of, reference
from tests.logs.test_fuzz import RUN, mutated

pytestmark = pytest.mark.skipif(not have_native(), reason="the compiled scan is not installed: `make native` builds it")

LOGS = sorted(path for path in REAL.rglob("*") if path.is_file())
FIXTURES = REAL.parent


@cache
def rules() -> Matcher:
    return Matcher(signature for rule in open_rulebook().rules for signature in rule.signatures)


@cache
def few() -> Matcher:
    return Matcher(SIGNATURES)


def assert_same(
    inputs: list[Path], *, matcher: Matcher | None = None, size: int = 1 << 24, block: int = BLOCK, zone: str = ""
) -> None:
    matcher = matcher or rules()
    native = Scanner(matcher, block=block, native=True)
    assert list(differences(native, reference(matcher, block), parts_of(inputs, size, zone))) == []


def test_logs_of_real_servers() -> None:
    assert_same(LOGS)


def test_logs_of_cases() -> None:
    inputs = sorted(path for path in (FIXTURES / "rules").glob("JSD*/**/*.log*") if path.is_file())
    assert inputs
    assert_same(inputs)


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_wrapped_lines(wrapping: str, tmp_path: Path) -> None:
    lines = (REAL / "2.15.1" / "c2-n1.log").read_bytes().splitlines()
    file = tmp_path / "n1.log"
    file.write_bytes(b"\n".join(map(WRAPPINGS[wrapping], lines)) + b"\n")
    assert_same([file], size=30_001)


HEADERS = (
    b"[7119] 2026/11/21 10:05:%02d.354814 [%s] ",
    b"2026/11/21 10:05:%02d.354814 [%s] ",
    b"[7119] 2026/11/21 10:05:%02d.354814 [\x1b[31m%s\x1b[0m] ",
    b"[pod/nats-0/nats] [7119] 2026/11/21 10:05:%02d.354814 [%s] ",
    b"[%d] [%s] ",
)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_examples_of_every_signature(end: bytes, tmp_path: Path) -> None:
    """At every level and behind every kind of header: some ten thousand lines."""
    chance = random.Random(1)  # noqa: S311  # a shuffle
    messages = [
        example.encode().partition(b"] ")[2] if example.startswith("[") else example.encode()
        for signature in rules().signatures
        for example in signature.examples
    ]
    levels = (b"INF", b"WRN", b"ERR", b"FTL", b"DBG", b"TRC")
    texts = [message.rpartition(b"] ")[2] for message in messages] + messages
    lines = [header % (second % 60, level) for second, header in enumerate(HEADERS) for level in levels]
    made = [chance.choice(lines) + text for text in texts for _ in range(4)]
    chance.shuffle(made)
    file = tmp_path / "n1.log"
    file.write_bytes(end.join(made) + end)
    assert_same([file])


@pytest.mark.nightly
def test_many_subjects_and_much_time(tmp_path: Path) -> None:
    """More counts than are held at a time, and a clock that goes to and fro."""
    line = b"[1] 2026/11/%02d %02d:%02d:00.000001 [WRN] JetStream cluster stream 'A > S%d' has NO quorum, stalled\n"
    file = tmp_path / "n1.log"
    file.write_bytes(b"".join(line % (1 + n % 28, n % 24, n % 60, n % 20_500) for n in range(41_500)))
    assert_same([file], matcher=few(), block=1 << 20)


@RUN
@given(data=mutated(), zone=st.sampled_from(("", "Europe/Berlin", "+05:45")), block=st.sampled_from((1000, 70_000)))
def test_mutated_logs(tmp_path: Path, data: bytes, zone: str, block: int) -> None:
    file = tmp_path / "n1.log"
    file.write_bytes(data)
    assert_same([file], matcher=few(), zone=zone, block=block)
