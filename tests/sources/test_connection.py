"""Connecting to real servers, and the one clear sentence when that does not work."""

import socket
import time
from pathlib import Path

import nkeys
import pytest
from nats import errors

from jsdoctor.model.problems import UsageProblem
from jsdoctor.sources.connect.connection import Connection
from tests.sources.certificates import Certificates
from tests.sources.conftest import SECRET, USERS, Attempt, Refused, StartServer, tls_block
from tests.sources.operator_mode import Key, Operator, creds

pytestmark = pytest.mark.real

# --- it works ---------------------------------------------------------------------------------------------------


def test_plain_server_reports_about_itself(start_server: StartServer, attempt: Attempt) -> None:
    info = attempt(server=f"127.0.0.1:{start_server('server_name: alone').port}")
    assert info["server_name"] == "alone"
    assert info["headers"] is True
    assert info["max_payload"] == 1048576
    assert not info.get("jetstream")
    assert info["remote_account"] == "$G"


@pytest.mark.parametrize(
    ("userinfo", "options"),
    [
        pytest.param("", {"user": "bob", "password": SECRET}, id="options"),
        pytest.param(f"bob:{SECRET}@", {}, id="url"),
        pytest.param("bob:s3cr3t%2DWord@", {}, id="percent-encoded url"),
    ],
)
def test_user_and_password(start_server: StartServer, attempt: Attempt, userinfo: str, options: dict[str, str]) -> None:
    server = start_server(USERS)
    assert attempt(server=f"nats://{userinfo}127.0.0.1:{server.port}", **options)["auth_required"] is True


@pytest.mark.parametrize(
    ("userinfo", "options"),
    [
        pytest.param("", {"token": SECRET}, id="token"),
        pytest.param("", {"user": SECRET}, id="user without password"),
        pytest.param(f"{SECRET}@", {}, id="url"),
    ],
)
def test_token(start_server: StartServer, attempt: Attempt, userinfo: str, options: dict[str, str]) -> None:
    server = start_server(f"authorization {{ token: '{SECRET}' }}\n")
    assert attempt(server=f"nats://{userinfo}127.0.0.1:{server.port}", **options)["auth_required"] is True


def test_nkey(start_server: StartServer, attempt: Attempt, tmp_path: Path) -> None:
    key = Key(nkeys.PREFIX_BYTE_USER)
    server = start_server(f"authorization {{ users: [{{nkey: {key.public}}}] }}\n")
    (tmp_path / "user.nk").write_text(f"{key.seed}\n")
    assert attempt(server=f"127.0.0.1:{server.port}", nkey=str(tmp_path / "user.nk"))["auth_required"] is True


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_creds(start_server: StartServer, attempt: Attempt, tmp_path: Path, line_end: str) -> None:
    operator = Operator()
    server = start_server(operator.config)
    file = tmp_path / "user.creds"
    file.write_bytes(creds(*operator.user(operator.system)).replace("\n", line_end).encode())
    info = attempt(server=f"127.0.0.1:{server.port}", creds=str(file))
    assert info["remote_account"] == operator.system.public
    assert info["acc_is_sys"] is True


def test_jwt_and_seed_from_the_environment(start_server: StartServer, attempt: Attempt) -> None:
    operator = Operator()
    server = start_server(operator.config)
    jwt, seed = operator.user(operator.app)
    environ = {"NATS_JWT": jwt, "NATS_SEED": seed, "NATS_URL": f"127.0.0.1:{server.port}"}
    assert attempt(environ=environ)["remote_account"] == operator.app.public


@pytest.mark.parametrize("scheme", ["nats", "tls"])
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_tls(start_server: StartServer, attempt: Attempt, certificates: Certificates, scheme: str, host: str) -> None:
    server = start_server(USERS + tls_block(certificates.localhost))
    url = f"{scheme}://bob:{SECRET}@{host}:{server.port}"
    assert attempt(server=url, tlsca=str(certificates.ca))["tls_required"] is True


