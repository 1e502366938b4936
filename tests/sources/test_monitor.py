"""Collection from HTTP monitoring ports of real servers, and from ports that are none."""

import base64
import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from typing import ClassVar

import httpx2
import pytest

from jsdoctor.model.gap import Gap
from jsdoctor.model.problems import UsageProblem
from jsdoctor.model.server import Servers
from jsdoctor.replies.assemble import assemble
from jsdoctor.sources.servers.monitor_url import MonitorUrl, parse_monitor_url
from tests.servers import ClusterFactory, wait_until
from tests.servers.http import get
from tests.sources.certificates import Certificates
from tests.sources.conftest import SECRET, StartServer, tls_block
from tests.sources.looking import (
    NET_S,
    ONCE,
    PLAN,
    asked,
    bodies,
    changing,
    everything,
    furnished,
    gaps,
    missing,
    streams,
    take_samples,
)
from tests.support.deployment import streams as furniture
from tests.support.http_server import QuietHandler, serving

real = pytest.mark.real


@real
@pytest.mark.parametrize("nodes", [1, 3])
def test_a_healthy_deployment_is_seen_whole(shared_cluster: ClusterFactory, server_version: str, nodes: int) -> None:
    cluster = furnished(shared_cluster, server_version, nodes)
    first, second = samples = take_samples(None, cluster.monitor_urls)
    assert asked(first) == everything(nodes)
    assert asked(second) == changing(nodes)
    assert gaps(samples) == []
    by_name = streams(samples)
    assert {stream["name"] for stream in furniture(nodes)} <= by_name.keys()
    assert all(stream.from_leader and stream.consumers_seen for stream in by_name.values())
    assert all(consumer.from_leader for stream in by_name.values() for consumer in stream.consumers)
    servers = assemble(samples).get(Servers)
    assert servers is not None
    assert [(s.name, s.version, s.health is not None) for s in servers.servers] == [
        (name, server_version, True) for name in cluster.names
    ]


@real
def test_one_server_of_three_reports_what_it_cannot_see(shared_cluster: ClusterFactory) -> None:
    cluster = furnished(shared_cluster, nodes=3)
    samples = take_samples(None, cluster.monitor_urls[:1])
    listed = streams(samples).values()
    led_elsewhere = {("stream", stream.subject.label) for stream in listed if not stream.from_leader}
    led_elsewhere |= {
        ("consumer", consumer.subject.label)
        for stream in listed
        for consumer in stream.consumers
        if stream.from_leader and not consumer.from_leader
    }
    assert led_elsewhere
    assert set(missing(samples)) == led_elsewhere
    assert all("--monitor" in gap.how_to_get for gap in gaps(samples))


@real
def test_both_ways_at_once_show_each_copy_once(shared_cluster: ClusterFactory) -> None:
    cluster = furnished(shared_cluster, nodes=3)
    for user in ("sys", "app"):
        samples = take_samples(cluster.url(user), cluster.monitor_urls)
        by_name = streams(samples)
        assert {stream.account for stream in by_name.values()} == {"APP"}
        assert len(by_name["ORDERS"].replicas) == (3 if user == "sys" else 0)
        assert gaps(samples) == []


@real
def test_a_base_path_and_https(start_server: StartServer, certificates: Certificates) -> None:
    config = f'https: "127.0.0.1:-1"\nhttp_base_path: /nats\n{tls_block(certificates.localhost)}'
    address = f"127.0.0.1:{start_server(config).ports['monitoring']}"
    trusted = ssl.create_default_context(cafile=certificates.ca)
    samples = take_samples(None, [f"https://{address}/nats/"], ONCE, monitor_tls=trusted)
    assert asked(samples[0]) == everything(1) | {"ACCOUNTZ": 1}  # no account has streams
    assert gaps(samples) == []

    (untrusted,) = gaps(take_samples(None, [f"https://{address}/nats"], ONCE))
    assert "certificate is not trusted" in untrusted.reason
    (plain,) = gaps(take_samples(None, [f"http://{address}/nats"], ONCE))
    assert "speaks TLS only" in plain.reason
    assert f"https://{address}/nats" in plain.how_to_get
    (elsewhere,) = gaps(take_samples(None, [f"https://{address}/wrong"], ONCE, monitor_tls=trusted))
    assert "that is not NATS monitoring (HTTP 404" in elsewhere.reason


