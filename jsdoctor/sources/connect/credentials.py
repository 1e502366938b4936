"""The login for a server: a user, a token, a creds file, an nkey, or a bare JWT with its seed."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from jsdoctor.model.problems import UsageProblem
from jsdoctor.replies.user_jwt import jwt_payload

# nkeys `creds_utils.go` userConfigRE; the newline after the END line is optional here, and of the line before only the
# end counts: looking for its beginning takes the square of a run of dashes.
_DECORATED = re.compile(r"---\r?\n\s*([\w.=-]+)\s*?\r?\n-{3,}[^\r\n]*-{3,}")
_SEED_LINE = re.compile(r"^[^\S\n]*(S[UAO][A-Z2-7]+)[^\S\n]*$", re.MULTILINE)
_JWT = re.compile(r"^[\w-]+\.[\w-]+\.[\w-]*$", re.ASCII)
_WRITE_CREDS = "write it again: nsc generate creds --account ACCOUNT --name USER > user.creds"


class LoginKind(StrEnum):
    """The kind of credentials that a client sends."""

    NONE = "none"
    USER = "user"
    TOKEN = "token"
    CREDS = "creds"
    NKEY = "nkey"


@dataclass(frozen=True, slots=True)
class Login:
    """One identity. Its secrets are not in its repr. `origin` names the option, variable or context it came from."""

    kind: LoginKind = LoginKind.NONE
    origin: str = ""
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    jwt: str | None = field(default=None, repr=False)
    seed: str | None = field(default=None, repr=False)

    def __bool__(self) -> bool:
        return self.kind is not LoginKind.NONE


def creds_login(text: str, origin: str) -> Login:
    """The login in the text of a creds file: its user JWT and its seed.

    Raises UsageProblem when one of the two is missing or damaged.
    """
    blocks: list[str] = _DECORATED.findall(text)
    jwt = next((block for block in blocks if block.count(".") == 2), None)
    seed = next((block for block in blocks if re.fullmatch(r"S[A-Z2-7]+", block)), None)
    if not jwt:
        raise UsageProblem(f"{origin}: no user JWT in it (no BEGIN NATS USER JWT block)", _WRITE_CREDS)
    if not seed:
        raise UsageProblem(f"{origin}: no seed in it (no BEGIN USER NKEY SEED block)", _WRITE_CREDS)
    return jwt_login(jwt, seed, origin)


def jwt_login(jwt: str, seed: str | None, origin: str) -> Login:
    """The login of a user JWT; without a seed it is a bearer token. Raises UsageProblem when one is damaged."""
    if not _JWT.match(jwt) or not jwt_claims(jwt):
        raise UsageProblem(f"{origin}: the user JWT is damaged", _WRITE_CREDS)
    if seed is not None:
        _require_seed(seed, origin)
    return Login(LoginKind.CREDS, origin, jwt=jwt, seed=seed)


def nkey_login(text: str, origin: str) -> Login:
    """The login in the text of an nkey seed file, decorated or bare. Raises UsageProblem when it holds no user seed."""
    blocks: list[str] = [block for block in _DECORATED.findall(text) if re.fullmatch(r"S[A-Z2-7]+", block)]
    lines: list[str] = _SEED_LINE.findall(text)
    seed = next(iter(blocks + lines), None)
    if not seed:
        raise UsageProblem(f"{origin}: no nkey seed in it (a line that begins with SU)", "make one: nk -gen user")
    _require_seed(seed, origin)
    return Login(LoginKind.NKEY, origin, seed=seed)


def jwt_claims(jwt: str) -> dict[str, object]:
    """The claims of a JWT, unverified: for explanations only. Empty when they cannot be read."""
    try:
        claims = json.loads(jwt_payload(jwt))
    except (ValueError, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}


def jwt_expiry(jwt: str) -> datetime | None:
    """When a JWT expires, None when it never does."""
    expires = jwt_claims(jwt).get("exp")
    if not isinstance(expires, int) or expires <= 0:
        return None
    try:
        return datetime.fromtimestamp(expires, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def public_key(seed: str) -> str:
    """The public nkey of a seed: not a secret, it names the user on the server."""
    import nkeys

    return str(nkeys.from_seed(bytearray(seed.encode())).public_key.decode())


def sign(seed: str, nonce: str) -> bytes:
    """The signature of a server's nonce, as CONNECT carries it (base64)."""
    import nkeys

    return base64.b64encode(nkeys.from_seed(bytearray(seed.encode())).sign(nonce.encode()))


def _require_seed(seed: str, origin: str) -> None:
    import nkeys

    if not seed.startswith("SU"):
        raise UsageProblem(f"{origin}: the seed is not that of a user (it must begin with SU)", _WRITE_CREDS)
    try:
        key = public_key(seed)
        # nkeys does not check the checksum: a seed with a typing error would just be another, unknown user.
        intact = nkeys.encode_seed(nkeys.decode_seed(seed.encode())[1], nkeys.PREFIX_BYTE_USER).decode() == seed
    except (nkeys.NkeysError, ValueError, TypeError):
        intact, key = False, ""
    if not (intact and key):
        raise UsageProblem(f"{origin}: the seed is damaged", _WRITE_CREDS)
