"""A connection to NATS: the first server of the list that accepts the login, or one clear error if none does."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import random
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from time import process_time
from typing import Any

from nats import errors
from nats.aio.client import Client
from nats.aio.subscription import Subscription
from nats.aio.transport import Transport

from jsdoctor.model.problems import ConnectProblem
from jsdoctor.sources.connect.credentials import Login, LoginKind, jwt_claims, jwt_expiry, public_key, sign
from jsdoctor.sources.connect.greeting import greet
from jsdoctor.sources.connect.refusal import ConnectionRefusal, Stage, printable
from jsdoctor.sources.connect.server_urls import ServerUrl, parse_servers
from jsdoctor.sources.connect.settings import ConnectionSettings
from jsdoctor.sources.connect.tls import TlsPlan, plan_tls, tls_refusal
from jsdoctor.sources.connect.transport import (
    BoundedParser,
    ClosedWebSocketTransport,
    GreetedTransport,
    require_websocket,
    websocket_errors,
    websocket_refusal,
)

_HOW_TO_LOG_IN = "add --creds FILE, --user NAME --password PASSWORD, --nkey FILE or --context NAME"
# nats-server v2.15 `server/errors.go`, `client.go` sendErr: the errors sent before the server closes the connection.
_WRONG_PORT = "attempted to connect to"
_MAX_CONNECTIONS = "maximum"
_UNAUTHORIZED = (
    "authorization violation",
    "authentication expired",
    "authentication revoked",
    "authentication timeout",
)


def login_options(login: Login) -> dict[str, Any]:
    """The login as keyword arguments of `nats.aio.client.Client.connect`."""
    match login.kind:
        case LoginKind.USER:
            return {"user": login.user, "password": login.password or ""}
        case LoginKind.TOKEN:
            return {"token": login.token}
        case LoginKind.NKEY:
            return {"nkeys_seed_str": login.seed}
        case LoginKind.CREDS:
            # Not as a file: nats-py never returns for a damaged one, and one with CRLF line ends wrong.
            jwt, seed = (login.jwt or "").encode(), login.seed
            return {"user_jwt_cb": lambda: jwt, "signature_cb": lambda nonce: sign(seed, nonce) if seed else b""}
        case LoginKind.NONE:
            return {}


def login_refusal(stated: str, login: Login, info: Mapping[str, Any]) -> ConnectionRefusal:
    """Explain the server's last error for this login: `stated` is the text of its -ERR, empty if there was none."""
    words = stated.lower()
    if _WRONG_PORT in words:
        hint = "give the client port, 4222 unless configured otherwise (nats-server -p)"
        return ConnectionRefusal(Stage.LOGIN, f"that is not a client port: {printable(stated)}", hint)
    if _MAX_CONNECTIONS in words:
        hint = "close connections (nats server report connections) or raise max_connections"
        return ConnectionRefusal(Stage.LOGIN, f"it takes no more connections: {printable(stated)}", hint)
    if stated and not any(sign in words for sign in _UNAUTHORIZED):
        return ConnectionRefusal(
            Stage.LOGIN, f"it refuses: {printable(stated)}", "look for this connection in the server's log"
        )
    if not stated and not info.get("auth_required"):
        return ConnectionRefusal(
            Stage.LOGIN, "it closed the connection during the login", "look for this connection in the server's log"
        )
    return ConnectionRefusal(Stage.LOGIN, *_login_rejection(login, info, datetime.now(UTC)))


