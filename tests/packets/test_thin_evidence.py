"""Every check runs on evidence whose lists are empty or of one element, and whose numbers are 0, 1 or doubled."""

import gzip
import typing
from enum import Enum
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from jsdoctor.model.finding import Outcome
from jsdoctor.model.packets import PacketEvidence
from jsdoctor.packets.nats.observer import NatsObserver
from jsdoctor.sources.packets.files import read_captures
from tests.support.packet_cases import CAPTURES, only_packets
from tests.support.ruleset import run_all

_SMALL_BYTES = 3_000_000
_PLACES = {"capture", "number", "near", "far"}
"""Fields that name an element of another list: a reader never names one that is not there."""


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> list[PacketEvidence]:
    directory = tmp_path_factory.mktemp("captures")
    return [read for path in sorted(CAPTURES.glob("*.gz")) if (read := _read(path, directory)) is not None]


def _read(packed: Path, directory: Path) -> PacketEvidence | None:
    content = gzip.decompress(packed.read_bytes())
    if len(content) > _SMALL_BYTES:
        return None
    path = directory / packed.stem
    path.write_bytes(content)
    observer = NatsObserver()
    read = read_captures([path], lambda _: observer)
    return msgspec.structs.replace(read, nats=observer.traffic())


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _is_list(hint: Any) -> bool:
    """Whether a tuple may be of any length."""
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) is tuple:
        return arguments[-1:] == (Ellipsis,)
    return any(map(_is_list, arguments))


def _thinned(value: Any, hint: Any, chance: Random, share: float) -> Any:
    if isinstance(value, bool | Enum):
        return value
    if isinstance(value, msgspec.Struct):
        hints = _hints(type(value))
        fields = {name: getattr(value, name) for name in value.__struct_fields__ if name not in _PLACES}
        changed = {name: _thinned(field, hints[name], chance, share) for name, field in fields.items()}
        return msgspec.structs.replace(value, **changed)
    if isinstance(value, tuple):
        kept = chance.choice((0, 1)) if _is_list(hint) and chance.random() < 3 * share else len(value)
        return tuple(_thinned(item, None, chance, share) for item in value[:kept])
    if isinstance(value, int) and chance.random() < share:
        return chance.choice((0, 1, 2 * value))
    return value


@pytest.mark.parametrize(("runs", "seed"), [(400, 1), pytest.param(50_000, 2, marks=pytest.mark.nightly)])
def test_every_check_runs(evidence: list[PacketEvidence], runs: int, seed: int) -> None:
    chance = Random(seed)  # noqa: S311 - the same again is what is wanted
    for _ in range(runs):
        read, share = chance.choice(evidence), chance.choice((0.005, 0.03, 0.1, 0.3))
        hints = _hints(PacketEvidence)
        thin = {name: _thinned(getattr(read, name), hints[name], chance, share) for name in ("connections", "nats")}
        for result in run_all(only_packets(msgspec.structs.replace(read, **thin))).results:
            assert result.finding.outcome is not Outcome.ERROR, (result.rule.code, result.finding.message)
