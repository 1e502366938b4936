"""Whether a value of a configuration of nats-server has the type that its field takes.

`urllib.parse` takes nearly anything.
"""

from __future__ import annotations

import re
from base64 import b32decode
from binascii import crc_hqx
from collections.abc import Callable

from jsdoctor.manifests.fields import go_duration
from jsdoctor.manifests.tree import Tree, Variable
from jsdoctor.model.subjects import is_subject

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_USER_INFO = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_NO_HOST = re.compile(r"[\x00-\x20^`{|}\\\[]|%(?!25)")


def url_error(text: str) -> str:
    """Why Go refuses a URL; empty if it does not. The text is not quoted: it may be a password."""
    text = text.strip()
    if _CONTROL.search(text):
        return "it has a control character"
    rest, _, fragment = text.partition("#")
    scheme, rest, missing = _scheme(rest)
    if missing:
        return "a scheme such as nats:// is missing"
    path, _, _ = rest.partition("?")
    if _ESCAPE.search(fragment):
        return "% does not begin an escape such as %23"
    if not path.startswith("/"):
        if scheme:
            return ""  # an opaque URL, such as localhost:4222
        return "a scheme such as nats:// is missing" if ":" in path.partition("/")[0] else _escape_error(path)
    if not path.startswith("//") or path.startswith("///"):
        return _escape_error(path)
    authority, _, behind = path[2:].partition("/")
    return _host_error(authority) or _escape_error(behind)


def url_scheme(text: str) -> str:
    """The scheme in lower case; empty where there is none."""
    return _scheme(text.strip())[0]


def _scheme(text: str) -> tuple[str, str, bool]:
    """The scheme, what follows it, and whether a colon stands where a scheme should have been."""
    before, colon, behind = text.partition(":")
    if not colon:
        return "", text, False
    if _SCHEME.fullmatch(before):
        return before.lower(), behind, False
    return "", text, not before


def _escape_error(text: str) -> str:
    return "% does not begin an escape such as %23" if _ESCAPE.search(text) else ""


def _host_error(text: str) -> str:
    """Why Go refuses `user:password@host:port`; empty if it does not."""
    user, at, host = text.rpartition("@")
    if at and not _USER_INFO.fullmatch(user):
        return "the user or password has a character that must be escaped, such as %23 for #"
    if at and _ESCAPE.search(user):
        return "% in the user or password must be written as %25"
    if host.startswith("["):
        inside, bracket, port = host.rpartition("]")
        if not bracket:
            return "the bracket of an IPv6 address is not closed"
        host = inside[1:]
    else:
        host, colon, port = host.rpartition(":")
        host, port = (host, colon + port) if colon else (port, "")
    if port and not re.fullmatch(":[0-9]*", port):
        return "the port is no number"
    return "the host has a character that no host has" if _NO_HOST.search(host) else ""


_MAX_PORT = 65535
_SIZES = "KMGT"


def wrong_value(kind: str, node: Tree) -> str:
    """What a field of this kind (see `server_blocks`) expects instead of its value; empty if the value is right.

    Values of variables, and fields of kind `any`, count as right.
    """
    if isinstance(node.value, Variable) or kind == "any":
        return ""
    is_right, expected = _EXPECTED[kind]
    if not is_right(node):
        return expected
    if kind in _URLS:
        return next((f"Go takes this for no URL: {error}" for text in _strings(node) if (error := url_error(text))), "")
    return ""


def without_unit(kind: str, node: Tree) -> bool:
    """Whether a duration is a number: servers start, take it for seconds and warn, for which `-t` refuses the file."""
    return kind == "duration" and _integer(node)


def _integer(node: Tree) -> bool:
    return node.integer is not None


def _text(node: Tree) -> bool:
    return isinstance(node.value, str)


def _within(least: int, most: int) -> Callable[[Tree], bool]:
    return lambda node: _integer(node) and isinstance(node.value, int) and least <= node.value <= most


