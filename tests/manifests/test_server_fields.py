"""Every field of a server's configuration with every kind of value: judged as `nats-server -t` judges it."""

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pytest

from jsdoctor.manifests.conf_tree import configuration
from jsdoctor.manifests.server_blocks import BLOCKS, SINCE, STRICTER
from jsdoctor.manifests.server_config import field_mistakes
from jsdoctor.manifests.tree import ManifestError
from tests.servers import DEFAULT_VERSION, VERSIONS, server_binary

USER_KEY = "UAAACAQDAQCQMBYIBEFAWDANBYHRAEISCMKBKFQXDAMRUGY4DUPB63NN"
ACCOUNT_KEY = "AAAACAQDAQCQMBYIBEFAWDANBYHRAEISCMKBKFQXDAMRUGY4DUPB776S"
CURVE_KEY = "XAAACAQDAQCQMBYIBEFAWDANBYHRAEISCMKBKFQXDAMRUGY4DUPB7QO7"
USER_SEED = "SUAAAAICAMCAKBQHBAEQUCYMBUHA6EARCIJRIFIWC4MBSGQ3DQOR4H776Y"
"""Keys of 32 bytes that count up, for nobody."""
VALUES = (
    *("abc", '"abc"', '"5"', "5", "-5", "1.5", "true", "10MB", '"10G"', '"5s"', "5s", "[abc]", "[1, 2]", "{}"),
    *("{abc: def}", "99999999999", '""', "off", "127.0.0.1:4222", '":8222"', "enabled", "[]", "7d"),
    *("[{abc: def}]", "[{}]", '["a b", "b.*"]', '"a..b"', '"1.3"', '"25%"', "101", "retry", "AES", "singleton"),
    *("[X25519, CurveP256]", "[STANDARD, mqtt]", "auto", "A" * 56, "[" + "a1" * 32 + "]"),
    *('["1s", "10ms"]', '"http://h"', '["nats://u:p%@h"]', "[TLS_AES_128_GCM_SHA256]"),
    *("[TLS_RSA_WITH_AES_128_GCM_SHA256]", "[TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305]", "20"),
    *(USER_KEY, ACCOUNT_KEY, CURVE_KEY, USER_SEED),
)
_LEAF = "leafnodes {\n%s\n}\n"
_SERVICE = (
    "accounts { B { exports = [ {service: a.b} ] }, A { imports = [ {service: {account: B, subject: a.b}, %s} ] } }"
)
_STREAM = "accounts { B { exports = [ {stream: a.b} ] }, A { imports = [ {stream: {account: B, subject: a.b}, %s} ] } }"
TEMPLATES = {
    "": "%s\n",
    "jetstream limits": "jetstream {\nlimits {\n%s\n}\n}\n",
    "batch": "jetstream {\nlimits { batch {\n%s\n} }\n}\n",
    "tpm": "jetstream {\ntpm {\n%s\n}\n}\n",
    "peer authorization": "cluster { authorization {\n%s\n} }\n",
    "simple authorization": "mqtt { authorization {\n%s\n} }\n",
    "leaf authorization": _LEAF % "authorization {\n%s\n}",
    "leaf user": _LEAF % "authorization { users = [ {\n%s\n} ] }",
    "user": "authorization { users = [ {user: me\n%s\n} ] }\n",
    "permissions": "authorization { users = [ {user: me, permissions {\n%s\n} } ] }\n",
    "publish rules": "authorization { users = [ {user: me, permissions { publish {\n%s\n} } } ] }\n",
    "subscribe rules": "authorization { users = [ {user: me, permissions { subscribe {\n%s\n} } } ] }\n",
    "responses": "authorization { users = [ {user: me, permissions { allow_responses {\n%s\n} } } ] }\n",
    "callout": f"authorization {{ auth_callout {{ issuer: {ACCOUNT_KEY}, users: [me]\n%s\n}} }}\n",
    "tls": "tls {\n%s\n}\n",
    "peer tls": "cluster { tls {\n%s\n} }\n",
    "certificate": "tls { certs = [ {\n%s\n} ] }\n",
    "remote": _LEAF % 'remotes = [ {url: "nats://127.0.0.1:7422"\n%s\n} ]',
    "proxy": _LEAF % 'remotes = [ {url: "ws://127.0.0.1:7422", proxy {url: "http://p"\n%s\n} } ]',
    "compression": "cluster { compression {\n%s\n} }\n",
    "ocsp peer": "tls { ocsp_peer {\n%s\n} }\n",
    "remote gateway": "gateway { gateways = [ {\n%s\n} ] }\n",
    "proxies": "proxies {\n%s\n}\n",
    "trusted proxy": "proxies { trusted = [ {\n%s\n} ] }\n",
    "accounts": "accounts { %s }\n",
    "account": "accounts { A {\n%s\n} }\n",
    "account jetstream": "accounts { A { jetstream {\n%s\n} } }\n",
    "account limits": "accounts { A { limits {\n%s\n} } }\n",
    "export": "accounts { B { }, A { exports = [ {service: a.b\n%s\n} ] } }\n",
    "import": _SERVICE,
    "imported": "accounts { A { imports = [ {service: {%s}} ] } }\n",
    "mappings": "mappings {\n%s\n}\n",
    "mapping": "mappings { a: { weight: 50, dest: b\n%s\n} }\n",
}
NO_LOGIN = "authorization { users = [ {\n%s\n} ] }\n"
OWN_TEMPLATES = {
    ("user", "nkey"): NO_LOGIN,
    ("user", "user"): NO_LOGIN,
    ("user", "username"): NO_LOGIN,
    ("callout", "issuer"): "authorization { auth_callout { users: [me]\n%s\n} }\n",
    ("callout", "users"): f"authorization {{ auth_callout {{ issuer: {ACCOUNT_KEY}\n%s\n}} }}\n",
    ("export", "stream"): "accounts { A { exports = [ {\n%s\n} ] } }\n",
    ("export", "service"): "accounts { A { exports = [ {\n%s\n} ] } }\n",
    ("import", "allow_trace"): _STREAM,
    ("import", "prefix"): _STREAM,
    ("proxy", "url"): _LEAF % 'remotes = [ {url: "ws://127.0.0.1:7422", proxy {\n%s\n} } ]',
    ("mapping", "weight"): "mappings { a: { dest: b\n%s\n} }\n",
    ("mapping", "dest"): "mappings { a: { weight: 50\n%s\n} }\n",
    ("mapping", "destination"): "mappings { a: { weight: 50\n%s\n} }\n",
}
"""For fields that need, or exclude, another one than the rest of their block."""


