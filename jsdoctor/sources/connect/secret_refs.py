"""Resolves secrets and files: `~` and `$VAR` in paths, and the references `file:// env:// data: op:// nsc://`.

The rules are those of jsm.go v0.5.0 `natscontext` (`expandHomedir`, `resolver_*.go`), which the `nats` CLI uses.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from jsdoctor.model.nearest import did_you_mean
from jsdoctor.model.problems import UsageProblem
from jsdoctor.redaction.redact import scrub_line

# One-letter schemes are Windows drive letters (natscontext `parseScheme`).
_SCHEME = re.compile(r"^([a-z][a-z0-9+.-]+):", re.IGNORECASE)
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))", re.ASCII)
_LIKE_A_PATH = re.compile(r"^(?:~?/|\.{1,2}/|~$|\$|[A-Za-z]:\\)|\.[A-Za-z]{1,8}$")
_TOOL_TIMEOUT_S = 60.0  # a person may have to unlock the vault
_ERROR_SHOWN = 200


@dataclass(frozen=True, slots=True)
class NscProfile:
    """The output of `nsc generate profile` for a user: the creds file and the operator's servers (comma list)."""

    creds: str
    servers: str


def scheme_of(reference: str) -> str:
    """The scheme of a reference in lower case, nothing for a bare value."""
    match = _SCHEME.match(reference)
    return match[1].lower() if match else ""


def expand_variables(text: str, environ: Mapping[str, str], origin: str) -> str:
    """The text with `$VAR` and `${VAR}` replaced. Raises UsageProblem when one is not set."""
    missing = [name for pair in _VARIABLE.findall(text) if (name := pair[0] or pair[1]) not in environ]
    if missing:
        raise UsageProblem(
            f"{origin}: {shown_path(text)} uses ${missing[0]}, which is not set",
            f"set it (export {missing[0]}=...) or write the path in full",
        )
    return _VARIABLE.sub(lambda match: environ[match[1] or match[2]], text)


def expand_path(text: str, environ: Mapping[str, str], origin: str) -> Path:
    """A path as written in a context or an option, with `file://`, variables and a leading `~` expanded.

    Raises UsageProblem when a variable in it is not set.
    """
    path = expand_variables(text, environ, origin)
    if scheme_of(path) == "file":
        path = path[len("file:") :].removeprefix("//")
    if path == "~" or path.startswith("~/"):
        path = home_of(environ) + path[1:]
    return Path(path)


def home_of(environ: Mapping[str, str]) -> str:
    """The home directory; `~`, which is the name of none, for a user that has none, as in a container."""
    return environ.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 - Path.expanduser fails without a home


def read_path(path: Path, origin: str) -> bytes:
    """The bytes of a file. Raises UsageProblem that names the file, the reason and the option that requires it."""
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a null byte in the path
        reason = (error.strerror if isinstance(error, OSError) else None) or "not a usable path"
        raise UsageProblem(
            f"{origin}: cannot read {shown_path(path)}: {reason.lower()}", "check the path and its permissions"
        ) from None


def shown_path(path: Path | str) -> str:
    """A path for a message, quoted; what does not look like one may be a secret that was given in its place."""
    text = scrub_line(str(path))
    if "[redacted:" not in text and _LIKE_A_PATH.search(text):
        return repr(text)
    return f"the value that was given (not shown: its {len(str(path))} characters do not look like a path)"


def resolve_literal(reference: str, environ: Mapping[str, str], origin: str) -> str:
    """A token, password, JWT or seed: what the reference stands for, or the value itself when it is no reference.

    Raises UsageProblem when a reference cannot be followed.
    """
    scheme = scheme_of(reference)
    if scheme not in _RESOLVERS:
        return reference
    return _decoded(_RESOLVERS[scheme](reference, environ, origin), origin).rstrip("\r\n")


def resolve_material(reference: str, environ: Mapping[str, str], origin: str) -> str:
    """The text of a creds or nkey file: a path, or a reference to its content.

    Raises UsageProblem if it cannot be read or if the scheme is unknown.
    """
    reference = expand_variables(reference, environ, origin)
    scheme = scheme_of(reference)
    if not scheme:
        return _decoded(read_path(expand_path(reference, environ, origin), origin), f"{origin} {shown_path(reference)}")
    if scheme not in _RESOLVERS:
        raise UsageProblem(
            f"{origin}: unknown scheme {scheme!r}{did_you_mean(scheme, _RESOLVERS)}",
            "give a path, or one of file://PATH, env://NAME, data:;base64,..., op://VAULT/ITEM/FIELD, nsc://OP/ACCOUNT/USER",
        )
    return _decoded(_RESOLVERS[scheme](reference, environ, origin), origin)


