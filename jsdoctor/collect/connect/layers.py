"""The sources of a connection setting, in order of precedence: command line, environment, context."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from jsdoctor.collect.connect.contexts import Context
from jsdoctor.collect.connect.secret_refs import nsc_profile

FLAGS, ENVIRONMENT, CONTEXT, DEFAULT = range(4)

_VARIABLES = {
    "server": "NATS_URL",
    "user": "NATS_USER",
    "password": "NATS_PASSWORD",
    "token": "NATS_TOKEN",
    "creds": "NATS_CREDS",
    "nkey": "NATS_NKEY",
    "user_jwt": "NATS_JWT",
    "user_seed": "NATS_SEED",
    "tlscert": "NATS_CERT",
    "tlskey": "NATS_KEY",
    "tlsca": "NATS_CA",
    "timeout": "NATS_TIMEOUT",
    "socks_proxy": "NATS_SOCKS_PROXY",
}
# Names of settings whose JSON key is another; all others are the same.
_JSON_KEYS = {
    "server": "url",
    "tlscert": "cert",
    "tlskey": "key",
    "tlsca": "ca",
    "js_domain": "jetstream_domain",
    "js_api_prefix": "jetstream_api_prefix",
}
_LOGINS = ("user", "creds", "nkey", "user_jwt", "token")


class ResolvedSetting(NamedTuple):
    """A value, the label of its source (`--creds`, `NATS_CREDS`, `key 'creds' of context 'x'`), and its rank."""

    value: str | None
    origin: str
    rank: int


NOT_FOUND = ResolvedSetting(None, "default", DEFAULT)


@dataclass(frozen=True, slots=True)
class Layer:
    """The non-empty values of one source, by setting, and the label of each."""

    values: Mapping[str, str] = field(repr=False)
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Layers:
    """All sources, in the order FLAGS, ENVIRONMENT, CONTEXT."""

    layers: tuple[Layer, ...]

    def at(self, rank: int, name: str) -> ResolvedSetting:
        """The value in one source."""
        layer = self.layers[rank]
        value = layer.values.get(name)
        return ResolvedSetting(value, layer.labels[name], rank) if value else NOT_FOUND

    def pick(self, name: str) -> ResolvedSetting:
        """The value in the source of highest precedence that has one."""
        return next((result for rank in range(len(self.layers)) if (result := self.at(rank, name)).value), NOT_FOUND)


def gather(flags: Mapping[str, str], environ: Mapping[str, str], context: Context | None) -> Layers:
    """All sources of one run. `flags` are the values of the command line, by setting.

    The old `nsc` key of a context stands for a URL and a creds file: `nsc` is run if one of them is needed. Raises
    UsageProblem if it gives no usable output.
    """
    variables = {name: value for name, variable in _VARIABLES.items() if (value := environ.get(variable))}
    stored: dict[str, str] = {}
    labels: dict[str, str] = {}
    if context:
        names = {key: name for name, key in _JSON_KEYS.items()}
        stored = {names.get(key, key): value for key, value in context.values.items()}
        labels = {name: key_label(_JSON_KEYS.get(name, name), context) for name in stored}
    if "nsc" in stored and not (_says_who(flags, variables) and ("server" in flags or "server" in variables)):
        profile = nsc_profile(stored["nsc"], environ, labels["nsc"])
        stored = {"creds": profile.creds, "server": profile.servers} | stored
        labels = {"creds": labels["nsc"], "server": labels["nsc"]} | labels
    return Layers(
        (
            Layer(flags, {name: f"--{name.replace('_', '-')}" for name in flags}),
            Layer(variables, _VARIABLES),
            Layer(stored, labels),
        )
    )


def key_label(key: str, context: Context) -> str:
    """The label of a value of a context: key, context and file."""
    return f"key {key!r} of context {context.name!r} ({context.path})"


def _says_who(*places: Mapping[str, str]) -> bool:
    return any(name in place for place in places for name in _LOGINS)