def template(block: str, field: str) -> str:
    """A configuration with a place for that field."""
    return OWN_TEMPLATES.get((block, field)) or TEMPLATES.get(block) or f"{block} {{\n%s\n}}\n"


IN_NEWER_BLOCKS = {"batch": (2, 12), "tpm": (2, 11), "proxies": (2, 12), "trusted proxy": (2, 12), "proxy": (2, 12)}
UNKNOWN = "jetstrem"
IN_CI = 31
"""In CI one in so many is tried; the number has no divisor in common with the number of values."""
ONLY_WARNED = ("setting ignored in this server version", "is high, consider")
"""What fails `-t` and not a start."""
OF_THE_WHOLE = (
    *("unsupported compression mode", "cannot find local account", "no_auth_user:", "default sentinel requires"),
    *("has no port specified", "websocket requires TLS", "higher than max_pending", "gateway has no name"),
    *("mqtt requires JetStream", "proxy trusted key", f'public account nkey, got "{"A" * 56}"'),
)
"""What fails a start, and from 2.14.10 and 2.15.3 on `-t` as well: one field alone does not tell. The key, all of
zero bytes, is one that older servers take.
"""


class FieldValue(NamedTuple):
    """One field of a block, set to one value."""

    block: str
    field: str
    value: str

    @property
    def text(self) -> str:
        """The whole configuration."""
        return template(self.block, self.field) % f"{self.field}: {self.value}"


def settings() -> Iterator[FieldValue]:
    for name, block in BLOCKS.items():
        for field in (*block.fields, UNKNOWN):
            for value in VALUES:
                yield FieldValue(name, field, value)


def refused_by_server(version: str, setting: FieldValue, path: Path) -> str:
    """What `nats-server -t` has against it; empty where a server starts with it."""
    path.write_text(setting.text)
    words = [str(server_binary(version)), "-t", "-c", str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60, cwd=path.parent)
    output = done.stdout + done.stderr
    warned = any(text in output for text in (*ONLY_WARNED, *OF_THE_WHOLE)) and "interface conversion" not in output
    return "" if "is valid" in output or warned else output