def nsc_profile(reference: str, environ: Mapping[str, str], origin: str) -> NscProfile:
    """Run `nsc generate profile` for a user (`nsc://operator/account/user`, or without the scheme).

    Raises UsageProblem if nsc is not installed, fails or has no usable output.
    """
    reference = f"nsc://{_without_prefix('nsc://', reference)}"
    output = _tool_output(["nsc", "generate", "profile", reference], environ, origin)
    try:
        raw = json.loads(output)
        creds = str(raw.get("user_creds") or "")
        service = (raw.get("operator") or {}).get("service") or []
        return NscProfile(creds, ",".join(str(url) for url in service))
    except (ValueError, AttributeError, TypeError, RecursionError):
        # Never shown: the output can hold decorated JWTs.
        raise UsageProblem(f"{origin}: what nsc printed for {reference} is not a profile", _try_hint("nsc")) from None


def _from_environment(reference: str, environ: Mapping[str, str], origin: str) -> bytes:
    name = _without_prefix("env://", reference)
    if not environ.get(name):
        state = "empty" if name in environ else "not set"
        what = f"the variable {name} is {state}" if name else "no variable is named"
        raise UsageProblem(f"{origin}: {reference}: {what}", f"export {name or 'NAME'}=... before running jsdoctor")
    return environ[name].encode()


def _from_data(reference: str, _environ: Mapping[str, str], origin: str) -> bytes:
    header, comma, payload = reference[len("data:") :].partition(",")
    if not comma or "base64" not in [part.strip() for part in header.split(";")]:
        raise UsageProblem(f"{origin}: a data: reference must read data:;base64,...", "encode the file with base64 -w0")
    try:
        return base64.b64decode(payload, validate=True)
    except binascii.Error:
        raise UsageProblem(
            f"{origin}: the data: reference is not valid base64", "encode the file again with base64 -w0"
        ) from None


def _from_nsc(reference: str, environ: Mapping[str, str], origin: str) -> bytes:
    profile = nsc_profile(reference, environ, origin)
    if not profile.creds:
        raise UsageProblem(f"{origin}: nsc knows no creds file for {reference}", _try_hint("nsc"))
    return read_path(Path(profile.creds), origin)


_RESOLVERS: dict[str, Callable[[str, Mapping[str, str], str], bytes]] = {
    "file": lambda reference, environ, origin: read_path(expand_path(reference, environ, origin), origin),
    "env": _from_environment,
    "data": _from_data,
    "op": lambda reference, environ, origin: _tool_output(
        ["op", "read", f"op://{_without_prefix('op://', reference)}"], environ, origin
    ),
    "nsc": _from_nsc,
}


def _without_prefix(prefix: str, reference: str) -> str:
    return reference[len(prefix) :] if reference.lower().startswith(prefix) else reference


def _tool_output(command: list[str], environ: Mapping[str, str], origin: str) -> bytes:
    """Standard output of a tool that holds secrets. Its output is never shown; its error text is."""
    tool = command[0]
    path = shutil.which(tool, path=environ.get("PATH"))
    if not path:
        raise UsageProblem(f"{origin}: {command[-1]} needs the program {tool!r}, which is not on PATH", _try_hint(tool))
    try:
        done = subprocess.run(
            [path, *command[1:]],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TOOL_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = error.strerror if isinstance(error, OSError) else f"no response within {_TOOL_TIMEOUT_S:g} s"
        raise UsageProblem(f"{origin}: {tool} could not be run: {reason}", _try_hint(tool)) from None
    if done.returncode != 0:
        complaint = " ".join(done.stderr.decode(errors="replace").split())
        stated = "".join(c for c in complaint if c.isprintable())[:_ERROR_SHOWN] or f"exit code {done.returncode}"
        raise UsageProblem(f"{origin}: {tool} failed for {command[-1]}: {stated}", _try_hint(tool))
    return done.stdout


def _try_hint(tool: str) -> str:
    what = "op read op://VAULT/ITEM/FIELD" if tool == "op" else "nsc generate profile nsc://OPERATOR/ACCOUNT/USER"
    return f"check that this works: {what}; or give the secret with --creds FILE"


def _decoded(content: bytes, origin: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise UsageProblem(f"{origin}: the content is not text", "give the file that nsc or nk wrote") from None