def test_tls_that_is_offered_but_not_required_is_used_when_demanded(
    start_server: StartServer, attempt: Attempt, certificates: Certificates
) -> None:
    server = start_server("allow_non_tls: true\n" + tls_block(certificates.localhost))

    async def encrypted(connection: Connection) -> bool:
        return connection.encrypted

    assert attempt(encrypted, server=f"localhost:{server.port}", tlsca=str(certificates.ca)) is True
    assert attempt(encrypted, server=f"localhost:{server.port}") is False


def test_client_certificate(start_server: StartServer, attempt: Attempt, certificates: Certificates) -> None:
    server = start_server(tls_block(certificates.localhost, f'ca_file: "{certificates.ca}", verify: true'))
    certificate, key = certificates.client
    options = {"tlsca": str(certificates.ca), "tlscert": str(certificate), "tlskey": str(key)}
    assert attempt(server=f"localhost:{server.port}", **options)["tls_verify"] is True


def test_tls_first(start_server: StartServer, attempt: Attempt, certificates: Certificates) -> None:
    server = start_server(USERS + tls_block(certificates.localhost, "handshake_first: true"))
    options = {"user": "bob", "password": SECRET, "tlsca": str(certificates.ca), "tlsfirst": True}
    assert attempt(server=f"localhost:{server.port}", **options)["tls_required"] is True


def test_large_replies_arrive_whole_over_tls(
    start_server: StartServer, attempt: Attempt, certificates: Certificates
) -> None:
    server = start_server(tls_block(certificates.localhost))
    payload = bytes(range(256)) * 3900

    async def echo(connection: Connection) -> bytes:
        subscription = await connection.client.subscribe("echo")
        for _ in range(20):
            await connection.client.publish("echo", payload)
        received = [(await subscription.next_msg(timeout=20)).data for _ in range(20)]
        assert set(received) == {payload}
        return received[0]

    assert attempt(echo, server=f"localhost:{server.port}", tlsca=str(certificates.ca)) == payload


def test_the_next_server_of_the_list_is_tried(
    start_server: StartServer, attempt: Attempt, closed_port: int, silent_port: int
) -> None:
    server = start_server(USERS + "server_name: third")
    urls = f"nats://127.0.0.1:{closed_port},nats://127.0.0.1:{silent_port},nats://bob:{SECRET}@127.0.0.1:{server.port}"
    assert attempt(server=urls, timeout=3.0)["server_name"] == "third"


def test_the_connection_is_named_and_closed(start_server: StartServer, attempt: Attempt) -> None:
    server = start_server("")

    async def state(connection: Connection) -> tuple[Connection, bool]:
        return connection, connection.client.is_connected

    connection, connected = attempt(state, server=f"127.0.0.1:{server.port}")
    assert connected
    assert connection.client.is_closed
    assert connection.url == f"nats://127.0.0.1:{server.port}"
    assert '"name":"jsdoctor"' in server.log.read_text().replace('": "', '":"')


# --- it does not work -------------------------------------------------------------------------------------------


def test_closed_port(refused: Refused, closed_port: int) -> None:
    problem = refused(server=f"nats://bob:{SECRET}@127.0.0.1:{closed_port}")
    assert problem.message.startswith(f"cannot connect to nats://127.0.0.1:{closed_port}: connection refused")


def test_unknown_host(refused: Refused) -> None:
    problem = refused(server="nats://no-such-host.invalid:4222")
    assert "no-such-host.invalid" in problem.message
    assert "host name" in problem.message or "name server" in problem.message


def test_silent_port(refused: Refused, silent_port: int) -> None:
    assert "says nothing" in refused(server=f"127.0.0.1:{silent_port}", timeout=1.0).message


def test_silent_port_with_tls_first(refused: Refused, silent_port: int) -> None:
    assert (
        "TLS handshake did not finish" in refused(server=f"127.0.0.1:{silent_port}", timeout=1.0, tlsfirst=True).message
    )