def _duration(node: Tree) -> bool:
    if _integer(node):
        return True
    try:
        go_duration(node)
    except ValueError:
        return False
    return node.value != ""


def _size(node: Tree) -> bool:
    value = node.value
    if isinstance(value, str):
        return value == "" or (value[-1] in _SIZES and value[:-1].isascii() and value[:-1].lstrip("-").isdigit())
    return _integer(node)


def _address(node: Tree) -> bool:
    """A port, or host and port."""
    if isinstance(node.value, str):
        port = node.value.rpartition(":")[2]
        return ":" in node.value and port.lstrip("-+").isdigit() and port.isascii()
    return _integer(node)


def _texts(node: Tree) -> bool:
    return _text(node) or (isinstance(node.value, list) and all(_text(item) for item in node.items()))


def _on_or_off(node: Tree) -> bool:
    if isinstance(node.value, str):
        return node.value.lower() in ("enabled", "enable", "disabled", "disable")
    return isinstance(node.value, bool | dict)


def _timeout(node: Tree) -> bool:
    """A number of seconds, or a duration."""
    if isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return True
    return _text(node) and node.value != "" and _duration(node)


def _text_list(node: Tree) -> bool:
    return isinstance(node.value, list) and all(_text(item) or _is_variable(item) for item in node.items())


def _blocks(node: Tree) -> bool:
    return isinstance(node.value, list) and all(
        isinstance(item.value, dict) or _is_variable(item) for item in node.items()
    )


def _is_variable(node: Tree) -> bool:
    return isinstance(node.value, Variable)


def _strings(node: Tree) -> list[str]:
    """The texts of a value that is a text or a list of them, without those that variables give."""
    items = list(node.items()) if isinstance(node.value, list) else [node]
    return [item.value for item in items if isinstance(item.value, str)]


def _subjects(node: Tree) -> bool:
    return _texts(node) and all(map(is_subject, _strings(node)))


def _queue_subjects(node: Tree) -> bool:
    """A subject, or a subject and the name of a queue group."""
    return _texts(node) and all(
        is_subject(text) or (len(parts := text.split()) == 2 and all(map(is_subject, parts))) for text in _strings(node)
    )


def _block_or(test: Callable[[Tree], bool]) -> Callable[[Tree], bool]:
    return lambda node: isinstance(node.value, dict) or test(node)


def _boolean(node: Tree) -> bool:
    return isinstance(node.value, bool)


def _one_of(*words: str, ignore_case: bool = True) -> Callable[[Tree], bool]:
    return lambda node: isinstance(node.value, str) and (node.value.lower() if ignore_case else node.value) in words


def _list_of(words: frozenset[str]) -> Callable[[Tree], bool]:
    """A test for a list that is not empty and has only these words."""
    return lambda node: _text_list(node) and node.value != [] and words.issuperset(_strings(node))


def _handshake(node: Tree) -> bool:
    if _boolean(node):
        return True
    return _one_of("true", "on", "false", "off", "auto", "auto_fallback")(node) or (
        _text(node) and node.value != "" and _duration(node)
    )


def _weight(node: Tree) -> bool:
    value = node.value
    if isinstance(value, str):
        return bool(re.fullmatch(r"[+-]?[0-9]{1,3}%?", value)) and 0 <= int(value.rstrip("%")) <= 100
    return _within(0, 100)(node)


def _public_key(*prefixes: int) -> Callable[[Tree], bool]:
    """A test for a public nkey: a prefix, 32 bytes and their CRC-16, in base 32 (nkeys: strkey.go)."""

    def is_key(node: Tree) -> bool:
        raw = _decoded(node)
        return len(raw) == 1 + _KEY_BYTES and raw[0] in prefixes

    return is_key


def _user_seed(node: Tree) -> bool:
    """Whether this is the seed of a user: five bits of each of its first bytes hold a prefix (nkeys: strkey.go)."""
    raw = _decoded(node)
    return len(raw) > 1 and raw[0] & 0xF8 == _SEED and (raw[0] & 7) << 5 | (raw[1] & 0xF8) >> 3 == _USER


