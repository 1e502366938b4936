"""The API level that a stream or consumer needs, and the one that a server has.

A server of 2.11 or later writes the level into the metadata of what it stores (server: jetstream_versioning.go), and
every version keeps metadata, also one that does not know the level.
"""

from __future__ import annotations

import re

from jsdoctor.model.release import release
from jsdoctor.model.server import Server
from jsdoctor.model.snapshot import Consumer, Stream

_REQUIRED = "_nats.req.level"
_LEVEL = re.compile(r"[0-9]{1,9}")
_LEVELS_SINCE = (2, 11)
_OFFLINE_SINCE = (2, 11, 9)
"""From here on a server takes what it does not know out of service; before, it runs without it."""


def required_level(asset: Stream | Consumer) -> int:
    """The API level that it needs; 0 where it states none."""
    text = asset.config.metadata.get(_REQUIRED, "0")
    return 0 if text == "0" else int(text) if _LEVEL.fullmatch(text) else 0


def level_of_version(version: str) -> int | None:
    """0 before 2.11, which has no levels, 1 for 2.11; None where patches of a release differ, or it is none."""
    known = release(version)[:2]
    if not known or known > _LEVELS_SINCE:
        return None
    return int(known == _LEVELS_SINCE)


def level_of(server: Server) -> int | None:
    """The API level of a server; None where it shows neither its level nor a version that has one."""
    reported = server.jetstream.api.level if server.jetstream else None
    return reported if reported is not None else level_of_version(server.version)


def goes_offline(version: str) -> bool:
    """Whether that version refuses to run what needs a higher level than it has."""
    return release(version) >= _OFFLINE_SINCE


def takes_out_of_service(server: Server) -> bool:
    """Whether that server would take any asset out of service for its level."""
    return level_of(server) is not None and goes_offline(server.version)


def is_offline(asset: Stream | Consumer, server: Server | None) -> bool:
    """Whether that server, which lists the asset, has taken it out of service for its level."""
    level = level_of(server) if server else None
    return bool(server and level is not None and goes_offline(server.version) and required_level(asset) > level)
