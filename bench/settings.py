"""How much to measure, and the deployment that the benchmarks share."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from bench.deployment import Deployment


@dataclass(frozen=True, slots=True)
class Settings:
    """Sizes of the large cluster, of logs, of the stream and the captures read; how often each is measured."""

    streams: int = 1000
    consumers_per_stream: int = 10
    rounds: int = 3
    start_rounds: int = 25
    log_megabytes: tuple[int, ...] = (500, 1000)
    stored_messages: int = 1_000_000
    capture_megabytes: int = 200
    published: int = 150_000
    largest_streams: int = 10_000
    manifests: int = 500


class Site:
    """Launches one deployment when it is first asked for: creating it takes longer than measuring it."""

    def __init__(self, settings: Settings, running: contextlib.ExitStack) -> None:
        self.settings = settings
        self._running = running
        self._deployment: Deployment | None = None

    @classmethod
    @contextlib.contextmanager
    def open(cls, settings: Settings) -> Iterator[Self]:
        """A site whose deployment, if there was one, is taken down at the end."""
        with contextlib.ExitStack() as running:
            yield cls(settings, running)

    def deployment(self) -> Deployment:
        """The deployment, empty when it is new. It only grows."""
        if self._deployment is None:
            self._deployment = self._running.enter_context(Deployment.launch(self.settings.consumers_per_stream))
        return self._deployment
