"""Configuration files of nats-server: what the real server takes for one is taken for one here, and what not, not."""

import subprocess
from pathlib import Path

import pytest

from jsdoctor.manifests.conf_tree import configuration
from jsdoctor.manifests.tree import ManifestError, Tree, Variable
from jsdoctor.model.manifest import FilePosition
from tests.servers import DEFAULT_VERSION, VERSIONS, server_binary

TEXTS = (
    "port: 4222",
    "port = 4222",
    "port 4222",
    "port: 4222; host: localhost",
    "port: 4222, host: localhost",
    "host: 'local host'",
    'host: "local\\thost"',
    'host: "local\\qhost"',
    "host: local\\x41host",
    "host: 'it''s'",
    "host:",
    "host",
    "jetstream { domain:\n hub }",
    "jetstream { domain: }",
    "server_tags: [1, 2]",
    "server_tags: [a, 2 ]",
    "host:\n  localhost",
    "port 4222 4223",
    "{ port: 4222 }",
    '{\n  "port": 4222,\n  "host": "localhost"\n}\n',
    "jetstream { store_dir: /data",
    "jetstream { store_dir: /data }",
    "jetstream: { store_dir: /data\n max_file: 10GB }",
    "jetstream {\n store_dir: /data // there\n # here\n}",
    "jetstream{ store_dir: /data }",
    "cluster { routes: [ nats://a:1 nats://b:1 ] }",
    "cluster { routes: [ nats://a:1, nats://b:1 ] }",
    "cluster { routes: [ nats://a:1\n nats://b:1\n ] }",
    "cluster { routes: [ nats://a:1,, nats://b:1 ] }",
    "cluster { routes: [ nats://a:1, ] }",
    "cluster { routes: [ nats://a:1",
    "cluster { ] }",
    "max_payload: 1MB",
    "max_payload: 1Mi",
    "max_payload: 1Mx",
    "max_payload: -1",
    "max_payload: -x",
    "max_payload: .5",
    "max_payload: 99999999999999999999",
    "server_name: 2015-05-05",
    "server_name: 2015-05-05T18:53:41Z",
    "server_name: 127.0.0.1",
    "server_name: 1a2b",
    "listen: 127.0.0.1:4222",
    "P: 4222\nport: $P",
    "jetstream { D: hub\n domain: $D }",
    "authorization { user: a, password: $2a$11$2M5E3yGGxKdCLyUQPe1x4OxYcqVpuYHK8bhMY9ndFfz9zzYwOQmBe }",
    "server_name: (\nn1\n)\n",
    "server_name: (\nn1",
    "= 4222",
    "port: 4222 # comment\n// another\n",
    "port: 4222 / no comment",
    "",
    "# nothing\n",
    "\ufeffport: 4222\n",
    "\ufeff# nothing\n",
)


@pytest.mark.parametrize(
    "version", [v if v == DEFAULT_VERSION else pytest.param(v, marks=pytest.mark.nightly) for v in VERSIONS]
)
def test_the_same_are_read(tmp_path: Path, version: str) -> None:
    """The server speaks of a parse error; what else it has against a file is not about its grammar."""
    verdicts = {}
    for text in TEXTS:
        (tmp_path / "n.conf").write_text(text)
        done = subprocess.run(
            [server_binary(version), "-t", "-c", str(tmp_path / "n.conf")], capture_output=True, text=True, check=False
        )
        verdicts[text] = not any(
            words in done.stderr for words in ("Parse error", "out of the range", "config is invalid", "\\ufeff")
        )
    assert {text: _is_read(text) for text in TEXTS} == verdicts


def _is_read(text: str) -> bool:
    try:
        configuration("n.conf", text, lambda _file, _name: None)
    except ManifestError:
        return False
    return True


def test_values_and_places() -> None:
    text = (
        "a: 1k\nb: 1kb\nc: 2Gi\nd: \"x\\ty\"\ne: [1, two, 3.5]\nf: off\ng: $HOME_OF_NOBODY\nh {\n  i = -5; j: 'q'\n}\n"
    )
    tree = configuration("n.conf", text, lambda _file, _name: None).tree
    assert {key: plain(child) for key, child in tree.entries()} == {
        "a": 1000,
        "b": 1024,
        "c": 2 << 30,
        "d": "x\ty",
        "e": [1, "two", 3.5],
        "f": False,
        "g": Variable("HOME_OF_NOBODY"),
        "h": {"i": -5, "j": "q"},
    }
    inner = tree.get("h", "j")
    assert inner is not None
    assert inner.place == FilePosition("n.conf", 9, 11)


def test_includes_are_taken_in_and_missing_ones_reported() -> None:
    files = {"accounts.conf": "accounts { A: {} }\ninclude more.conf\n"}
    included = configuration(
        "etc/n.conf",
        "port: 1\ninclude ./accounts.conf\njetstream { include 'js.conf' }\n",
        lambda _file, name: (
            (f"etc/{name.removeprefix('./')}", files[name.removeprefix("./")])
            if name.removeprefix("./") in files
            else None
        ),
    )
    assert [key for key, _ in included.tree.entries()] == ["port", "accounts", "jetstream"]
    accounts = included.tree.get("accounts")
    assert accounts is not None
    assert accounts.place == FilePosition("etc/accounts.conf", 1, 1)
    assert [(name, place.line) for name, place in included.missing] == [("more.conf", 2), ("js.conf", 3)]


def test_files_that_include_each_other_end() -> None:
    with pytest.raises(ManifestError, match="without end"):
        configuration("n.conf", "include n.conf\n", lambda _file, _name: ("n.conf", "include n.conf\n"))


def test_a_mistake_quotes_no_value() -> None:
    with pytest.raises(ManifestError) as error:
        configuration("n.conf", 'authorization {\n  password: "hunter2\n}\n', lambda _file, _name: None)
    assert error.value.place == FilePosition("n.conf", 2, 13)
    assert "hunter2" not in str(error.value)


def plain(tree: Tree) -> object:
    if isinstance(tree.value, dict):
        return {key: plain(child) for key, child in tree.value.items()}
    return [plain(child) for child in tree.value] if isinstance(tree.value, list) else tree.value
