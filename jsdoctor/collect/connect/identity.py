"""Which of all given credentials to use: the nearest place that says who to be decides, farther ones are not mixed in.

Within one place the order is that of natscontext `NATSOptions`: user, creds, nkey, user JWT, token.
"""

from __future__ import annotations

from collections.abc import Mapping

from jsdoctor.collect.connect.credentials import Login, LoginKind, creds_login, jwt_login, nkey_login
from jsdoctor.collect.connect.layers import CONTEXT, DEFAULT, FLAGS, Layers, ResolvedSetting
from jsdoctor.collect.connect.secret_refs import resolve_literal, resolve_material, scheme_of
from jsdoctor.collect.connect.server_urls import ServerUrl
from jsdoctor.collect.problems import UsageProblem

_KINDS = ("user", "creds", "nkey", "user_jwt", "token")


def choose_login(layers: Layers, environ: Mapping[str, str]) -> tuple[Login, int]:
    """The login to use and the rank of the place it came from; no login and DEFAULT when nothing says who to be.

    Raises UsageProblem when the command line contradicts itself or when a credential cannot be read.
    """
    given = [result.origin for name in _KINDS if (result := layers.at(FLAGS, name)).value]
    if len(given) > 1:
        raise UsageProblem(f"{' and '.join(given)} are different ways to log in", "give one of them")
    for rank in range(len(layers.layers)):
        for kind in _KINDS:
            result = layers.at(rank, kind)
            if result.value:
                _refuse_stray_password(layers, kind)
                return _read(kind, result, layers, environ), rank
    _refuse_stray_password(layers, "")
    return Login(), DEFAULT


def url_logins(servers: tuple[ServerUrl, ...], origin: str) -> tuple[Login, ...]:
    """Who to be on each server according to its URL, in the order of the servers; empty when no URL says."""
    if not any(server.has_login for server in servers):
        return ()
    return tuple(_url_login(server, f"the URL in {origin}") for server in servers)


def _url_login(server: ServerUrl, origin: str) -> Login:
    if server.token is not None:
        return Login(LoginKind.TOKEN, origin, token=server.token)
    if server.user is not None:
        return Login(LoginKind.USER, origin, user=server.user, password=server.password)
    return Login()


def _read(kind: str, setting: ResolvedSetting, layers: Layers, environ: Mapping[str, str]) -> Login:
    value, origin, _ = setting
    value = value or ""
    if kind == "user":
        return _user(value, setting, layers, environ)
    if kind == "token":
        return Login(LoginKind.TOKEN, origin, token=resolve_literal(value, environ, origin))
    if kind == "user_jwt":
        seed = layers.pick("user_seed")
        return jwt_login(
            resolve_literal(value, environ, origin),
            resolve_literal(seed.value, environ, seed.origin) if seed.value else None,
            origin,
        )
    material = resolve_material(value, environ, origin)
    # The reference is named in errors; the content of a data: reference is the secret itself.
    where = origin if scheme_of(value) == "data" else f"{origin} {value}"
    return creds_login(material, where) if kind == "creds" else nkey_login(material, where)


def _user(user: str, setting: ResolvedSetting, layers: Layers, environ: Mapping[str, str]) -> Login:
    password = layers.pick("password")
    if password.rank == CONTEXT and layers.at(CONTEXT, "user").value != user:
        password = ResolvedSetting(None, "", DEFAULT)  # that is another user's password
    if password.value:
        secret = resolve_literal(password.value, environ, password.origin)
        return Login(LoginKind.USER, setting.origin, user=user, password=secret)
    if setting.rank == CONTEXT:
        return Login(LoginKind.USER, setting.origin, user=user, password="")
    return Login(LoginKind.TOKEN, f"{setting.origin} without a password", token=user)


def _refuse_stray_password(layers: Layers, kind: str) -> None:
    if layers.at(FLAGS, "password").value and kind != "user":
        raise UsageProblem("--password is given, but no user it could belong to", "add --user NAME")
