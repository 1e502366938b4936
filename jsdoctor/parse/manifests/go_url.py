"""URLs as Go reads them (net/url: Parse): what servers refuse in routes, gateways and remotes of leaf nodes.

`urllib.parse` takes nearly anything.
"""

from __future__ import annotations

import re

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_USER = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_NO_HOST = re.compile(r"[\x00-\x20^`{|}\\\[]|%(?!25)")


def url_error(text: str) -> str:
    """Why Go refuses it, without its content, which may be a password; empty where it does not."""
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
        return "a scheme such as nats:// is missing" if ":" in path.partition("/")[0] else _escapes(path)
    if not path.startswith("//") or path.startswith("///"):
        return _escapes(path)
    authority, _, behind = path[2:].partition("/")
    return _authority(authority) or _escapes(behind)


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


def _escapes(text: str) -> str:
    return "% does not begin an escape such as %23" if _ESCAPE.search(text) else ""


def _authority(text: str) -> str:
    user, at, host = text.rpartition("@")
    if at and not _USER.fullmatch(user):
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
