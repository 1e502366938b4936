"""Which servers the user chose: by name, by tag, or by cluster."""

from __future__ import annotations

from collections.abc import Sequence

from jsdoctor.checks.cluster_health.links import cluster_of
from jsdoctor.engine.preflight.groups import Landscape
from jsdoctor.model.nearest import did_you_mean
from jsdoctor.model.server import Server

_TAG, _CLUSTER = "tag:", "cluster:"


class NoSuchServerError(Exception):
    """A choice that matches no server. The message names the nearest name, tag or cluster."""


def chosen(words: Sequence[str], land: Landscape) -> tuple[str, ...]:
    """The servers that these words name, each once: `n2`, `tag:az=1`, `cluster:east`.

    A name that no reply shows is kept where not every server was read: the result is then unknown. Raises
    `NoSuchServerError` where every server was.
    """
    names: dict[str, None] = {}
    for word in words:
        if word.startswith((_TAG, _CLUSTER)):
            names |= dict.fromkeys(_with_tag_or_in_cluster(word, land))
            continue
        is_whole = land.servers is not None and land.servers.complete
        if word not in land.names and is_whole:
            raise NoSuchServerError(f"no server is named {word!r}{did_you_mean(word, land.names)}")
        names[word] = None
    return tuple(names)


def _with_tag_or_in_cluster(word: str, land: Landscape) -> list[str]:
    text = word.partition(":")[2]
    values = {name: _values(server, word) for name, server in sorted(land.by_name.items())}
    sought = _normalized(text)
    names = [name for name, known in values.items() if sought in map(_normalized, known)]
    if not names:
        what = "has the tag" if word.startswith(_TAG) else "is in the cluster"
        known = {value for server_values in values.values() for value in server_values}
        raise NoSuchServerError(f"no server that responded {what} {text!r}{did_you_mean(text, known)}")
    return names


def _values(server: Server, word: str) -> tuple[str, ...]:
    """The cluster of a server for a word `cluster:...`, else its tags."""
    if word.startswith(_CLUSTER):
        return tuple(filter(None, (cluster_of(server),)))
    return server.varz.tags if server.varz else ()


def _normalized(text: str) -> str:
    """Servers store tags in lower case; `az:1` and `az=1` are both in use."""
    return text.lower().replace("=", ":")