def _decoded(node: Tree) -> bytes:
    """What an nkey encodes, without its check sum; nothing where the check sum is wrong."""
    if not isinstance(node.value, str):
        return b""
    try:
        raw = b32decode(node.value + "=" * (-len(node.value) % 8))
    except ValueError:
        return b""
    return raw[:-2] if crc_hqx(raw[:-2], 0) == int.from_bytes(raw[-2:], "little") else b""


_KEY_BYTES = 32
_USER, _ACCOUNT, _CURVE, _SEED = 20 << 3, 0, 23 << 3, 18 << 3
_PUBLIC = (_USER, _ACCOUNT, _CURVE, 13 << 3, 2 << 3, 14 << 3)
"""First bytes of keys of users, accounts, curves, servers, clusters and operators."""
_CONNECTIONS = frozenset({"STANDARD", "WEBSOCKET", "LEAFNODE", "LEAFNODE_WS", "MQTT", "MQTT_WS", "IN_PROCESS"})
_URLS = ("url", "urls", "url_list", "proxy_url")
_SECURE_CIPHERS = frozenset(
    {
        *("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"),
        *(
            f"TLS_{exchange}_WITH_{mode}"
            for exchange in ("ECDHE_RSA", "ECDHE_ECDSA")
            for mode in ("AES_128_CBC_SHA", "AES_256_CBC_SHA", "AES_128_GCM_SHA256", "AES_256_GCM_SHA384")
        ),
        *("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"),
    }
)
_CIPHERS = _SECURE_CIPHERS | {
    *("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256"),
    *("TLS_ECDHE_RSA_WITH_RC4_128_SHA", "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA", "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA"),
    *("TLS_RSA_WITH_RC4_128_SHA", "TLS_RSA_WITH_3DES_EDE_CBC_SHA"),
    *(
        f"TLS_RSA_WITH_AES_{mode}"
        for mode in ("128_CBC_SHA", "256_CBC_SHA", "128_CBC_SHA256", "128_GCM_SHA256", "256_GCM_SHA384")
    ),
}
_OLD_CIPHERS = (_CIPHERS - {"TLS_RSA_WITH_AES_128_GCM_SHA256"}) | {
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305",
}
"""Names of crypto/tls; those that Go counts as secure, as the servers from 2.12 on were built; those of 2.10."""
_CURVES = frozenset({"X25519", "CurveP256", "CurveP384", "CurveP521"})

