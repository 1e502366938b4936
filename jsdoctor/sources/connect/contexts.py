"""Contexts of the `nats` CLI as they lie on disk: `nats/context/NAME.json` and the selected name in `nats/context.txt`.

The format is ADR-21 as jsm.go v0.5.0 `natscontext` reads it. Nothing is ever written here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jsdoctor.model.nearest import did_you_mean
from jsdoctor.model.problems import UsageProblem
from jsdoctor.sources.connect.secret_refs import home_of, read_path

# natscontext `settings`: every key whose value is text. Keys beyond these are of other tools and versions: ignored.
_TEXT_KEYS = (
    *("url", "socks_proxy", "token", "user", "password", "creds", "nkey", "cert", "key", "ca", "nsc"),
    *("jetstream_domain", "jetstream_api_prefix", "inbox_prefix", "user_jwt", "user_seed", "windows_cert_store"),
)
_TLS_FIRST = "tls_first"
_FIX_HINT = "correct that file (nats context edit NAME opens a context)"
_NAMES_SHOWN = 20
_JSON_NAMES = {
    dict: "an object",
    list: "a list",
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
}


@dataclass(frozen=True, slots=True)
class Context:
    """One context. `values` holds its non-empty texts by their JSON key, secrets among them: not in the repr."""

    name: str
    path: Path
    values: Mapping[str, str] = field(repr=False)
    tls_first: bool = False


def config_home(environ: Mapping[str, str]) -> Path:
    """Where configuration lies: `$XDG_CONFIG_HOME`, else `~/.config` (natscontext `defaultRoot`)."""
    if configured := environ.get("XDG_CONFIG_HOME"):
        return Path(configured)
    return Path(home_of(environ)) / ".config"


def selection_file(home: Path) -> Path:
    """The file that names the selected context."""
    return home / "nats" / "context.txt"


def known_contexts(home: Path) -> list[str]:
    """Names of all contexts on disk, sorted; empty files do not count, as in `nats context ls`."""
    try:
        files = [file for file in (home / "nats" / "context").iterdir() if file.suffix == ".json"]
        return sorted(file.stem for file in files if file.is_file() and file.stat().st_size)
    except OSError:
        return []


def selected_context(home: Path) -> str | None:
    """The name that `nats context select` wrote, None when none is selected."""
    try:
        return selection_file(home).read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None


def find_context(wanted: str | None, origin: str, home: Path) -> Context | None:
    """The context to use: the named one (a name, or a path that ends in `.json`), else the selected one, else None.

    `origin` is the source of the name (`--context`, `NATS_CONTEXT`). Raises UsageProblem if the context does not exist
    or cannot be read.
    """
    if wanted and wanted.endswith(".json") and Path(wanted).is_file():
        return read_context(Path(wanted), Path(wanted).stem)
    name = wanted or selected_context(home)
    if not name:
        return None
    who = origin if wanted else f"the selected context ({selection_file(home)})"
    if ".." in name or "/" in name or "\\" in name:
        missing = "no such file" if name.endswith(".json") else "a context name holds no /, \\ or .."
        raise UsageProblem(f"{who}: {name!r} is not a context: {missing}", _contexts_hint(home))
    path = home / "nats" / "context" / f"{name}.json"
    if not path.is_file():
        near = did_you_mean(name, known_contexts(home))
        hint = (
            _contexts_hint(home)
            if wanted
            else f"{_contexts_hint(home)}; select one with: nats context select NAME; or --no-context"
        )
        raise UsageProblem(f"{who}: there is no context {name!r} in {path.parent}{near}", hint)
    return read_context(path, name)


def read_context(path: Path, name: str) -> Context:
    """Read one context file. Raises UsageProblem with file, line and column, or file, line and key."""
    content = read_path(path, f"context {name!r}")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UsageProblem(f"{path}:{line}: context {name!r} is not UTF-8 text", _FIX_HINT) from None
    try:
        # Go reads keys without regard to case, and the last of a name wins.
        raw = json.loads(text, object_pairs_hook=lambda pairs: {key.lower(): value for key, value in pairs})
    except json.JSONDecodeError as error:
        what = error.msg if text.strip() else "the file is empty"
        raise UsageProblem(
            f"{path}:{error.lineno}:{error.colno}: context {name!r} is not valid JSON: {what}", _FIX_HINT
        ) from None
    except RecursionError:
        raise UsageProblem(f"{path}:1:1: context {name!r} is nested too deeply", _FIX_HINT) from None
    except ValueError:
        raise UsageProblem(f"{path}:1:1: context {name!r} has a number of thousands of digits", _FIX_HINT) from None
    if not isinstance(raw, dict):
        raise UsageProblem(f"{path}:1:1: context {name!r} must be a JSON object, it is {_json_name(raw)}", _FIX_HINT)
    for key, value in raw.items():
        wanted = str if key in _TEXT_KEYS else bool if key == _TLS_FIRST else None
        if wanted and value is not None and not isinstance(value, wanted):
            raise UsageProblem(
                f"{path}:{_line_of(key, text)}: {key!r} must be {_JSON_NAMES[wanted]}, it is {_json_name(value)}",
                _FIX_HINT,
            )
    return Context(
        name=name,
        path=path,
        values={key: value for key in _TEXT_KEYS if (value := raw.get(key))},
        tls_first=bool(raw.get(_TLS_FIRST)),
    )


def _json_name(value: object) -> str:
    return "null" if value is None else _JSON_NAMES[type(value)]


def _line_of(key: str, text: str) -> int:
    match = re.search(rf'"{re.escape(key)}"\s*:', text, re.IGNORECASE)
    return text.count("\n", 0, match.start()) + 1 if match else 1


def _contexts_hint(home: Path) -> str:
    names = known_contexts(home)
    if not names:
        return f"there are no contexts under {home / 'nats' / 'context'}"
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return f"contexts here: {', '.join(names[:_NAMES_SHOWN])}{more}"
