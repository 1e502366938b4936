"""The compiled reader of packets finds what the one in Python finds, whatever it reads."""

from __future__ import annotations

import gzip
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsdoctor.collect.packets.native import nats_observer, packet_core
from jsdoctor.model.nats_traffic import NatsTraffic
from jsdoctor.parse.packets.native_core import have_native, native_core
from jsdoctor.parse.packets.native_observer import CompiledObserver
from jsdoctor.parse.packets.nats.observer import NatsObserver
from tests.packets.mutations import mutated
from tests.packets.nats.speech import CONNECT, INFO, Ear
from tests.packets.nats.test_usual import Segment, talks
from tests.packets.same_evidence import differences, evidence
from tests.support.packet_cases import CAPTURES

pytestmark = pytest.mark.skipif(not have_native(), reason="the compiled core is not installed: `make native` builds it")

FILES = sorted(CAPTURES.glob("*.gz"))


def assert_same(*paths: Path) -> None:
    assert differences(evidence(paths, native=False), evidence(paths, native=True)) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_recorded_captures(path: Path) -> None:
    assert_same(path)


def test_captures_of_both_ends() -> None:
    for client in CAPTURES.glob("*.client.pcap.gz"):
        server = client.with_name(client.name.replace(".client.", ".server."))
        if server.exists():
            assert_same(client, server)


@pytest.mark.parametrize(("runs", "seed"), [(150, 1), pytest.param(20_000, 2, marks=pytest.mark.nightly)])
def test_damaged_captures(tmp_path: Path, runs: int, seed: int) -> None:
    sources = [gzip.decompress(path.read_bytes()) for path in FILES]
    path = tmp_path / "a.pcap"
    for number in range(runs):
        chance = Random(seed * 1_000_000 + number)  # noqa: S311 - seeded on purpose
        path.write_bytes(mutated(chance.choice(sources), chance))
        differing = differences(evidence([path], native=False), evidence([path], native=True))
        assert (number, differing) == (number, [])


class _ObservedBy(Ear):
    """An ear for one of both readers."""

    def __init__(self, observer: NatsObserver, midstream: bool) -> None:
        super().__init__(midstream)
        self.observer = observer
        observer.opened(self.connection)

    def traffic_of(self, segments: list[Segment], midstream: bool) -> NatsTraffic:
        """What it makes of that."""
        if not midstream:
            self.server(INFO)
            self.client(CONNECT)
        for segment in segments:
            if segment.captured is None:
                self.skip(len(segment.data), to_server=segment.to_server)
            else:
                captured = len(segment.data) if segment.captured < 0 else segment.captured
                self.say(segment.data, to_server=segment.to_server, captured=captured)
        return self.hang_up()


@given(talks(), st.booleans())
def test_conversations_cut_anywhere(segments: list[Segment], midstream: bool) -> None:
    reference = _ObservedBy(NatsObserver(), midstream).traffic_of(segments, midstream)
    assert (
        differences(reference, _ObservedBy(CompiledObserver(native_core()), midstream).traffic_of(segments, midstream))
        == []
    )


def test_the_environment_turns_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JSDOCTOR_NATIVE", raising=False)
    assert packet_core() is not None
    assert isinstance(nats_observer(), CompiledObserver)
    monkeypatch.setenv("JSDOCTOR_NATIVE", "0")
    assert packet_core() is None
    assert type(nats_observer()) is NatsObserver