_SUITES = "a list of cipher suites such as TLS_AES_128_GCM_SHA256 is expected"
_EXPECTED: dict[str, tuple[Callable[[Tree], bool], str]] = {
    "integer": (_integer, "a whole number without quotes is expected"),
    "small": (_within(-(1 << 63), (1 << 31) - 1), "a number of bytes below 2 GiB without quotes is expected"),
    "count": (_within(0, 255), "a whole number from 0 to 255 is expected"),
    "limited": (_within(0, _MAX_PORT), f"a whole number from 0 to {_MAX_PORT} is expected"),
    "text": (_text, "a text is expected"),
    "boolean": (_boolean, "true or false without quotes is expected"),
    "verify": (
        lambda node: _boolean(node) or _one_of("optional")(node),
        'true or false without quotes, or "optional", is expected',
    ),
    "mapping": (lambda node: isinstance(node.value, dict), "a block in braces is expected"),
    "listed": (_blocks, "a list of blocks in braces is expected"),
    "duration": (_duration, "a duration such as 10s or 2m is expected"),
    "period": (lambda node: _text(node) and _duration(node), "a duration such as 10s or 2m is expected"),
    "size": (_size, "a number such as 10GB without quotes, or a text ending in K, M, G or T, is expected"),
    "address": (_address, "a port, or a host and a port, is expected"),
    "texts": (_texts, "a text or a list of texts is expected"),
    "switch": (_on_or_off, "true, false, enabled, disabled or a block is expected"),
    "parts": (lambda node: isinstance(node.value, bool | dict), "true, false or a block is expected"),
    "timeout": (_timeout, "a number of seconds or a duration such as 2s is expected"),
    "text_list": (_text_list, "a list of texts is expected"),
    "urls": (_texts, "a URL or a list of URLs is expected"),
    "write_policy": (_one_of("default", "close", "retry", ignore_case=False), "default, close or retry is expected"),
    "compression": (_block_or(lambda node: _text(node) or _boolean(node)), "a mode such as s2_auto is expected"),
    "cipher": (_one_of("chacha", "chachapoly", "aes"), "chacha or aes is expected"),
    "file": (_text, "the path of a file is expected"),
    "curves": (_list_of(_CURVES), f"a list of {', '.join(sorted(_CURVES))} is expected"),
    "ciphers": (_list_of(_CIPHERS), _SUITES),
    "old_ciphers": (_list_of(_OLD_CIPHERS), _SUITES),
    "secure_ciphers": (
        _list_of(_SECURE_CIPHERS),
        f"{_SUITES}, and without allow_insecure_cipher_suites only of those that Go counts as secure",
    ),
    "pins": (
        lambda node: _text_list(node) and all(map(re.compile("[A-Fa-f0-9]{64}").fullmatch, _strings(node))),
        "a list of SHA-256 digests, of 64 hexadecimal digits each, is expected",
    ),
    "tls_version": (_one_of("1.2", "1.3"), 'the text "1.2" or "1.3" is expected'),
    "handshake": (_handshake, "true, false, auto or a duration is expected"),
    "subjects": (_subjects, "a subject or a list of subjects is expected"),
    "queue_subjects": (_queue_subjects, "a subject, alone or with a queue group, or a list of them is expected"),
    "rules": (_block_or(_subjects), "a subject, a list of subjects, or a block with allow and deny is expected"),
    "queue_rules": (
        _block_or(_queue_subjects),
        "a subject, a list of subjects, or a block with allow and deny is expected",
    ),
    "user_key": (_public_key(_USER), "the public nkey of a user (U…) is expected"),
    "account_key": (_public_key(_ACCOUNT), "the public nkey of an account (A…) is expected"),
    "curve_key": (_public_key(_CURVE), "a public curve key (X…) is expected"),
    "public_key": (_public_key(*_PUBLIC), "a public nkey is expected"),
    "user_seed": (_user_seed, "the seed of a user (SU…) is expected"),
    "connections": (
        lambda node: _texts(node) and _CONNECTIONS.issuperset(map(str.upper, _strings(node))),
        f"kinds of connections are expected: {', '.join(sorted(_CONNECTIONS))}",
    ),
    "response": (
        _one_of("single", "singleton", "stream", "chunk", "chunked"),
        "singleton, stream or chunked is expected",
    ),
    "weight": (_weight, "a whole number from 0 to 100, or a percentage, is expected"),
    "block_or_boolean": (_block_or(_boolean), "true, false or a block is expected"),
    "url": (_text, "a URL is expected"),
    "url_list": (_text_list, "a list of URLs is expected"),
    "proxy_url": (
        lambda node: node.value == "" or (_text(node) and url_scheme(str(node.value)) in ("http", "https")),
        "a URL that begins with http:// or https:// is expected",
    ),
    "mapped": (_block_or(lambda node: _text(node) or _blocks(node)), "a subject, or a block with one, is expected"),
    "names": (_text_list, "a list of names of accounts is expected"),
    "durations": (
        lambda node: (
            _text_list(node)
            and all(_is_variable(item) or (item.value != "" and _duration(item)) for item in node.items())
        ),
        "a list of durations such as 10ms is expected",
    ),
    "peers_only": (
        lambda node: node.value is False,
        "servers take it only in the tls block of a cluster or gateway",
    ),
    "no_users": (lambda _: False, "servers take one user here, and no list of users"),
    "no_token": (lambda node: node.value == "", "servers take no token here"),
}
