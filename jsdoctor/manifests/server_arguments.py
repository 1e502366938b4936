"""Arguments of nats-server: what they set (server: opts.go ConfigureOptions) and which of them it does not have."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, NamedTuple

from jsdoctor.manifests.server_config import MAY_BE_INCLUDED
from jsdoctor.manifests.tree import Tree
from jsdoctor.model.manifest import FilePosition, Mistake
from jsdoctor.model.nearest import did_you_mean

BOOLEANS = frozenset(
    {
        *("D", "DV", "DVV", "T", "V", "VV", "debug", "h", "help", "help_tls", "jetstream", "js", "logtime"),
        *("logtime_utc", "no_advertise", "s", "syslog", "t", "tls", "tlsverify", "trace", "v", "version"),
    }
)
NUMBERS = frozenset(
    {
        *("connect_retries", "http_port", "https_port", "log_size_limit", "m", "max_traced_msg_len", "ms", "p", "port"),
        "profile",
    }
)
TEXTS = frozenset(
    {
        *("P", "a", "addr", "auth", "c", "client_advertise", "cluster", "cluster_advertise", "cluster_listen"),
        *("cluster_name", "config", "l", "log", "n", "name", "net", "pass", "pid", "ports_file_dir", "r"),
        *("remote_syslog", "routes", "sd", "server_name", "signal", "sl", "store_dir", "tlscacert", "tlscert"),
        *("tlskey", "user"),
    }
)
_SETTINGS = {
    **dict.fromkeys(("sd", "store_dir"), "store_dir"),
    **dict.fromkeys(("m", "http_port", "ms", "https_port"), "monitoring"),
    **dict.fromkeys(("n", "name", "server_name"), "server_name"),
    **dict.fromkeys(("a", "addr", "net"), "host"),
    **dict.fromkeys(("user", "pass", "auth"), "auth"),
    **dict.fromkeys(("cluster", "cluster_listen", "routes"), "clustered"),
    "cluster_name": "cluster_name",
    **dict.fromkeys(("c", "config"), "config"),
}
_SET_OR_NOT = ("monitoring", "auth", "clustered")
"""Settings whose value does not matter, only that they are set."""
_PORTS = ("http_port", "https_port", "m", "ms", "p", "port")
_MAX_PORT = 65535
_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")
_WHOLE = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F_]+|0[oO]?[0-7_]+|0[bB][01_]+|\d[\d_]*)", re.ASCII)
_VARIABLE = re.compile(r"\$\(|\$\{|\$[A-Za-z_]|\{\{")
_SERVER = re.compile(r"(?:.*/)?nats-server", re.ASCII)


class Word(NamedTuple):
    """One argument and where it stands."""

    text: str
    place: FilePosition


def words_of(*nodes: Tree | None) -> list[Word]:
    """The words of entry point and arguments, each a list or a line. Of `sh -c "nats-server …"`: those of the line."""
    words: list[Word] = []
    for node in nodes:
        if node is not None and isinstance(node.value, str):
            words += [Word(text, node.place) for text in _split(node.value)]
        elif node is not None:
            words += [Word(_text(item), item.place) for item in node.items()]
    line = next((word for word in words if "nats-server" in word.text and re.search(r"\s", word.text)), None)
    return words if line is None else [Word(text, line.place) for text in _after_server(line.text)]


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line.replace("\\\n", " "), comments=True)
    except ValueError:
        return []


def _text(item: Tree) -> str:
    return str(item.value).lower() if isinstance(item.value, bool) else str(item.value)


_COMMENT = re.compile(r"(?:^|(?<=\s))#.*$", re.MULTILINE)
_OPERATORS = ";&|<>"
"""Characters of which the operators and redirections of a shell consist."""


def _after_server(line: str) -> list[str]:
    """The words of a shell line from the last nats-server up to an operator such as `&&`, or a redirection."""
    lexer = shlex.shlex(_COMMENT.sub("", line.replace("\\\n", " ")), posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = list(lexer)
    except ValueError:
        return []
    starts = [at for at, word in enumerate(words) if _SERVER.fullmatch(word)]
    rest = words[starts[-1] :] if starts else []
    kept = list(takewhile(lambda word: not set(word) <= set(_OPERATORS), rest))
    is_redirected = kept != rest and rest[len(kept)].startswith(">") and kept[-1:] in (["1"], ["2"])
    return kept[:-1] if is_redirected else kept


def names_server(words: Sequence[Word]) -> bool:
    """Whether the first word is nats-server."""
    return bool(words) and bool(_SERVER.fullmatch(words[0].text))


@dataclass(slots=True)
class Arguments:
    """What the arguments of one nats-server set. `config` is the file that they name."""

    settings: dict[str, Any] = field(default_factory=dict)
    places: dict[str, FilePosition] = field(default_factory=dict)
    unclear: set[str] = field(default_factory=set)
    mistakes: list[Mistake] = field(default_factory=list)
    config: str = ""

    def read(self, words: Sequence[Word]) -> None:
        """Read the arguments up to the first word that is no flag, where Go's flag package ends, too."""
        rest = iter(words[1:] if names_server(words) else words)
        for word, place in rest:
            if not word.startswith("-") or word in ("-", "--"):
                if _VARIABLE.search(word):
                    self.unclear |= MAY_BE_INCLUDED
                return
            name, equals, value = word.removeprefix("-").removeprefix("-").partition("=")
            if name in BOOLEANS:
                self._read_switch(name, value if equals else "true", place)
            elif name in NUMBERS or name in TEXTS:
                following = None if equals else next(rest, None)
                if not equals and following is None:
                    self._add_mistake(place, f"argument -{name} needs a value")
                    return
                self._read_value(name, value if equals else following.text if following else "", place)
            elif _VARIABLE.search(name):
                self.unclear |= MAY_BE_INCLUDED
            else:
                near = did_you_mean(name, BOOLEANS | NUMBERS | TEXTS)
                self._add_mistake(place, f"nats-server has no argument {word.partition('=')[0][:40]!r}{near}")
                return

    def _add_mistake(self, place: FilePosition, text: str) -> None:
        self.mistakes.append(Mistake(place, text))

    def _read_switch(self, name: str, value: str, place: FilePosition) -> None:
        optional = name == "tlsverify" and value.lower() == "optional"
        if value not in _TRUE + _FALSE and not optional and not _VARIABLE.search(value):
            self._add_mistake(place, f"argument -{name}: true or false is expected")
        elif name in ("js", "jetstream"):
            self._set("jetstream", value in _TRUE, place)

    def _read_value(self, name: str, value: str, place: FilePosition) -> None:
        setting = _SETTINGS.get(name)
        if name in NUMBERS and not _VARIABLE.search(value):
            if not _WHOLE.fullmatch(value):
                self._add_mistake(place, f"argument -{name}: a whole number is expected")
                return
            if name in _PORTS and value.isdigit() and int(value) > _MAX_PORT:
                self._add_mistake(place, f"argument -{name} is a port, and {int(value):,} is above {_MAX_PORT:,}")
                return
        if setting == "config":
            self.config = value
            self.unclear |= MAY_BE_INCLUDED
        elif setting in _SET_OR_NOT:
            self._set(setting, True, place)
        elif setting and _VARIABLE.search(value):
            self.unclear.add(setting)
            self.places[setting] = place
        elif setting:
            self._set(setting, value, place)

    def _set(self, setting: str, value: object, place: FilePosition) -> None:
        self.settings[setting], self.places[setting] = value, place
