"""The version of the server of a pod."""

from __future__ import annotations

from jsdoctor.model.kubernetes import ServerPod
from jsdoctor.model.release import release
from jsdoctor.model.server import Server


def release_of(pod: ServerPod, server: Server | None) -> tuple[int, ...]:
    """As the server reports it, else as the tag of its image says; () where neither does."""
    if server is not None and server.version:
        return release(server.version)
    tag = pod.container.image.partition("@")[0].rpartition(":")[2]
    return release(tag)