def gaps_of_port_that_sends(sent: bytes) -> list[Gap]:
    def close_early(listener: socket.socket) -> None:
        with contextlib.suppress(OSError):  # the listener is closed in the end
            while True:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(4096)
                    connection.sendall(sent)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=close_early, args=(listener,), daemon=True).start()
        reported_gaps = list(gaps(take_samples(None, [f"http://127.0.0.1:{listener.getsockname()[1]}"], ONCE)))
        listener.shutdown(socket.SHUT_RDWR)
    return reported_gaps


@pytest.mark.parametrize(
    ("head", "body", "reason"),
    [
        (
            '401 \x1b[31mred\xff\r\nWWW-Authenticate: Basic realm="\x1b[2J\xff"',
            "\x1b[31m\xff",
            "it wants a login (HTTP 401)",
        ),
        ("302 Found\r\nLocation: \xff\xfe\x1b[31m", "", "it redirects (HTTP 302) to"),
        ("403 Forbidden", '{"kind":"Status", ', "Kubernetes refuses: HTTP 403"),
        ("403 Forbidden", '["kind":"Status"]', "Kubernetes refuses: HTTP 403"),
        ("403 Forbidden", '{"kind":"Status","x":' + "[" * 200_000, "Kubernetes refuses: HTTP 403"),
        ("200 OK", '{"server_id":' + "[" * 200_000 + "]" * 200_000 + "}", ""),
    ],
)
def test_what_a_port_sends_that_is_none_is_a_gap_without_control_characters(head: str, body: str, reason: str) -> None:
    sent = f"HTTP/1.1 {head}\r\nConnection: close\r\n\r\n{body}".encode("latin-1")
    reported_gaps = gaps_of_port_that_sends(sent)
    assert {reason in gap.reason for gap in reported_gaps} == {True}, reported_gaps
    assert not any("\x1b" in gap.reason + gap.how_to_get for gap in reported_gaps)


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"])
def test_a_connection_that_is_closed_early_is_no_other_protocol(sent: bytes) -> None:
    reported_gaps = gaps_of_port_that_sends(sent)
    assert {gap.reason.partition(": ")[2] for gap in reported_gaps} == {
        "it closed the connection without a complete HTTP response"
    }
    assert all("overloaded" in gap.how_to_get for gap in reported_gaps)


@real
def test_ports_that_are_no_monitoring_ports(start_server: StartServer, closed_port: int) -> None:
    server = start_server('http: "127.0.0.1:-1"\n')
    reasons = {
        f"http://127.0.0.1:{closed_port}": "connection refused",
        f"http://127.0.0.1:{server.port}": "closed the connection without",
        f"https://127.0.0.1:{server.ports['monitoring']}": "no TLS there",
        "http://no-such-host.invalid:8222": "no such host name",
    }
    samples = take_samples(None, [*reasons, f"127.0.0.1:{server.ports['monitoring']}"])
    assert {gap.subject.name: reasons[gap.subject.name] in gap.reason for gap in gaps(samples)} == dict.fromkeys(
        reasons, True
    )
    assert all(gap.how_to_get for gap in gaps(samples))
    # The good one is asked as ever, the others only once.
    assert [asked(sample)["JSZ"] for sample in samples] == [1, 1]
    assert samples[1].gaps == ()


def test_when_no_port_responds_one_sample_is_enough(closed_port: int) -> None:
    samples = take_samples(None, [f"127.0.0.1:{closed_port}"])
    assert [(asked(sample), len(sample.gaps)) for sample in samples] == [({}, 1)]


def test_a_port_that_stays_silent(silent_port: int) -> None:
    samples = take_samples(None, [f"http://127.0.0.1:{silent_port}"], type(PLAN)(timeout_s=0.5))
    (gap,) = gaps(samples)
    assert "no response within 0.5 s" in gap.reason
    assert "--timeout" in gap.how_to_get


