"""Deployments in the shapes in which people write them: what is read of each, and nothing of NATS passes unseen.

`fixtures/manifest_shapes/*.toml`; the keys of a shape are

    about     what is special in it
    text      files by name, in full
    servers   by name, settings that must have been read; exactly these servers are found
    streams   names of streams, consumers = "stream/name"; exactly these are found
    mistakes  how mistakes begin; problems: what is said of parts that cannot be judged
    unclear   settings that some of its servers leave open
    nothing   nothing is found in it
"""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from jsdoctor.model.manifest import Manifests
from jsdoctor.sources.manifests.load import load_manifests
from tests.support.manifest_cases import FIXTURES

Json = dict[str, Any]
SHAPES = {
    f"{path.stem}-{number}": shape
    for path in sorted((FIXTURES / "manifest_shapes").glob("*.toml"))
    for number, shape in enumerate(tomllib.loads(path.read_text())["shape"], 1)
}
KINDS = ("compose", "workloads", "kustomize", "argo", "flux", "terraform")


@pytest.mark.parametrize("name", SHAPES)
def test_shape(name: str, tmp_path: Path) -> None:
    shape = SHAPES[name]
    for file, text in shape["text"].items():
        (tmp_path / file).write_text(text)
    manifests = load_manifests([str(tmp_path)])
    servers = {_short(declared.subject.name): declared for declared in manifests.servers}
    assert servers.keys() == shape.get("servers", {}).keys(), shape["about"]
    for server, settings in shape.get("servers", {}).items():
        read = {key: servers[server].settings.get(key) for key in settings}
        assert read == settings, (shape["about"], servers[server].settings)
    assert [stream.name for stream in manifests.streams] == shape.get("streams", [])
    assert [f"{consumer.stream}/{consumer.name}" for consumer in manifests.consumers] == shape.get("consumers", [])
    _assert_reported(shape, manifests)


def _assert_reported(shape: Json, manifests: Manifests) -> None:
    assets: list[Any] = [*manifests.servers, *manifests.streams, *manifests.consumers]
    mistakes = [mistake.says for asset in assets for mistake in asset.mistakes]
    wanted = shape.get("mistakes", [])
    assert len(mistakes) == len(wanted), mistakes
    assert [text for text in wanted if not any(mistake.startswith(text) for mistake in mistakes)] == []
    problems = [file.problem for file in manifests.files if file.problem]
    assert len(problems) == len(shape.get("problems", [])), problems
    assert all(any(text in problem for problem in problems) for text in shape.get("problems", []))
    unclear = {setting for server in manifests.servers for setting in server.unclear}
    assert set(shape.get("unclear", [])) <= unclear
    anything = manifests.servers or manifests.streams or manifests.consumers or problems
    assert bool(anything) != shape.get("nothing", False)


@pytest.mark.parametrize("kind", KINDS)
def test_there_are_ten_of_each(kind: str) -> None:
    assert sum(name.startswith(kind) for name in SHAPES) >= 10


def _short(name: str) -> str:
    return Path(name).name


def test_a_bucket_of_terraform_keeps_five_values_where_it_does_not_say_how_many(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text('resource "jetstream_kv_bucket" "cfg" { name = "cfg" }\n')
    [bucket] = load_manifests([str(tmp_path)]).streams
    assert bucket.config.max_msgs_per_subject == 5
