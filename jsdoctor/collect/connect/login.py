"""The options for a login, and the explanation of a login that the server refuses."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from jsdoctor.collect.connect.credentials import Login, LoginKind, jwt_claims, jwt_expiry, public_key, sign
from jsdoctor.collect.connect.refusal import ConnectionRefusal, Stage, printable

_HOW_TO_LOG_IN = "add --creds FILE, --user NAME --password PASSWORD, --nkey FILE or --context NAME"
# nats-server v2.15 `server/errors.go`, `client.go` sendErr: the errors sent before the server closes the connection.
_WRONG_PORT = "attempted to connect to"
_TOO_MANY = "maximum"
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
            return {
                "user_jwt_cb": lambda: jwt,
                "signature_cb": lambda nonce: sign(seed, nonce) if seed else b"",
            }
        case LoginKind.NONE:
            return {}


def login_refusal(stated: str, login: Login, info: Mapping[str, Any], now: datetime | None = None) -> ConnectionRefusal:
    """Explain the server's last error for this login: `said` is the text of its -ERR, empty if there was none."""
    words = stated.lower()
    if _WRONG_PORT in words:
        hint = "give the client port, 4222 unless configured otherwise (nats-server -p)"
        return ConnectionRefusal(Stage.LOGIN, f"that is not a client port: {printable(stated)}", hint)
    if _TOO_MANY in words:
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
    return ConnectionRefusal(Stage.LOGIN, *_unbelieved(login, info, now or datetime.now(UTC)))


def _unbelieved(login: Login, info: Mapping[str, Any], now: datetime) -> tuple[str, str]:
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
            return _unbelieved_jwt(login, origin, now)


def _unbelieved_jwt(login: Login, origin: str, now: datetime) -> tuple[str, str]:
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
