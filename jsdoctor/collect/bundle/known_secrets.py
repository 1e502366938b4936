"""What must not be kept because we were given it: the secrets that a connection was made with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from jsdoctor.collect.connect.settings import ConnectionSettings
from jsdoctor.collect.live.monitor_url import parse_monitor_url
from jsdoctor.parse.redact import Secret

_KEY_LINE = re.compile(r"^[A-Za-z0-9+/=]{16,}$", re.MULTILINE)


def known_secrets(settings: ConnectionSettings, monitor: Iterable[str] = ()) -> tuple[Secret, ...]:
    """Every secret of the settings and of the monitoring URLs. Raises UsageProblem for a URL that is none."""
    return tuple(dict.fromkeys(_all(settings, monitor)))


def _all(settings: ConnectionSettings, monitor: Iterable[str]) -> Iterator[Secret]:
    for login in (settings.login, *settings.server_logins):
        for kind in ("password", "token", "jwt", "seed"):
            if text := getattr(login, kind):
                yield Secret(kind, text)
    for url in monitor:
        if (named := parse_monitor_url(url).login) and named[1]:
            yield Secret("password", named[1])
    if settings.tls_key is not None:
        yield from (Secret("tls_key", line) for line in _key_lines(settings.tls_key))


def _key_lines(path: Path) -> list[str]:
    """The lines between BEGIN and END: a copy may have lost these."""
    try:
        return _KEY_LINE.findall(path.read_text("ascii", errors="replace"))
    except OSError:
        return []  # it could be read when the settings were made; now it is gone, and nothing was read from it