def _login_rejection(login: Login, info: Mapping[str, Any], now: datetime) -> tuple[str, str]:
    """Reason and hint if the server does not accept the login."""
    origin = f" (from {login.origin})" if login.origin else ""
    match login.kind:
        case LoginKind.NONE:
            wants = "an nkey or creds, or a user" if info.get("nonce") else "a user and password, or a token"
            return f"it requires a login ({wants}) and none is given", _HOW_TO_LOG_IN
        case LoginKind.USER:
            return (
                f"wrong user or password for user {login.user!r}{origin}",
                "check both; --user NAME --password PASSWORD wins over contexts and variables",
            )
        case LoginKind.TOKEN:
            as_user = "if it is a user name, add --password; " if "without a password" in login.origin else ""
            return f"the token{origin} is not accepted", f"{as_user}check the token in the server's authorization block"
        case LoginKind.NKEY:
            key = public_key(login.seed or "")
            return (
                f"the nkey {key}{origin} is not accepted",
                "add it to the users of the server, or give another --nkey",
            )
        case LoginKind.CREDS:
            return _creds_rejection(login, origin, now)


def _creds_rejection(login: Login, origin: str, now: datetime) -> tuple[str, str]:
    jwt = login.jwt or ""
    expiry = jwt_expiry(jwt)
    renew = "make new ones: nsc generate creds --account ACCOUNT --name USER > user.creds"
    if expiry and expiry <= now:
        return f"the credentials{origin} expired at {expiry:%Y-%m-%dT%H:%M:%SZ}", renew
    claims = jwt_claims(jwt)
    if login.seed and claims.get("sub") != public_key(login.seed):
        return f"the seed and the user JWT{origin} belong to different users", renew
    nats = claims.get("nats")
    # A signing key of the account issues, the account itself is named beside it (jwt v2 `UserClaims`).
    account = nats.get("issuer_account") if isinstance(nats, dict) else None
    issuer = printable(str(account or claims.get("iss", "unknown")))
    return (
        f"the credentials{origin} are not accepted: revoked, or of account {issuer} that this server does not know",
        "check that they belong to this cluster (nsc describe user), and that the account was pushed (nsc push)",
    )


CLIENT_NAME = "jsdoctor"
_CLOSE_S = 2.0
_MAX_RETRIES = 4
_STALLED_SHARE = 0.3
_STALLED_S = 0.5  # less than that is noise
_PAUSE_S = (0.1, 1.0)
_NATS_PY = "nats: "  # how nats-py begins its texts
_PROTOCOL_ERRORS = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""What nats-py raises for a line without an end, and over WebSocket for an INFO whose fields have unexpected types."""
_PERMISSIONS = "permissions violation"


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One attempt: the server, the login, and the TLS settings."""

    server: ServerUrl
    login: Login
    tls: TlsPlan


