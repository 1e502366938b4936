"""Every test of what NATS says runs with both readers: the reference, and the compiled one where it is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from jsdoctor.parse.packets.native_core import have_native, native_core
from jsdoctor.parse.packets.native_observer import CompiledObserver
from jsdoctor.parse.packets.nats.observer import NatsObserver
from tests.packets.nats.speech import Ear


def _compiled() -> NatsObserver:
    return CompiledObserver(native_core())


_READERS: dict[str, Callable[[], NatsObserver]] = {"python": NatsObserver}
if have_native():
    _READERS["compiled"] = _compiled


@pytest.fixture(scope="module", autouse=True, params=list(_READERS))
def _reader(request: pytest.FixtureRequest) -> Iterator[None]:
    before = Ear.new_observer
    Ear.new_observer = _READERS[request.param]
    yield
    Ear.new_observer = before
