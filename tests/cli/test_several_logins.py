"""Several contexts in one run: which commands take them, what contradicts them, and the configuration file."""

import json
from pathlib import Path

import pytest

from tests.cli.invoke import jsdoctor


@pytest.fixture(autouse=True)
def home(tmp_path: Path) -> Path:
    """Two contexts whose servers do not run."""
    folder = tmp_path / "config" / "nats" / "context"
    folder.mkdir(parents=True)
    for number, name in enumerate(("one", "two"), 1):
        (folder / f"{name}.json").write_text(json.dumps({"url": f"nats://127.0.0.1:{number}"}))
    return tmp_path


def test_every_login_that_fails_is_named(home: Path) -> None:
    done = jsdoctor("check", "--context", "one", "--context", "two", "--format", "json", cwd=home)
    assert done.returncode == 3
    assert [source["name"] for source in json.loads(done.stdout)["sources"]] == [
        "nats://127.0.0.1:1",
        "nats://127.0.0.1:2",
    ]


def test_a_login_beside_several_contexts_is_refused(home: Path) -> None:
    done = jsdoctor("check", "--context", "one", "--context", "two", "--creds", "x", cwd=home)
    assert done.returncode == 2
    assert "--creds cannot be given with several contexts" in done.stderr


def test_a_fix_uses_all_logins(home: Path) -> None:
    for words in (("--context", "one", "--context", "two"), ()):
        done = jsdoctor("fix", *words, cwd=home)
        assert (done.returncode, "127.0.0.1:1" in done.stderr) == (3, True), done.stderr
        (home / "jsdoctor.toml").write_text('context = ["one", "two"]')


def test_the_configuration_file_names_several(home: Path) -> None:
    (home / "jsdoctor.toml").write_text('context = ["one", "two"]')
    shown = jsdoctor("config", "show", cwd=home).stdout
    assert "one, two  (jsdoctor.toml)" in shown
    assert "= two  (--context)" in jsdoctor("config", "show", "--context", "two", cwd=home).stdout
    (home / "jsdoctor.toml").write_text("context = []")
    assert "'context': must name one at least" in jsdoctor("check", cwd=home).stderr