class Connection:
    """An open connection. It never reconnects: a lost connection is an error of the next request, not a wait.

    `client` is nats-py's; `url` is the connected server, without userinfo. `permission_errors` are the server's error
    texts for denied requests (`Permissions Violation for Publish to "$JS.API.STREAM.LIST"`): such a request gets no
    reply and otherwise looks like a timeout. `errors` are all other errors outside of replies. Equal texts are kept
    once. `closed` is set when the connection is gone, so that no caller has to wait for replies on it. `stalls`
    measures for how long this process was not scheduled. Every request waits for `budget`.
    """

    def __init__(self, url: str, stalls: Stalls, transport: GreetedTransport | ClosedWebSocketTransport) -> None:
        self.url = url
        self.stalls = stalls
        self.budget = RequestBudget(None)
        self.client = InfoClient(transport)
        self.permission_errors: list[str] = []
        self.errors: list[str] = []
        self.closed = asyncio.Event()
        self._transport = transport if isinstance(transport, GreetedTransport) else None
        self._logged_in = False

    @property
    def server_info(self) -> Mapping[str, Any]:
        """The server's INFO as it came: `version`, `server_name`, `cluster`, `max_payload`, `jetstream`, `headers`...

        Newer servers add, for a client that has logged in, `remote_account` (the account we are in) and, when that is
        the system account, `acc_is_sys` (nats-server `client.go` processPing).
        """
        return self.client.info

    @property
    def encrypted(self) -> bool:
        """Whether TLS protects this connection."""
        return self._transport.encrypted if self._transport else self.url.startswith("wss:")

    def denial(self, subject: str) -> str | None:
        """The server's error text if it denied publishing or subscribing to exactly this subject, else None."""
        quoted = f'"{subject}"'.lower()
        return next((words for words in self.permission_errors if quoted in words.lower()), None)

    async def log_in(self, attempt: _Attempt, inbox_prefix: str, budget_s: float) -> None:
        """Send CONNECT and wait until the server has accepted it. Callers use `connect`.

        Raises what nats-py raises, and ConnectionResetError when the server hangs up after having accepted it.
        """
        wait_s = max(math.ceil(budget_s), 1)  # the caller's deadline comes before it
        await self.client.connect(
            [attempt.server.url],
            name=CLIENT_NAME,
            error_cb=self._on_error,
            closed_cb=self._on_close,
            allow_reconnect=False,
            connect_timeout=wait_s,
            tls=attempt.tls.context if self.encrypted else None,
            inbox_prefix=inbox_prefix,
            **login_options(attempt.login),
        )
        self._logged_in = True
        # One more round trip: brings the INFO that names our account, and an -ERR sent right after the PONG.
        await self.client.flush(wait_s)
        if not self.client.is_connected:
            raise ConnectionResetError

    async def close(self) -> None:
        """Close the connection, in bounded time. Safe to call in any state."""
        with contextlib.suppress(OSError, errors.Error):  # TimeoutError is an OSError
            async with asyncio.timeout(_CLOSE_S):
                await self.client.close()
        if self._transport:
            self._transport.abort()

    async def _on_close(self) -> None:
        # An -ERR that makes nats-py close is reported here only.
        if error := self.client.fatal_error or self.client.last_error:
            self._record_error(error)
        self.closed.set()

    async def _on_error(self, error: Exception) -> None:
        if not self._logged_in:
            # nats-py would try again and again; raised here, it leaves connect().
            raise error
        if not (self.client.fatal_error and isinstance(error, errors.UnexpectedEOF)):
            self._record_error(error)

    def _record_error(self, error: Exception) -> None:
        text = _error_text(error) or type(error).__name__
        # Not cut short: `denial` looks for whole subjects in it.
        words = printable(self._transport.refusals.get(text, text) if self._transport else text, limit=len(text))
        errors_of_kind = self.permission_errors if text.startswith(_PERMISSIONS) else self.errors
        if words not in errors_of_kind:
            errors_of_kind.append(words)


@contextlib.asynccontextmanager
async def connect(settings: ConnectionSettings) -> AsyncIterator[Connection]:
    """Connect to the first server of the settings that accepts the login; close the connection at the end.

    Takes at most `timeout_s`. TLS certificates and host names are always verified. Raises UsageProblem for certificate
    files that cannot be used, ConnectProblem if no server accepts the login.
    """
    with Stalls().watched() as stalls:
        connection = await _open_unstalled(settings, stalls)
        connection.budget = RequestBudget(settings.budget)
        try:
            yield connection
        finally:
            await connection.close()


async def _open_unstalled(settings: ConnectionSettings, stalls: Stalls) -> Connection:
    """Open a connection; retry if the time was lost to other processes of this machine rather than to servers."""
    for _ in range(_MAX_RETRIES):
        started_s, unstalled_s = asyncio.get_running_loop().time(), stalls.now_s()
        try:
            return await _open(settings, stalls)
        except ConnectProblem:
            took_s = asyncio.get_running_loop().time() - started_s
            lost_s = took_s - (stalls.now_s() - unstalled_s)
            if lost_s < max(_STALLED_S, _STALLED_SHARE * took_s):
                raise
        await asyncio.sleep(random.uniform(*_PAUSE_S))  # noqa: S311 - so that many that wait do not come at once
    return await _open(settings, stalls)


async def _open(settings: ConnectionSettings, stalls: Stalls) -> Connection:
    tls = plan_tls(settings)
    servers = [server for url in settings.servers for server in parse_servers(url, "server")]
    loop = asyncio.get_running_loop()
    deadline = loop.time() + settings.timeout_s
    refusals: list[tuple[str, ConnectionRefusal]] = []
    for tried, server in enumerate(servers):
        login = (settings.server_logins[tried] if settings.server_logins else None) or settings.login
        now = loop.time()
        share = now + (deadline - now) / (len(servers) - tried)  # a silent server leaves time for those after it
        try:
            return await _open_one(_Attempt(server, login, tls), settings.inbox_prefix, share, stalls)
        except ConnectionRefusal as refusal:
            refusals.append((server.url, refusal))
    raise _problem(refusals)


