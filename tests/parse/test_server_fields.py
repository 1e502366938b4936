"""Every field of a server's configuration with every kind of value: judged as `nats-server -t` judges it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pytest

from jsdoctor.parse.manifests import server_fields
from jsdoctor.parse.manifests.conf_tree import configuration
from jsdoctor.parse.manifests.server_field_types import field_mistakes
from jsdoctor.parse.manifests.tree import ManifestError
from tests.servers import DEFAULT_VERSION, VERSIONS, server_binary

VALUES = (
    *("abc", '"abc"', '"5"', "5", "-5", "1.5", "true", "10MB", '"10G"', '"5s"', "5s", "[abc]", "[1, 2]", "{}"),
    *("{abc: def}", "99999999999", '""', "off", "127.0.0.1:4222", '":8222"', "enabled", "[]", "7d"),
)
BLOCKS = {
    "": (server_fields.TOP, "%s\n"),
    "jetstream": (server_fields.JETSTREAM, "jetstream {\n%s\n}\n"),
    "cluster": (server_fields.CLUSTER, "cluster {\n%s\n}\n"),
    "gateway": (server_fields.GATEWAY, "gateway {\n%s\n}\n"),
    "leafnodes": (server_fields.LEAFNODES, "leafnodes {\n%s\n}\n"),
    "websocket": (server_fields.WEBSOCKET, "websocket {\n%s\n}\n"),
    "mqtt": (server_fields.MQTT, "mqtt {\n%s\n}\n"),
    "authorization": (server_fields.AUTHORIZATION, "authorization {\n%s\n}\n"),
    "jetstream.limits": (server_fields.LIMITS, "jetstream {\nlimits {\n%s\n}\n}\n"),
    "accounts.jetstream": (server_fields.ACCOUNT, "accounts { A { jetstream {\n%s\n} } }\n"),
}
UNKNOWN = "jetstrem"
IN_CI = 13
"""In CI one in so many is tried; the number has no divisor in common with the number of values."""
ONLY_WARNED = ("should be converted to a duration", "setting ignored in this server version", "is high, consider")
"""What fails `-t` and not a start."""


class FieldValue(NamedTuple):
    """One field of a block, set to one value."""

    block: str
    field: str
    value: str

    @property
    def text(self) -> str:
        """The whole configuration."""
        return BLOCKS[self.block][1] % f"{self.field}: {self.value}"


def settings() -> Iterator[FieldValue]:
    for block, (fields, _) in BLOCKS.items():
        for field in (*fields, UNKNOWN):
            for value in VALUES:
                yield FieldValue(block, field, value)


def refused_by_server(version: str, setting: FieldValue, path: Path) -> str:
    """What `nats-server -t` has against it; empty where a server starts with it."""
    path.write_text(setting.text)
    words = [str(server_binary(version)), "-t", "-c", str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60, cwd=path.parent)
    said = done.stdout + done.stderr
    warned = any(one in said for one in ONLY_WARNED) and "interface conversion" not in said
    return "" if "is valid" in said or warned else said


def refused_here(version: str, setting: FieldValue) -> str:
    """The mistake that is found here, for a server of this version; empty where there is none."""
    try:
        read = configuration("n.conf", setting.text, lambda _file, _name: None)
    except ManifestError as error:
        return error.says
    release = tuple(int(part) for part in version.split(".")[:2])
    key = f"{setting.block}.{setting.field}" if setting.block else setting.field
    if release < server_fields.SINCE.get(key, (0,)):
        return "a later server knows it"
    return "; ".join(one.says for one in field_mistakes(read.tree, read.used) if not one.ignored)


def judged(version: str, some: list[FieldValue], directory: Path) -> list[tuple[FieldValue, str, str]]:
    """Each with what the server says and what is said here."""
    with ThreadPoolExecutor(2) as pool:
        numbered = list(enumerate(some))
        answers = pool.map(lambda one: refused_by_server(version, one[1], directory / f"{one[0]}.conf"), numbered)
        return [(one, answer, refused_here(version, one)) for one, answer in zip(some, answers, strict=True)]


def differences(found: list[tuple[FieldValue, str, str]]) -> tuple[list[str], list[str]]:
    """Refusals that are claimed falsely, and those that are missed of fields whose values are judged at all."""
    false = [f"{one}: {here}" for one, there, here in found if here and not there]
    kinds = {block: fields for block, (fields, _) in BLOCKS.items()}
    missed = [
        f"{one}: {there[-160:]}"
        for one, there, here in found
        if there and not here and not _depends(kinds[one.block].get(one.field), one.value)
    ]
    return false, missed


def _depends(kind: str | None, value: str) -> bool:
    """Whether it takes more than the type of the value to judge it: what is in a block, or which words there are."""
    return kind in (server_fields.ANY, server_fields.MAPPING) or (kind == server_fields.PARTS and value[0] in "{[")


def test_some_fields(tmp_path: Path) -> None:
    some = list(islice(settings(), 7, None, IN_CI))
    assert differences(judged(DEFAULT_VERSION, some, tmp_path)) == ([], [])


@pytest.mark.nightly
@pytest.mark.parametrize("version", VERSIONS)
def test_all_fields(tmp_path: Path, version: str) -> None:
    found = judged(version, list(settings()), tmp_path)
    assert len(found) > 4000
    false, missed = differences(found)
    assert false == []
    assert missed == []


def test_a_field_that_is_a_variable_is_no_mistake() -> None:
    text = "PORT: 4222\nport: $PORT\nzzz: 1\n"
    read = configuration("n.conf", text, lambda _file, _name: None)
    assert [(one.says, one.place.line) for one in field_mistakes(read.tree, read.used)] == [
        ("no server up to 2.15 knows the field 'zzz'", 3)
    ]
