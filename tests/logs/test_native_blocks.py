"""The compiled scan beside the one in Python on random blocks: real lines, examples, wrapped, damaged and cut ones."""

import random
from collections.abc import Iterator

import pytest

from jsdoctor.app.rulebook import open_rulebook
from jsdoctor.logs.aggregate.aggregation import aggregate
from jsdoctor.logs.lines.matcher import Matcher
from jsdoctor.logs.scan.native_core import NativeScan, have_native
from jsdoctor.logs.scan.part import PartScan
from jsdoctor.model.log_scan import Part, Row
from tests.logs.corpus import REAL, SIGNATURES, WRAPPINGS
from tests.logs.same_rows import joined
from tests.logs.test_native import HEADERS

pytestmark = pytest.mark.skipif(not have_native(), reason="the compiled scan is not installed: `make native` builds it")

NASTY = (
    *(
        b"\r",
        b"\x00",
        b"\xff\xfe",
        b"\xed\xa0\x80",
        b"^C",
        b'{"log":"',
        b"[1] ",
        b"[WRN] ",
        b"==> x <==",
        b"--- n1.log",
    ),
    *(
        b"2026/11/21 09:23:30.349568 [",
        b"9999/99/99 99:99:99.999999 [INF] ",
        b"2026-11-21T09:23:30Z",
        b"12.5s",
        b"1m30s",
    ),
    *(b"Starting nats-server", b" has NO quorum, stalled", b"'A > B' ", b"\\u003e", b'"}', b"panic: ", b"[FTL] "),
    *(b"\x1b[31m", b"  Name:     n9", b"x" * 3000, b"x" * 17_000, "²".encode()),
)
LEVELS = (b"INF", b"WRN", b"ERR", b"FTL", b"DBG", b"TRC")
ZONES = ("", "", "Europe/Berlin", "+05:45")


class Blocks:
    """Random blocks; the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311  # no secret
        rules = [signature for rule in open_rulebook().rules for signature in rule.signatures]
        self.matchers = (Matcher(SIGNATURES), Matcher(rules))
        self._lines = [example.encode() for signature in rules for example in signature.examples]
        for path in sorted(path for path in REAL.rglob("*") if path.is_file()):
            lines = path.read_bytes()[:400_000].splitlines()
            self._lines += self._random.sample(lines, min(len(lines), 150))

    def scan(self) -> tuple[Part, Matcher, list[bytes]]:
        """A part, what to look for, and its blocks: from one to forty."""
        size, zone = self._random.choice((1000, 1 << 30)), self._random.choice(ZONES)
        part = Part(path="n1", name="n1", series="n1", end=1 << 20, size=size, weight=1, mtime_us=1 << 50, zone=zone)
        blocks = [self._block() for _ in range(self._random.choice((1, 5, 40)))]
        return part, self._random.choice(self.matchers), blocks

    def _block(self) -> bytes:
        lines = [self._line() for _ in range(self._random.randrange(1, 6))]
        return b"\n".join(lines) + self._random.choice((b"\n", b"\n", b"\r\n"))

    def _line(self) -> bytes:
        line, kind = self._random.choice(self._lines), self._random.random()
        if kind < 0.2:
            header = self._random.choice(HEADERS) % (self._random.randrange(70), self._random.choice(LEVELS))
            line = header + line.rpartition(b"] ")[2]
        elif kind < 0.35:
            line = self._random.choice(list(WRAPPINGS.values()))(line)
        elif kind < 0.5:
            for _ in range(self._random.randrange(1, 4)):
                at = self._random.randrange(len(line) + 1)
                line = line[:at] + self._random.choice(NASTY) + line[at + self._random.choice((0, 0, 1, 5, 20)) :]
        elif kind < 0.58:
            line = line[: self._random.randrange(len(line) + 1)]
        return line.replace(b"\n", b"")


def rows(scan: PartScan, blocks: list[bytes], lets_go: random.Random | None = None) -> Iterator[Row]:
    """`lets_go`: behind some blocks the scan lets go of what it has counted, as it does where it has counted much."""
    base = 0
    for block in blocks:
        yield from scan.feed(block, base)
        base += len(block)
        if lets_go is not None and lets_go.random() < 0.1:
            yield from scan._count_rows(at_end=True)  # no block of so few lines fills it
    yield from scan.finish(last=True, read=base)


def compare(seed: int, count: int) -> None:
    made, done = Blocks(seed), 0
    while done < count:
        part, matcher, blocks = made.scan()
        native, plain = NativeScan(part, matcher), PartScan(part, matcher)
        lets_go = random.Random(done)  # noqa: S311  # no secret
        by_core, by_reference = list(rows(native, blocks, lets_go)), list(rows(plain, blocks))
        assert joined(by_core) == joined(by_reference), (seed, done, part, blocks)
        native_rows = list(aggregate(sorted(by_core), native=True))
        assert native_rows == list(aggregate(sorted(by_reference), native=False)), (seed, done, part, blocks)
        done += len(blocks)


def test_some_blocks() -> None:
    compare(1, 300)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2, 12))
def test_a_million_blocks(seed: int) -> None:
    compare(seed, 100_000)