def refused_here(version: str, setting: FieldValue) -> str:
    """The mistake that is found here, for a server of this version; empty where there is none."""
    try:
        read = configuration("n.conf", setting.text, lambda _file, _name: None)
    except ManifestError as error:
        return error.says
    release = tuple(int(part) for part in version.split("."))
    key = f"{setting.block}.{setting.field}".lstrip(".")
    if release < max(SINCE.get(key, (0,)), IN_NEWER_BLOCKS.get(setting.block, (0,))):
        return "a later server knows it"
    strict = key not in STRICTER or release >= STRICTER[key].since
    mistakes = field_mistakes(read.tree, read.used)
    return "; ".join(mistake.says for mistake in mistakes if not mistake.unsure and (strict or not mistake.ignored))


def judged(version: str, some: list[FieldValue], directory: Path) -> list[tuple[FieldValue, str, str]]:
    """Each with what the server says and what is said here."""
    with ThreadPoolExecutor(2) as pool:
        numbered = list(enumerate(some))
        answers = pool.map(
            lambda numbered_value: refused_by_server(
                version, numbered_value[1], directory / f"{numbered_value[0]}.conf"
            ),
            numbered,
        )
        return [(value, answer, refused_here(version, value)) for value, answer in zip(some, answers, strict=True)]


def differences(judgements: list[tuple[FieldValue, str, str]]) -> tuple[list[str], list[str]]:
    """Refusals that are claimed falsely, and those that are missed of fields whose values are judged at all."""
    false = [f"{value}: {here}" for value, there, here in judgements if here and not there]
    missed = [
        f"{value}: {there[-160:]}"
        for value, there, here in judgements
        if there and not here and not _depends(value, BLOCKS[value.block].fields.get(value.field))
    ]
    return false, missed


def _depends(value: FieldValue, kind: str | None) -> bool:
    """Whether it takes more than the type of the value to judge it: what is in a block, which files or accounts there
    are, or what another field says.
    """
    if kind in ("any", "mapping", "file", "names"):
        return True
    return (value.block, value.field) in OTHERS_DECIDE or (kind == "parts" and value.value[0] in "{[")


OTHERS_DECIDE = {
    *(("export", "account_token_position"), ("import", "to"), ("mappings", UNKNOWN)),
    *(("mapping", "dest"), ("mapping", "destination")),
}


def test_some_fields(tmp_path: Path) -> None:
    some = list(islice(settings(), 7, None, IN_CI))
    assert differences(judged(DEFAULT_VERSION, some, tmp_path)) == ([], [])


@pytest.mark.nightly
@pytest.mark.parametrize("version", VERSIONS)
def test_all_fields(tmp_path: Path, version: str) -> None:
    judgements = judged(version, list(settings()), tmp_path)
    assert len(judgements) > 25000
    false, missed = differences(judgements)
    assert false == []
    assert missed == []


def test_a_field_that_is_a_variable_is_no_mistake() -> None:
    text = "PORT: 4222\nport: $PORT\nzzz: 1\n"
    read = configuration("n.conf", text, lambda _file, _name: None)
    assert [(mistake.says, mistake.place.line) for mistake in field_mistakes(read.tree, read.used)] == [
        ("no server up to 2.15 knows the field 'zzz'", 3)
    ]


def test_a_switch_lets_servers_take_insecure_cipher_suites() -> None:
    """That they do is measured in `test_all_fields` without the switch; a variable may be on."""
    for switch, count in (("true", 0), ("$SWITCH", 0), ("false", 1)):
        suites = "cert_file: a, key_file: b, cipher_suites: [TLS_RSA_WITH_RC4_128_SHA]"
        text = f"tls {{ allow_insecure_cipher_suites: {switch}, {suites} }}\n"
        read = configuration("n.conf", text, lambda _file, _name: None)
        assert len([mistake for mistake in field_mistakes(read.tree, read.used) if not mistake.unsure]) == count


@pytest.mark.parametrize(
    ("value", "words"), [("optional", "servers before 2.15.3"), ("x", "verify: true or"), ("true", "")]
)
def test_clients_may_be_free_to_show_a_certificate(value: str, words: str) -> None:
    read = configuration("n.conf", f"tls {{ verify: {value} }}\n", lambda _file, _name: None)
    says = [mistake.says for mistake in field_mistakes(read.tree, read.used)]
    assert [text[: len(words)] for text in says] == [words] * bool(words)
