"""Objects of the Kubernetes API and quantities in them; the container of nats-server: limits, probes, its stop.

Of its environment only GOMEMLIMIT is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec

from jsdoctor.model.kubernetes import ContainerProbe, ServerContainer, Shutdown

_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)([kMGTPE]i?|Ki)?", re.ASCII)
_POWERS = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
_MAX_CHARACTERS = 40


def quantity_bytes(text: str) -> int | None:
    """Bytes of a quantity such as `10Gi`; None for other text."""
    match = _QUANTITY.fullmatch(text[:_MAX_CHARACTERS])
    if match is None:
        return None
    suffix = match[2] or ""
    return int(float(match[1]) * (1024 if suffix.endswith("i") else 1000) ** _POWERS[suffix[:1]])


Json = Mapping[str, Any]


def inner(value: Json, *keys: str) -> Json:
    """The object under this path of keys."""
    for key in keys:
        member = value.get(key)
        value = member if isinstance(member, dict) else {}
    return value


def elements(value: Json, key: str) -> Iterator[Json]:
    """The objects of a list."""
    member = value.get(key)
    return (item for item in (member if isinstance(member, list) else ()) if isinstance(item, dict))


def text(value: Json, key: str) -> str:
    """The member as text; empty if it is missing, null, an object or a list."""
    member = value.get(key)
    return "" if member is None or isinstance(member, dict | list) else str(member)


def whole(value: object, default: int = 0) -> int:
    """A whole number, else the default."""
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def size(value: object) -> int:
    """Bytes of a quantity; 0 if it is none."""
    return (quantity_bytes(str(value)) or 0) if isinstance(value, str | int) else 0


def moment(value: object) -> datetime | None:
    """The time in a text; None if there is none."""
    try:
        return msgspec.convert(value, datetime) if isinstance(value, str) else None
    except msgspec.ValidationError:
        return None


_IMAGE = re.compile(r"(?:^|/)nats(?:-server)?(?::|@|$)")
"""`nats:2.12`, `docker.io/library/nats@sha256:…`, `example.org/nats-server:2.12`; no exporter and no nats-box."""
_PATH = re.compile(r"/(?:healthz|varz|jsz|connz|routez)[^\s\"'\\]*")
_LAME_DUCK = re.compile(r"(?:-sl|--?signal)[= ]\"?ldm\b|\bUSR2\b")
_SLEEP = re.compile(r"\bsleep\s+(\d+)")
_GO_SIZE = re.compile(r"(\d+)(B|KiB|MiB|GiB|TiB)?", re.ASCII)
_GO_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_DEFAULT_GRACE_S, _DEFAULT_PERIOD_S, _DEFAULT_FAILURES = 30, 10, 3
"""What Kubernetes takes for `terminationGracePeriodSeconds`, `periodSeconds` and `failureThreshold` without a value."""


def server_container(spec: Json) -> Json | None:
    """The container that runs nats-server; None where the pod has none."""
    return next((element for element in elements(spec, "containers") if _IMAGE.search(text(element, "image"))), None)


def container_of(container: Json, status: Json) -> ServerContainer:
    """A container of nats-server with its limits, probes and state."""
    name = text(container, "name")
    shown = next((element for element in elements(status, "containerStatuses") if element.get("name") == name), {})
    ended = inner(shown, "state", "terminated") or inner(shown, "lastState", "terminated")
    limit = size(inner(container, "resources", "limits").get("memory"))
    return ServerContainer(
        name=name,
        image=text(container, "image"),
        memory_limit=limit,
        go_memory_limit=_go_memory_limit(container, limit),
        startup=_probe(container, "startupProbe"),
        readiness=_probe(container, "readinessProbe"),
        liveness=_probe(container, "livenessProbe"),
        restarts=whole(shown.get("restartCount")),
        waiting=text(inner(shown, "state", "waiting"), "reason"),
        ended=text(ended, "reason"),
        exit_code=whole(ended.get("exitCode")),
        ended_at=moment(ended.get("finishedAt")),
    )


def shutdown_of(spec: Json, container: Json) -> Shutdown:
    """How the pod is stopped: its grace, and how long its hook waits before and after it signals the server."""
    hook = inner(container, "lifecycle", "preStop")
    command = _command(inner(hook, "exec"))
    signal = _LAME_DUCK.search(command)
    asleep = [(match.start(), int(match[1][:9])) for match in _SLEEP.finditer(command)]
    before = sum(seconds for place, seconds in asleep if signal is None or place < signal.start())
    after = sum(seconds for place, seconds in asleep if signal is not None and place > signal.start())
    by_image = text(inner(container, "lifecycle"), "stopSignal") == "SIGUSR2"
    return Shutdown(
        grace_s=whole(spec.get("terminationGracePeriodSeconds"), _DEFAULT_GRACE_S),
        lame_duck=signal is not None or by_image,
        before_s=before + whole(inner(hook, "sleep").get("seconds")),
        after_s=after,
    )


def _command(run: Json) -> str:
    words = run.get("command")
    return " ".join(str(word) for word in words) if isinstance(words, list) else ""


def _probe(container: Json, kind: str) -> ContainerProbe | None:
    given = inner(container, kind)
    if not given:
        return None
    in_command = _PATH.search(_command(inner(given, "exec")))
    path = text(inner(given, "httpGet"), "path") if "httpGet" in given else in_command[0] if in_command else ""
    return ContainerProbe(
        path=path,
        delay_s=whole(given.get("initialDelaySeconds")),
        period_s=whole(given.get("periodSeconds"), _DEFAULT_PERIOD_S),
        failures=whole(given.get("failureThreshold"), _DEFAULT_FAILURES),
    )


def _go_memory_limit(container: Json, limit: int) -> int | None:
    """GOMEMLIMIT in bytes (Go: runtime, parseByteCount), 0 without it; None if its value is not shown."""
    given = next((element for element in elements(container, "env") if element.get("name") == "GOMEMLIMIT"), None)
    if given is None:
        return None if container.get("envFrom") else 0
    source = inner(given, "valueFrom", "resourceFieldRef")
    if source.get("resource") == "limits.memory" and text(source, "divisor") in ("", "0", "1"):
        return limit
    match = _GO_SIZE.fullmatch(text(given, "value")[:30])
    return int(match[1]) << 10 * _GO_UNITS.index(match[2] or "B") if match else None
