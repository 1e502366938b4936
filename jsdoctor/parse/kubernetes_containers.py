"""The container of nats-server in the specification of a pod: its limits, its probes, and how it is stopped.

Of its environment only GOMEMLIMIT is read.
"""

from __future__ import annotations

import re

from jsdoctor.model.kubernetes import ContainerProbe, ServerContainer, Shutdown
from jsdoctor.parse.kubernetes_objects import Json, elements, inner, moment, size, text, whole

_IMAGE = re.compile(r"(?:^|/)nats(?:-server)?(?::|@|$)")
"""`nats:2.12`, `docker.io/library/nats@sha256:…`, `example.org/nats-server:2.12`; no exporter and no nats-box."""
_PATH = re.compile(r"/(?:healthz|varz|jsz|connz|routez)[^\s\"'\\]*")
_LAME_DUCK = re.compile(r"(?:-sl|--?signal)[= ]\"?ldm\b|\bUSR2\b")
_SLEEP = re.compile(r"\bsleep\s+(\d+)")
_GO_SIZE = re.compile(r"(\d+)(B|KiB|MiB|GiB|TiB)?", re.ASCII)
_GO_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_DEFAULT_GRACE_S = 30


def server_container(spec: Json) -> Json | None:
    """The container that runs nats-server; None where the pod has none."""
    return next((element for element in elements(spec, "containers") if _IMAGE.search(text(element, "image"))), None)


def container_of(container: Json, status: Json) -> ServerContainer:
    """Its specification and its state."""
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
    """How its pod is stopped. The waits of a hook before the signal are separate from those after it."""
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
        period_s=whole(given.get("periodSeconds"), 10),
        failures=whole(given.get("failureThreshold"), 3),
    )


def _go_memory_limit(container: Json, limit: int) -> int | None:
    """GOMEMLIMIT in bytes (Go: runtime, parseByteCount); it may be taken from the container's own limit."""
    given = next((element for element in elements(container, "env") if element.get("name") == "GOMEMLIMIT"), None)
    if given is None:
        return None if container.get("envFrom") else 0
    source = inner(given, "valueFrom", "resourceFieldRef")
    if source.get("resource") == "limits.memory" and text(source, "divisor") in ("", "0", "1"):
        return limit
    match = _GO_SIZE.fullmatch(text(given, "value")[:30])
    return int(match[1]) << 10 * _GO_UNITS.index(match[2] or "B") if match else None