@real
def test_a_server_that_falls_silent_is_given_up(cluster_factory: ClusterFactory) -> None:
    cluster = cluster_factory(nodes=3)
    cluster.pause("n3")
    samples = take_samples(None, cluster.monitor_urls, type(PLAN)(timeout_s=1.0, interval_s=0.1))
    cluster.resume("n3")
    assert [asked(sample)["JSZ"] for sample in samples] == [2, 2]
    assert missing(samples) == [("endpoint", cluster.monitor_urls[2])]
    assert samples[1].gaps == ()


@real
def test_an_unhealthy_server_is_no_gap(cluster_factory: ClusterFactory) -> None:
    cluster = cluster_factory(nodes=3)
    leader = cluster.meta_leader()
    survivor = next(name for name in cluster.names if name != leader)
    url = cluster.node(survivor).monitor_url
    for name in set(cluster.names) - {survivor}:
        cluster.kill(name)
    wait_until(lambda: get(f"{url}/healthz").status_code == 503, f"{survivor} to be unhealthy", timeout=30)
    samples = take_samples(None, [url], ONCE)
    assert asked(samples[0]) == everything(1) | {"RAFTZ": 2, "ACCOUNTZ": 1}
    (health,) = bodies(samples[0], "HEALTHZ")
    assert health["status"] != "ok"
    assert samples[0].gaps == ()


class _Guard(QuietHandler):
    """What operators put before a monitoring port, which has no login of its own: a proxy that asks for one."""

    behind: ClassVar[str]
    password: ClassVar[str]

    def do_GET(self) -> None:
        login = base64.b64encode(f"ops:{self.password}".encode()).decode()
        if self.headers.get("Authorization") != f"Basic {login}":
            self.respond(401, b"who are you?")
            return
        response = httpx2.get(self.behind + self.path)
        self.respond(response.status_code, response.content)


@contextlib.contextmanager
def _guarded(behind: str, password: str) -> Iterator[str]:
    handler = type("Guard", (_Guard,), {"behind": behind, "password": password})
    with serving(handler) as port:
        yield f"127.0.0.1:{port}"


@real
def test_a_login_in_the_url_is_used_and_never_kept(shared_cluster: ClusterFactory) -> None:
    cluster = furnished(shared_cluster)
    with _guarded(cluster.monitor_urls[0], f"{SECRET}@/") as address:
        samples = take_samples(None, [f"http://ops:{SECRET}%40%2F@{address}"])
        assert [asked(sample)["JSZ"] for sample in samples] == [1, 1]
        assert gaps(samples) == []
        refused = take_samples(None, [f"http://ops:wrong-{SECRET}@{address}"])
    (gap,) = gaps(refused)
    assert "wants a login (HTTP 401)" in gap.reason
    assert f"USER:PASSWORD@{address}" in gap.how_to_get
    for shown in (samples, refused):
        assert SECRET not in repr(shown)


@real
def test_a_web_server_is_not_taken_for_a_nats_server() -> None:
    class Cheerful(_Guard):
        def do_GET(self) -> None:
            self.respond(200, b'{"status": "ok"}')

    with serving(Cheerful) as port:
        samples = take_samples(None, [f"127.0.0.1:{port}"], net_s=NET_S)
    (gap,) = gaps(samples)
    assert "that is not NATS monitoring (HTTP 200, no content type)" in gap.reason


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("http://host:8222", "http://host:8222"),
        ("host:8222/", "http://host:8222"),
        ("https://host", "https://host:443"),
        ("http://[::1]:8222/a/b/", "http://[::1]:8222/a/b"),
        (" host ", "http://host:80"),
    ],
)
def test_monitor_urls(text: str, base: str) -> None:
    assert parse_monitor_url(text) == MonitorUrl(base)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nats://host:4222",
        "http://",
        "http://host:port",
        "http://host:99999",
        "http://ho st:1",
        "http://[::1",
        "host/varz?x=1",
    ],
)
def test_what_is_no_monitor_url(text: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        parse_monitor_url(text)
    assert "--monitor" in caught.value.message
    assert "http://HOST:8222" in caught.value.hint


@pytest.mark.parametrize(
    "text", [f"nats://ops:{SECRET}@host:1", f"http://ops:{SECRET}@ho st", f"http://{SECRET}@host:0"]
)
def test_a_bad_monitor_url_is_shown_without_its_secret(text: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        parse_monitor_url(text)
    assert SECRET not in repr(caught.value)
