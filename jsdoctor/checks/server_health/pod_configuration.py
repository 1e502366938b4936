"""JSD844: servers that run with an earlier configuration than the one that their pod has mounted."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed, unknown
from jsdoctor.model.kubernetes import KubernetesFacts, PodConfiguration, ServerPod
from jsdoctor.model.manifest import DeclaredServers
from jsdoctor.model.params import Params
from jsdoctor.model.server import Server, Servers

_COMPARED = (("max_payload", "max_payload"), ("max_file_store", "max_storage"), ("max_memory_store", "max_memory"))
"""Settings that a server also reports: their names in the file, and in its replies."""

_NOT_READ = "allow `get` on configmaps; of a file in a Secret, compare its time with config_load_time of /varz"


@check("server_health.pod_configuration")
def pod_configuration(kubernetes: KubernetesFacts, servers: Servers, params: Params) -> Iterator[Finding]:
    """Compare the time of the mounted configuration with that of the last load, after a `grace` for the update."""
    grace = timedelta(seconds=params.number("grace") / 1_000_000_000)
    shown = {server.name: server for server in servers.servers}
    for pod in kubernetes.pods:
        if pod.deleting or not pod.configuration:
            continue
        configuration = kubernetes.configuration_of(pod)
        if configuration is None or configuration.changed is None:
            yield unknown(pod.subject, "when its configuration was changed is not known", _NOT_READ)
            continue
        server = shown.get(pod.name)
        loaded = server.varz.config_load_time if server and server.varz else None
        if server is None or loaded is None:
            how = "allow `get` on pods/proxy, or give a NATS login"
            yield unknown(pod.subject, "when it read its configuration is not known", how)
        elif loaded >= configuration.changed:
            yield passed(pod.subject)
        elif kubernetes.at - configuration.changed < grace:
            reason = "its configuration was changed just now, and it has not read it yet"
            yield unknown(pod.subject, reason, f"run the check again in {int(grace.total_seconds())} s")
        else:
            yield _finding(kubernetes, pod, configuration, server, grace)


def _finding(
    facts: KubernetesFacts, pod: ServerPod, configuration: PodConfiguration, server: Server, grace: timedelta
) -> Finding:
    changed = configuration.changed or facts.at
    loaded = (server.varz.config_load_time if server.varz else None) or changed
    differing = [
        f"{name} is {value:,} there and {runs:,} here"
        for name, value, runs in _differing_values(configuration.servers, server)
    ]
    known = f": {'; '.join(differing)}" if differing else ", and which settings differ cannot be seen"
    return failed(
        pod.subject,
        f"{configuration.name} was changed at {changed:%Y-%m-%d %H:%M:%S}Z, and it runs with what it read at"
        f" {loaded:%Y-%m-%d %H:%M:%S}Z{known}. Its next restart takes the change, or fails",
        facts.observed(f"configurations.{configuration.name}.changed", changed.isoformat()),
        server.observed("config_load_time", loaded.isoformat()),
        severity=None if differing else Severity.INFO,
        measured=(int((facts.at - changed).total_seconds()), int(grace.total_seconds()), "s"),
        remedy={"namespace": facts.namespace},
    )


def _differing_values(file: DeclaredServers, server: Server) -> Iterator[tuple[str, int, int]]:
    stats, varz = server.jetstream, server.varz
    runs = {
        "max_payload": varz.max_payload if varz else None,
        "max_storage": stats.config.max_storage if stats and stats.config else None,
        "max_memory": stats.config.max_memory if stats and stats.config else None,
    }
    for name, reported in _COMPARED:
        stated, value = file.get(name), runs[reported]
        if isinstance(stated, int) and value is not None and stated != value:
            yield name, stated, value