async def _open_one(attempt: _Attempt, inbox_prefix: str, deadline: float, stalls: Stalls) -> Connection:
    """Open one connection. Raises ConnectionRefusal."""
    loop = asyncio.get_running_loop()
    server = attempt.server
    if server.websocket:
        require_websocket(server, attempt.tls)
        connection = Connection(server.url, stalls, ClosedWebSocketTransport())
    else:
        connection = Connection(server.url, stalls, GreetedTransport(await greet(server, attempt.tls, deadline)))
    failures: tuple[type[Exception], ...] = (OSError, errors.Error, *websocket_errors(server))
    budget_s = max(deadline - loop.time(), 0)
    try:
        async with asyncio.timeout_at(deadline):
            await connection.log_in(attempt, inbox_prefix, budget_s)
    except _PROTOCOL_ERRORS as error:
        await connection.close()
        if isinstance(error, failures):  # errors of certificates are ValueErrors as well
            raise websocket_refusal(error, server, attempt.tls, budget_s) from None
        raise ConnectionRefusal(
            Stage.GREETING, "it greets as a NATS server and then does not speak its protocol", "check the port"
        ) from None
    except failures as error:
        await connection.close()
        if server.websocket and not connection.server_info:
            raise websocket_refusal(error, server, attempt.tls, budget_s) from None
        raise _refusal(error, connection, attempt) from None
    except BaseException:
        await connection.close()
        raise
    return connection


def _refusal(error: Exception, connection: Connection, attempt: _Attempt) -> ConnectionRefusal:
    """The refusal of a server that sent INFO and then did not accept the login."""
    info, stated = connection.server_info, "; ".join(connection.errors)
    if isinstance(error, ssl.SSLError):
        return tls_refusal(error, attempt.server, attempt.tls)
    if isinstance(error, TimeoutError) and not stated:
        return ConnectionRefusal(
            Stage.LOGIN, "it sends its INFO, but does not respond to the login in time", "--timeout 15s waits longer"
        )
    if isinstance(error, OSError):
        if not stated and info.get("tls_verify") and not attempt.tls.own_certificate:
            return ConnectionRefusal(Stage.TLS, "it wants a client certificate", "add --tlscert FILE --tlskey FILE")
        return login_refusal(stated, attempt.login, info)
    return login_refusal(_error_text(error), attempt.login, info)


def _error_text(error: Exception) -> str:
    """The server's error text in an exception of nats-py."""
    return str(error).removeprefix(_NATS_PY).strip("'")


def _problem(refusals: list[tuple[str, ConnectionRefusal]]) -> ConnectProblem:
    """One sentence for all servers; those that failed alike are named together."""
    farthest = max((refusal for _, refusal in refusals), key=lambda refusal: refusal.stage)
    if len(refusals) == 1:
        return ConnectProblem(f"cannot connect to {refusals[0][0]}: {farthest.reason}", farthest.hint)
    alike: dict[str, list[str]] = {}
    for url, refusal in refusals:
        alike.setdefault(refusal.reason, []).append(url)
    reported = "; ".join(f"{', '.join(urls)}: {reason}" for reason, urls in alike.items())
    return ConnectProblem(f"cannot connect to any of {len(refusals)} servers: {reported}", farthest.hint)


class RequestBudget:
    """Spaces requests evenly: at most `per_s` in a second; None: no limit."""

    def __init__(self, per_s: int | None) -> None:
        self._interval_s = 1 / per_s if per_s else 0.0
        self._next_at = 0.0

    async def wait(self) -> None:
        """Wait until the next request may be sent."""
        if not self._interval_s:
            return
        now = asyncio.get_running_loop().time()
        slot = max(self._next_at, now)
        self._next_at = slot + self._interval_s
        await asyncio.sleep(slot - now)


