"""NATS inside a WebSocket. It needs aiohttp, which jsdoctor does not bring along: without it, the way out is told."""

from importlib.util import find_spec

import pytest

from jsdoctor.model.problems import UsageProblem
from tests.sources.certificates import Certificates
from tests.sources.conftest import SECRET, USERS, Attempt, Refused, StartServer

pytestmark = [
    pytest.mark.real,
    pytest.mark.filterwarnings("ignore:parameter 'timeout' of type 'float' is deprecated"),  # nats-py to aiohttp
]
with_aiohttp = pytest.mark.skipif(find_spec("aiohttp") is None, reason="aiohttp is not installed")


@pytest.mark.skipif(find_spec("aiohttp") is not None, reason="aiohttp is installed")
def test_without_aiohttp(refused: Refused) -> None:
    problem = refused(UsageProblem, server=f"ws://bob:{SECRET}@127.0.0.1:1")
    assert "needs the package aiohttp" in problem.message
    assert "pip install aiohttp" in problem.hint


@with_aiohttp
def test_plain(start_server: StartServer, attempt: Attempt, refused: Refused) -> None:
    server = start_server(USERS + 'websocket { listen: "127.0.0.1:-1", no_tls: true }\nhttp: "127.0.0.1:-1"\n')
    url = f"127.0.0.1:{server.ports['websocket']}"
    assert attempt(server=f"ws://bob:{SECRET}@{url}")["auth_required"] is True
    assert "wrong user or password" in refused(server=f"ws://bob:{SECRET}x@{url}").message
    assert "requires a login" in refused(server=f"ws://{url}").message
    assert "an HTTP server responds there" in refused(server=url, timeout=2.0).message
    assert "HTTP server" in refused(server=f"ws://127.0.0.1:{server.ports['monitoring']}").message
    assert "TLS was demanded" in refused(server=f"ws://{url}", tlsfirst=True).message


@with_aiohttp
def test_tls(start_server: StartServer, attempt: Attempt, refused: Refused, certificates: Certificates) -> None:
    certificate, key = certificates.localhost
    tls = f'tls {{ cert_file: "{certificate}", key_file: "{key}" }}'
    server = start_server(f'websocket {{ listen: "127.0.0.1:-1", {tls} }}\n')
    url = f"wss://localhost:{server.ports['websocket']}"
    assert attempt(server=url, tlsca=str(certificates.ca))["headers"] is True
    assert "from a CA that this machine does not trust" in refused(server=url).message
    assert "not signed by the CA that was given" in refused(server=url, tlsca=str(certificates.other_ca)).message


@with_aiohttp
def test_no_websocket_there(refused: Refused, closed_port: int, silent_port: int) -> None:
    assert "connection refused" in refused(server=f"ws://127.0.0.1:{closed_port}").message
    assert "no such host name" in refused(server="ws://no-such-host.invalid").message
    assert "no WebSocket in time" in refused(server=f"ws://127.0.0.1:{silent_port}", timeout=1.0).message
