"""Operator mode by hand: nkeys, the JWTs they sign, the server configuration and the creds files that go with them."""

import base64
import json
import secrets

import nkeys

_UNLIMITED = {"subs": -1, "data": -1, "payload": -1}
_NO_JETSTREAM_LIMITS = {"mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1}


class Key:
    """An nkey: `seed` is secret, `public` is its name."""

    def __init__(self, prefix: int) -> None:
        self.seed: str = nkeys.encode_seed(secrets.token_bytes(32), prefix).decode()
        self._pair = nkeys.from_seed(bytearray(self.seed.encode()))
        self.public: str = self._pair.public_key.decode()

    def jwt(
        self, subject: str, name: str, nats: dict[str, object], expires: int | None = None, audience: str = ""
    ) -> str:
        """A JWT about the subject, signed by this key (jwt v2: ed25519-nkey)."""
        claims: dict[str, object] = {"jti": name, "iat": 1, "iss": self.public, "name": name, "sub": subject}
        claims |= {"nats": {**nats, "version": 2}} | ({"exp": expires} if expires else {})
        claims |= {"aud": audience} if audience else {}
        signed = f"{_encode({'typ': 'JWT', 'alg': 'ed25519-nkey'})}.{_encode(claims)}"
        return f"{signed}.{_base64(self._pair.sign(signed.encode()))}"


class Operator:
    """An operator with the accounts APP and SYS. `config` is what a server needs to know of them.

    `app_limits` are limits in the JWT of APP (conn, leaf, subs), in place of none. `jetstream` gives every account but
    SYS JetStream without limits; `tiers` are limits of APP instead, by tier. `others` are names of more accounts.
    `app_expires` is when the JWT of APP ends, in seconds since 1970. `resolver` replaces the preloaded one, which
    then has SYS alone.
    """

    def __init__(
        self,
        app_limits: dict[str, int] | None = None,
        *,
        jetstream: bool = False,
        tiers: dict[str, dict[str, int]] | None = None,
        others: tuple[str, ...] = (),
        app_expires: int | None = None,
        resolver: str = "",
    ) -> None:
        self._jetstream, self._tiers = jetstream, tiers
        self._expires = {"APP": app_expires}
        self._limits = {"APP": app_limits or {}}
        self._operator = Key(nkeys.PREFIX_BYTE_OPERATOR)
        self.app, self.system = Key(nkeys.PREFIX_BYTE_ACCOUNT), Key(nkeys.PREFIX_BYTE_ACCOUNT)
        self.others = {name: Key(nkeys.PREFIX_BYTE_ACCOUNT) for name in others}
        more = "".join(f"  {key.public}: {self._account(key, name)}\n" for name, key in self.others.items())
        self.config = (
            f"operator: {self._operator.jwt(self._operator.public, 'op', {'type': 'operator'})}\n"
            f"system_account: {self.system.public}\nresolver: {resolver or 'MEMORY'}\nresolver_preload: {{\n"
            + ("" if resolver else f"  {self.app.public}: {self._account(self.app, 'APP')}\n")
            + f"  {self.system.public}: {self._account(self.system, 'SYS')}\n{more}}}\n"
        )

    def user(self, account: Key, expires: int | None = None) -> tuple[str, str]:
        """JWT and seed of a new user of the account. `expires` in seconds since 1970."""
        key = Key(nkeys.PREFIX_BYTE_USER)
        return account.jwt(key.public, "user", {**_UNLIMITED, "type": "user"}, expires), key.seed

    def _account(self, account: Key, name: str) -> str:
        limits: dict[str, object] = {**_UNLIMITED, "imports": -1, "exports": -1, "wildcards": True}
        limits |= {"conn": -1, "leaf": -1, **self._limits.get(name, {})}
        if self._tiers and name == "APP":
            limits |= {"tiered_limits": {tier: {**_NO_JETSTREAM_LIMITS, **of} for tier, of in self._tiers.items()}}
        elif self._jetstream and name != "SYS":
            limits |= _NO_JETSTREAM_LIMITS
        claims: dict[str, object] = {"limits": limits, "type": "account"}
        return self._operator.jwt(account.public, name, claims, self._expires.get(name))


def creds(jwt: str, seed: str) -> str:
    """The text of a creds file, as `nsc generate creds` writes it."""
    return (
        f"-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n"
        "************************* IMPORTANT *************************\n"
        "NKEY Seed printed below can be used to sign and prove identity.\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n\n"
        "*************************************************************\n"
    )


def _encode(value: object) -> str:
    return _base64(json.dumps(value).encode())


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
