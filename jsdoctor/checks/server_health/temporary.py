"""Directories whose contents do not last."""

from __future__ import annotations

_IN_MEMORY = ("/dev/shm", "/run")  # noqa: S108 - looked for, not used
_TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108
_FALLBACKS = ("/tmp/nats/jetstream", "/tmp/jetstream")  # noqa: S108


def is_in_memory(path: str) -> bool:
    """Whether it is on a file system in memory on the usual Linux."""
    return _below(path, _IN_MEMORY)


def is_temporary(path: str) -> bool:
    """Whether it is made for temporary files."""
    return _below(path, _TEMPORARY)


def is_the_fallback(path: str) -> bool:
    """Whether it is what a server takes when nothing is configured (jetstream.go dynJetStreamConfig)."""
    return path.removesuffix("/") in _FALLBACKS


def _below(path: str, parents: tuple[str, ...]) -> bool:
    return any(path == parent or path.startswith(parent + "/") for parent in parents)