# How long this process waited for a processor: on a busy machine, a missing reply is then not due to the server.
#
# A timer that fires late shows it. Time in which the process itself ran does not count: otherwise a server that floods
# us could make us wait for ever.

_TICK_S = 0.05


class Stalls:
    """Measures how long the process was not scheduled, in `total_s`."""

    def __init__(self) -> None:
        self.total_s = 0.0
        self._loop = asyncio.get_running_loop()
        self._due_s = self._busy_s = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @contextlib.contextmanager
    def watched(self) -> Iterator[Stalls]:
        """Measure until this is left."""
        self._schedule_tick()
        try:
            yield self
        finally:
            if self._timer:
                self._timer.cancel()

    def now_s(self) -> float:
        """Loop time without stalls, which do not count against timeouts. Counts a stall that has just ended."""
        self._add_stall()
        return self._loop.time() - self.total_s

    def _schedule_tick(self) -> None:
        self._busy_s = process_time()
        self._due_s = self._loop.time() + _TICK_S
        self._timer = self._loop.call_at(self._due_s, self._tick)

    def _tick(self) -> None:
        self._add_stall()
        self._schedule_tick()

    def _add_stall(self) -> None:
        """Add the time by which the last tick is late to `total_s`; code that runs long delays ticks."""
        now_s, busy_s = self._loop.time(), process_time()
        late_s = now_s - self._due_s - (busy_s - self._busy_s)
        if late_s > _TICK_S:
            self.total_s += late_s
            self._due_s, self._busy_s = now_s, busy_s


# `connection` reports what nats-py would log; without a handler, Python prints it with a traceback.
logging.getLogger("nats").addHandler(logging.NullHandler())


Tap = Callable[[bytes, bytes, bytes, bytes], Awaitable[None]]
"""Takes subject, reply subject and header block of a message as received. It must not raise."""


class InfoClient(Client):
    """`info` is the server's INFO with all later updates: nats-py keeps only the first one, and in a private field.

    `fatal_error` is the -ERR with which the server ended the connection; nats-py replaces it by the end of the stream
    that follows. For `auth_required`, the first value counts: with `no_auth_user`, the first INFO has False because a
    client may connect without a login, and after a login, servers since 2.11 send True (nats-server `client.go`
    processPing).
    """

    def __init__(self, transport: Transport) -> None:
        super().__init__()
        self.info: dict[str, Any] = {}
        self.fatal_error: Exception | None = None
        self._taps: dict[int, Tap] = {}
        self._ps = BoundedParser(self)
        self._transport = transport

    def tap(self, subscription: Subscription, tap: Tap) -> None:
        """From now on, pass the messages of that subscription to `tap` as received.

        This skips the queue and the header parsing of nats-py, which are most of the cost of a message.
        """
        self._taps[subscription._id] = tap  # noqa: SLF001 - it has no other name

    def untap(self, subscription: Subscription) -> None:
        """Undo `tap`."""
        self._taps.pop(subscription._id, None)  # noqa: SLF001 - as above

    async def _process_msg(self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes) -> None:
        if tap := self._taps.get(sid):
            await tap(subject, reply, headers or b"", data)
        else:
            await super()._process_msg(sid, subject, reply, data, headers)

    async def _process_err(self, err_msg: str) -> None:
        await super()._process_err(err_msg)
        if "permissions violation" not in err_msg:
            self.fatal_error = self.last_error

    async def _read_loop(self) -> None:
        with contextlib.suppress(errors.Error, OSError):  # after a failed login: nothing awaits this task
            await super()._read_loop()

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        first = {"auth_required": self.info.get("auth_required", False)} if self.info else {}
        self.info.update(info | first)
        # Other addresses of the cluster are for reconnecting, which a run never does; nats-py compares each with all.
        await super()._process_info({**info, "connect_urls": None}, initial_connection)
