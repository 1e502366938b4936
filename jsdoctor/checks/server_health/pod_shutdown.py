"""JSD841: pods that Kubernetes kills before their server has stopped in order."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, Severity, failed, passed, unknown
from jsdoctor.model.kubernetes import KubernetesFacts, PodConfiguration, ServerPod, Shutdown
from jsdoctor.model.params import Params
from jsdoctor.model.release import release
from jsdoctor.model.server import Server, Servers
from jsdoctor.model.wording import counted

_NS_PER_S = 1_000_000_000
_LAME_DUCK_DEFAULTS_S = {"lame_duck_duration": 120, "lame_duck_grace_period": 10}
"""The settings of lame duck mode, and their defaults in seconds (server: const.go)."""


@check("server_health.pod_shutdown")
def pod_shutdown(kubernetes: KubernetesFacts, servers: Servers | None, params: Params) -> Iterator[Finding]:
    """Compare the grace period with the time that a stop takes; lame duck mode ignores SIGTERM (server: signal.go)."""
    margin = int(params.number("margin") / _NS_PER_S)
    shown = {server.name: server for server in servers.servers} if servers else {}
    for pod in kubernetes.pods:
        if pod.shutdown is None or pod.deleting:
            continue
        if not pod.shutdown.lame_duck:
            yield _plain_finding(kubernetes, pod, pod.shutdown)
            continue
        configuration = kubernetes.configuration_of(pod)
        if configuration is None or configuration.servers.unclear & _LAME_DUCK_DEFAULTS_S.keys():
            reason = "it is stopped in lame duck mode, and its configuration, which has the duration, was not read"
            yield unknown(pod.subject, reason, "allow `get` on configmaps, or see lame_duck_duration in its file")
        else:
            yield _lame_duck_finding(kubernetes, pod, configuration, shown.get(pod.name), margin)


def _plain_finding(facts: KubernetesFacts, pod: ServerPod, shutdown: Shutdown) -> Finding:
    hook = shutdown.before_s + shutdown.after_s
    if shutdown.grace_s > hook:
        return passed(pod.subject)
    waits = f"its preStop hook waits for {hook} s" if hook else "its server needs some seconds to stop"
    return failed(
        pod.subject,
        f"Kubernetes kills it {shutdown.grace_s} s after the request to stop (terminationGracePeriodSeconds),"
        f" and {waits}: it never gets the signal to stop, and starts with a store that was not closed",
        _grace(facts, pod, shutdown),
        measured=(shutdown.grace_s, hook + 1, "s"),
        remedy={**facts.remedy},
    )


def _lame_duck_finding(
    facts: KubernetesFacts, pod: ServerPod, configuration: PodConfiguration, server: Server | None, margin: int
) -> Finding:
    """A server closes a client each second, more where there are too many for the duration (server.go lameDuckMode)."""
    shutdown = pod.shutdown or Shutdown()
    duration, quiet = (_seconds(configuration, name) for name in _LAME_DUCK_DEFAULTS_S)
    longest = max(shutdown.before_s + duration, shutdown.before_s + shutdown.after_s)
    if shutdown.grace_s >= longest + margin:
        return passed(pod.subject)
    clients = server.varz.connections if server and server.varz else None
    now = shutdown.before_s + min(duration, quiet + (clients or 0))
    too_short = clients is not None and shutdown.grace_s < now
    before = f" after {shutdown.before_s} s in its preStop hook" if shutdown.before_s else ""
    store = (
        " all at once, and its store is not closed" if server and _keeps_jetstream(server.version) else " all at once"
    )
    with_them = "" if clients is None else f", {now} s with the {counted(clients, 'client')} of now"
    return failed(
        pod.subject,
        f"Kubernetes kills it {shutdown.grace_s} s after the request to stop (terminationGracePeriodSeconds),"
        f" and lame duck mode takes up to {duration} s{before}{with_them}: the clients that are left then are cut off"
        f"{store}",
        _grace(facts, pod, shutdown),
        *([server.observed("connections", clients)] if server and clients is not None else ()),
        severity=None if too_short else Severity.INFO,
        measured=(shutdown.grace_s, longest + margin, "s"),
        remedy={**facts.remedy},
    )


def _keeps_jetstream(version: str) -> bool:
    """Whether JetStream runs until the end of lame duck mode; older servers stop it first (runLameDuckMode)."""
    known = release(version)
    return known >= (2, 15, 3) or (2, 14, 10) <= known < (2, 15)


def _grace(facts: KubernetesFacts, pod: ServerPod, shutdown: Shutdown) -> Observation:
    return facts.observed(f"pods.{pod.name}.shutdown.grace_s", shutdown.grace_s)


def _seconds(configuration: PodConfiguration, name: str) -> int:
    stated = configuration.servers.get(name)
    return _LAME_DUCK_DEFAULTS_S[name] if stated is None else -(-int(stated) // _NS_PER_S)