def test_monitoring_port(start_server: StartServer, refused: Refused) -> None:
    port = start_server('http: "127.0.0.1:-1"').ports["monitoring"]
    problem = refused(server=f"127.0.0.1:{port}", timeout=2.0)
    assert "HTTP server" in problem.message
    assert f"--monitor http://HOST:{port}" in problem.hint


def test_a_service_that_is_not_nats(refused: Refused, ssh_like_port: int) -> None:
    problem = refused(server=f"127.0.0.1:{ssh_like_port}")
    assert "not a NATS server: it greets with 'SSH-2.0-[31mtest'" in problem.message


def test_route_port(start_server: StartServer, refused: Refused) -> None:
    server = start_server('cluster { name: c, listen: "127.0.0.1:-1" }\n')
    assert "not a client port" in refused(server=f"127.0.0.1:{server.ports['cluster']}").message


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({}, "requires a login", id="nothing"),
        pytest.param({"user": "bob", "password": SECRET + "x"}, "wrong user or password for user 'bob'", id="password"),
        pytest.param({"token": SECRET}, "the token (from --token) is not accepted", id="token"),
        pytest.param({"user": SECRET}, "the token (from --user without a password) is not", id="user only"),
    ],
)
def test_wrong_login(start_server: StartServer, refused: Refused, options: dict[str, str], expected: str) -> None:
    server = start_server(USERS)
    assert expected in refused(server=f"127.0.0.1:{server.port}", **options).message


def test_wrong_nkey(start_server: StartServer, refused: Refused, tmp_path: Path) -> None:
    server = start_server(f"authorization {{ users: [{{nkey: {Key(nkeys.PREFIX_BYTE_USER).public}}}] }}\n")
    other = Key(nkeys.PREFIX_BYTE_USER)
    (tmp_path / "user.nk").write_text(other.seed)
    problem = refused(server=f"127.0.0.1:{server.port}", nkey=str(tmp_path / "user.nk"))
    assert f"the nkey {other.public}" in problem.message
    assert other.seed not in problem.message + problem.hint


def test_expired_creds(start_server: StartServer, refused: Refused, tmp_path: Path) -> None:
    operator = Operator()
    server = start_server(operator.config)
    (tmp_path / "old.creds").write_text(creds(*operator.user(operator.app, expires=1_600_000_000)))
    problem = refused(server=f"127.0.0.1:{server.port}", creds=str(tmp_path / "old.creds"))
    assert "expired at 2020-09-13T12:26:40Z" in problem.message
    assert "old.creds" in problem.message


def test_creds_of_an_unknown_account(start_server: StartServer, refused: Refused, tmp_path: Path) -> None:
    server = start_server(Operator().config)
    stranger = Operator()
    (tmp_path / "user.creds").write_text(creds(*stranger.user(stranger.app)))
    problem = refused(server=f"127.0.0.1:{server.port}", creds=str(tmp_path / "user.creds"))
    assert stranger.app.public in problem.message


def test_creds_with_the_seed_of_another_user(start_server: StartServer, refused: Refused, tmp_path: Path) -> None:
    operator = Operator()
    server = start_server(operator.config)
    (jwt, _), (_, seed) = operator.user(operator.app), operator.user(operator.app)
    (tmp_path / "user.creds").write_text(creds(jwt, seed))
    problem = refused(server=f"127.0.0.1:{server.port}", creds=str(tmp_path / "user.creds"))
    assert "belong to different users" in problem.message
    assert seed not in problem.message + problem.hint


def test_too_many_connections(start_server: StartServer, refused: Refused) -> None:
    server = start_server("max_connections: 1\n")
    with socket.create_connection(("127.0.0.1", server.port)) as first:
        assert first.recv(4096).startswith(b"INFO")
        first.sendall(b"PING\r\n")  # the server sends INFO before it counts the connection, and PONG after that
        assert first.recv(4096) == b"PONG\r\n"
        assert "no more connections" in refused(server=f"127.0.0.1:{server.port}").message


