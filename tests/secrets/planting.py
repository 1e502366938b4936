"""Plants a text into every field of recorded replies that people or servers of others fill in, names included."""

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from jsdoctor.bundles.bundle import encode_bundle
from jsdoctor.model.exchange import Sample
from jsdoctor.sources.bundle.write import write_bundle
from tests.support.evidence import samples_of

_NAMES = frozenset(
    ("name", "server_name", "stream_name", "account", "account_name", "cluster", "cluster_name", "leader", "domain")
)
_TEXTS = frozenset(
    ("description", "error", "reason", "deliver_subject", "filter_subject", "subject", "authorized_user", "tag", "lang")
)
_LISTS = frozenset(("subjects", "filter_subjects", "tags", "connect_urls"))


def planted(name: str, texts: Sequence[str]) -> tuple[Sample, ...]:
    """A recording with a text behind every name, in every free text, in metadata and its keys: each in turn.

    A name has the same text wherever it stands, so that whatever refers to it still does.
    """
    turns = cycle(texts)
    samples = samples_of(name)
    bodies = [json.loads(exchange.body) for sample in samples for exchange in sample.exchanges]
    names: dict[str, str] = {}

    def learn(key: str, value: str) -> None:
        if key in _NAMES and not value.isdigit() and value not in names:
            names[value] = f"{value} {next(turns)}"

    for body in bodies:
        _walk(body, learn)

    def put(key: str, value: str) -> str:
        return names.get(value, f"{value} {next(turns)}" if key in _TEXTS else value)

    whole = iter([_with(body, put, turns) for body in bodies])

    def sample(taken: Sample) -> Sample:
        return Sample(
            taken.taken_at,
            tuple(replace(exchange, body=json.dumps(next(whole)).encode()) for exchange in taken.exchanges),
            taken.gaps,
        )

    return tuple(map(sample, samples))


def write(path: Path, samples: tuple[Sample, ...]) -> Path:
    """A bundle as another tool, or an older version, may have written it: nothing is redacted."""
    write_bundle(path, encode_bundle(samples, created=datetime.now(UTC), version="0", servers=()))
    return path


def _walk(value: Any, each: Callable[[str, str], object], key: str = "") -> None:
    if isinstance(value, dict):
        for name, inner in value.items():
            _walk(inner, each, name)
    elif isinstance(value, list):
        for inner in value:
            _walk(inner, each, key)
    elif isinstance(value, str) and value:
        each(key, value)


def _with(value: Any, put: Callable[[str, str], str], turns: Iterator[str], key: str = "") -> Any:
    if isinstance(value, dict):
        done = {name: _with(inner, put, turns, name) for name, inner in value.items()}
        if "max_deliver" in value or "retention" in value:
            done["description"] = next(turns)
            done["metadata"] = {
                **value.get("metadata", {}),
                "note": next(turns),
                "password": next(turns),
                next(turns): "x",
            }
        return done
    if isinstance(value, list):
        more = [f"planted.{next(turns).split(maxsplit=1)[0]}"] if key in _LISTS and value else []
        return [*(_with(inner, put, turns, key) for inner in value), *more]
    return put(key, value) if isinstance(value, str) and value else value
