"""JSD812: a TLS certificate of a server that has expired or soon will."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import msgspec

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed, unknown
from jsdoctor.model.params import Params
from jsdoctor.model.server import Server, Servers, Varz
from jsdoctor.model.wording import counted, span

_DAY = timedelta(days=1)
_NEVER_YEAR = 1
"""The year of Go's zero time, which means that there is no certificate."""


class Certificate(msgspec.Struct, frozen=True):
    """The certificate of one listener, and how long it is still valid by its server's own clock."""

    listener: str
    path: str
    not_after: datetime
    left: timedelta


@check("server_health.certificate_expiring")
def certificate_expiring(servers: Servers, params: Params) -> Iterator[Finding]:
    """Judge the certificates in use: the files may be newer, as a server reads them at a start or reload only."""
    warn_ns, fail_ns = params.integer("warn_left"), params.integer("min_left")
    for server in servers.servers:
        varz = server.varz
        if varz is None:
            yield unknown(server.subject, "its variables were not read", "see the gaps of this run")
            continue
        certificates = sorted(_certificates(server, varz), key=lambda certificate: certificate.left)
        if certificates and _ns(certificates[0].left) <= warn_ns:
            late = [c for c in certificates if _ns(c.left) <= warn_ns]
            left_ns = _ns(late[0].left)
            expired = late[0].left <= timedelta()
            severity = Severity.CRITICAL if expired else None if left_ns <= fail_ns else Severity.WARNING
            yield failed(
                server.subject,
                "; ".join(map(_certificate_text, late)),
                *(server.observed(certificate.path, certificate.not_after) for certificate in late),
                server.observed("now", server.varz.now if server.varz else None),
                severity=severity,
                measured=(left_ns, 0 if expired else fail_ns if left_ns <= fail_ns else warn_ns, "duration"),
                between=(late[0].not_after if expired else None, None),
            )
        elif certificates:
            yield passed(server.subject)
        elif _has_tls(varz):
            yield unknown(
                server.subject,
                f"it uses TLS and does not say when its certificate expires (version {server.version or 'unknown'})",
                "run openssl x509 -enddate -noout -in CERT on its host; servers of 2.12.8 and later tell",
            )


def _certificates(server: Server, varz: Varz) -> Iterator[Certificate]:
    now = varz.now or server.at
    listeners = (
        ("clients", "tls_cert_not_after", varz.tls_cert_not_after),
        ("routes", "cluster.tls_cert_not_after", varz.cluster and varz.cluster.tls_cert_not_after),
        ("gateways", "gateway.tls_cert_not_after", varz.gateway and varz.gateway.tls_cert_not_after),
        ("leaf nodes", "leaf.tls_cert_not_after", varz.leaf and varz.leaf.tls_cert_not_after),
        ("MQTT", "mqtt.tls_cert_not_after", varz.mqtt and varz.mqtt.tls_cert_not_after),
        ("WebSocket", "websocket.tls_cert_not_after", varz.websocket and varz.websocket.tls_cert_not_after),
    )
    for listener, path, not_after in listeners:
        if not_after and not_after.year != _NEVER_YEAR:
            yield Certificate(listener, path, not_after, not_after - now)


def _has_tls(varz: Varz) -> bool:
    listeners = (varz.cluster, varz.gateway, varz.leaf, varz.mqtt, varz.websocket)
    return varz.tls_required or any(listener.tls_required for listener in listeners if listener)


def _ns(duration: timedelta) -> int:
    return duration // timedelta(microseconds=1) * 1000


def _certificate_text(certificate: Certificate) -> str:
    when, name = f"{certificate.not_after:%Y-%m-%d %H:%M} UTC", f"its certificate for {certificate.listener}"
    refused = "refused by every side that verifies it"
    if certificate.left <= timedelta():
        ago = span(_ns(-certificate.left))
        return f"{name} expired {ago} ago ({when}): connections that are open go on, new ones are {refused}"
    left = counted(certificate.left // _DAY, "day") if certificate.left >= _DAY else span(_ns(certificate.left))
    return f"{name} expires in {left} ({when}): from then on new connections are {refused}"