def test_tls_from_an_unknown_authority(start_server: StartServer, refused: Refused, certificates: Certificates) -> None:
    server = start_server(tls_block(certificates.localhost))
    problem = refused(server=f"localhost:{server.port}")
    assert "from a CA that this machine does not trust" in problem.message
    assert "--tlsca" in problem.hint
    problem = refused(server=f"localhost:{server.port}", tlsca=str(certificates.other_ca))
    assert "not signed by the CA that was given" in problem.message


@pytest.mark.parametrize("first", [False, True])
def test_tls_for_another_host(
    start_server: StartServer, refused: Refused, certificates: Certificates, first: bool
) -> None:
    server = start_server(tls_block(certificates.elsewhere, f"handshake_first: {str(first).lower()}"))
    for host in ("localhost", "127.0.0.1"):
        problem = refused(server=f"{host}:{server.port}", tlsca=str(certificates.ca), tlsfirst=first)
        assert f"not valid for '{host}'" in problem.message


def test_no_password_leaves_in_plain_text_when_tls_is_demanded(
    start_server: StartServer, refused: Refused, certificates: Certificates
) -> None:
    server = start_server(USERS)
    for options in ({"server": f"tls://127.0.0.1:{server.port}"}, {"tlsca": str(certificates.ca)}):
        given = {"server": f"127.0.0.1:{server.port}", "user": "bob", "password": SECRET} | options
        assert "TLS was demanded, but the server has none" in refused(**given).message
    assert "CONNECT" not in server.log.read_text()


def test_a_server_that_wants_tls_first(start_server: StartServer, refused: Refused, certificates: Certificates) -> None:
    server = start_server(tls_block(certificates.localhost, "handshake_first: true"))
    problem = refused(server=f"localhost:{server.port}", tlsca=str(certificates.ca))
    assert "TLS handshake before anything else" in problem.message
    assert "--tlsfirst" in problem.hint


def test_a_server_that_does_not_want_tls_first(
    start_server: StartServer, refused: Refused, certificates: Certificates
) -> None:
    server = start_server(tls_block(certificates.localhost))
    problem = refused(server=f"localhost:{server.port}", tlsca=str(certificates.ca), tlsfirst=True)
    assert "does not start with TLS" in problem.message
    assert "leave out --tlsfirst" in problem.hint


@pytest.mark.parametrize("first", [False, True])
def test_a_server_that_wants_a_client_certificate(
    start_server: StartServer, refused: Refused, certificates: Certificates, first: bool
) -> None:
    more = f'ca_file: "{certificates.ca}", verify: true, handshake_first: {str(first).lower()}'
    server = start_server(tls_block(certificates.localhost, more))
    problem = refused(server=f"localhost:{server.port}", tlsca=str(certificates.ca), tlsfirst=first)
    assert "wants a client certificate" in problem.message
    assert "--tlscert" in problem.hint


def test_what_happened_to_each_server_of_the_list(
    start_server: StartServer, refused: Refused, closed_port: int, silent_port: int
) -> None:
    server = start_server(USERS)
    ports = [closed_port, server.port, silent_port]
    problem = refused(server=",".join(f"nats://eve:{SECRET}x@127.0.0.1:{port}" for port in ports), timeout=3.0)
    assert problem.message.startswith("cannot connect to any of 3 servers: ")
    for port, reason in zip(ports, ["connection refused", "wrong user or password", "says nothing"], strict=True):
        assert f"nats://127.0.0.1:{port}: {reason}" in problem.message.replace("it accepts connections but ", "")
    assert "check both" in problem.hint  # the server that came closest to taking us


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({"tlsca": "key"}, "no certificate in", id="ca"),
        pytest.param({"tlscert": "cert", "tlskey": "other key"}, "does not belong to the certificate", id="pair"),
        pytest.param({"tlscert": "cert", "tlskey": "encrypted key"}, "unencrypted PEM key", id="encrypted"),
    ],
)
def test_certificate_files_that_cannot_be_used(
    refused: Refused, certificates: Certificates, closed_port: int, files: dict[str, str], expected: str
) -> None:
    paths = {
        "cert": certificates.client[0],
        "key": certificates.client[1],
        "other key": certificates.localhost[1],
        "encrypted key": certificates.encrypted_key,
    }
    options = {option: str(paths[file]) for option, file in files.items()}
    assert expected in refused(UsageProblem, server=f"127.0.0.1:{closed_port}", **options).message


def test_every_supported_server_refuses_in_known_words(
    start_server: StartServer, attempt: Attempt, refused: Refused, server_version: str
) -> None:
    may = 'permissions: {publish: "ok", subscribe: ">"}'
    server = start_server(
        f'authorization {{ users: [{{user: bob, password: "{SECRET}", {may}}}] }}\n'
        'cluster { name: c, listen: "127.0.0.1:-1" }\n',
        server_version,
    )

    async def publish_denied(connection: Connection) -> tuple[str, str | None]:
        await connection.client.publish("Denied", b"")
        await _all_received(connection)
        return connection.server_info["version"], connection.denial("Denied")

    words = 'Permissions Violation for Publish to "Denied"'
    assert attempt(publish_denied, server=f"bob:{SECRET}@127.0.0.1:{server.port}") == (server_version, words)
    assert "wrong user or password" in refused(server=f"bob:{SECRET}x@127.0.0.1:{server.port}").message
    assert "requires a login" in refused(server=f"127.0.0.1:{server.port}").message
    assert "not a client port" in refused(server=f"127.0.0.1:{server.ports['cluster']}").message


# --- after the login --------------------------------------------------------------------------------------------


def test_what_is_denied_is_distinguished_from_what_is_late(start_server: StartServer, attempt: Attempt) -> None:
    denied = f"$JS.API.CONSUMER.LIST.{'Long' * 40}"
    may = 'publish: "ok", subscribe: "_INBOX.>"'
    server = start_server(f"authorization {{ users: [{{user: a, password: b, permissions: {{{may}}}}}] }}\n")

    async def denials(connection: Connection) -> tuple[list[str], str | None, str | None]:
        with pytest.raises(errors.TimeoutError):
            await connection.client.request(denied, b"", timeout=0.5)
        await connection.client.subscribe("Other")
        await _all_received(connection)
        return connection.permission_errors, connection.denial(denied), connection.denial("$JS.API.CONSUMER.LIST")

    words, publish, other = attempt(denials, server=f"a:b@127.0.0.1:{server.port}")
    assert words == [
        f'Permissions Violation for Publish to "{denied}"',
        'Permissions Violation for Subscription to "Other"',
    ]
    assert publish == words[0]
    assert other is None


def test_a_server_that_ends_the_session_reports_why(
    start_server: StartServer, attempt: Attempt, tmp_path: Path
) -> None:
    operator = Operator()
    server = start_server(operator.config)
    expires = int(time.time()) + 2
    (tmp_path / "user.creds").write_text(creds(*operator.user(operator.app, expires)))

    async def outlive(connection: Connection) -> list[str]:
        await connection.closed.wait()
        return connection.errors

    words = attempt(outlive, server=f"127.0.0.1:{server.port}", creds=str(tmp_path / "user.creds"))
    assert words == ["User Authentication Expired"]


def test_a_lost_server_ends_requests_instead_of_blocking(start_server: StartServer, attempt: Attempt) -> None:
    server = start_server("")

    async def lose(connection: Connection) -> bool:
        server.process.kill()
        await connection.closed.wait()
        with pytest.raises(errors.ConnectionClosedError):
            await connection.client.request("any", b"", timeout=5)
        return True

    assert attempt(lose, server=f"127.0.0.1:{server.port}")


async def _all_received(connection: Connection) -> None:
    """Until the server's answers to all that was sent are in: nats-py's PING overtakes what it still holds, once."""
    await connection.client.flush()
    await connection.client.flush()
