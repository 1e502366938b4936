"""`jsdoctor config show`: every value that applies, and the place that decided it."""

import json
from pathlib import Path

from tests.cli.invoke import jsdoctor

CONFIG = """\
server = "nats://who:secret-word@n1.example:4222"
timeout = "9s"
budget = 40
fail-on = "warning"
monitor = ["http://ops:secret-word@n1.example:8222"]
remote = "sc://spark:15002/;use_ssl=true;token=secret-word"
conf = ["spark.hadoop.fs.s3a.secret.key=secret-word", "spark.executor.cores=2"]

[rules.JSD401]
warn_pending = 77
"""


def settings(place: Path, *arguments: str, env: dict[str, str] | None = None) -> dict[str, tuple[str, str]]:
    done = jsdoctor("config", "show", "--format", "json", *arguments, cwd=place, env=env)
    assert done.returncode == 0, done.stderr
    assert "secret-word" not in done.stdout
    return {setting["name"]: (setting["value"], setting["origin"]) for setting in json.loads(done.stdout)["settings"]}


def test_defaults_are_marked_as_defaults(tmp_path: Path) -> None:
    shown = settings(tmp_path)
    assert shown["server"] == ("nats://127.0.0.1:4222", "default")
    assert shown["timeout"] == ("5s", "default")
    assert shown["samples"] == ("2", "default")
    assert shown["budget"] == ("no limit", "default")
    assert not [name for name in shown if name.startswith("JSD")]
    assert settings(tmp_path, "--all")["JSD401.warn_pending"][1] == "default"


def test_the_file_the_environment_and_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "jsdoctor.toml").write_text(CONFIG)
    shown = settings(tmp_path)
    assert shown["server"] == ("nats://n1.example:4222", "jsdoctor.toml")
    assert shown["timeout"] == ("9s", "jsdoctor.toml")
    assert shown["budget"] == ("40 requests/s", "jsdoctor.toml")
    assert shown["fail-on"] == ("warning", "jsdoctor.toml")
    assert shown["monitor"] == ("http://n1.example:8222", "jsdoctor.toml")
    assert shown["login"] == ("given, not shown", "jsdoctor.toml")
    assert shown["remote"] == ("sc://spark:15002/", "jsdoctor.toml")
    assert shown["conf"] == ("spark.hadoop.fs.s3a.secret.key=…, spark.executor.cores=…", "jsdoctor.toml")
    assert shown["JSD401.warn_pending"] == ("77", "jsdoctor.toml:10")
    environment = {"NATS_URL": "nats://n2.example:4222", "NATS_TIMEOUT": "3s"}
    shown = settings(tmp_path, env=environment)
    assert shown["server"] == ("nats://n2.example:4222", "NATS_URL")
    assert shown["timeout"] == ("3s", "NATS_TIMEOUT")
    shown = settings(tmp_path, "-s", "nats://n3.example:4222", "--timeout", "1s", "--budget", "9", env=environment)
    assert shown["server"] == ("nats://n3.example:4222", "--server")
    assert shown["timeout"] == ("1s", "--timeout")
    assert shown["budget"] == ("9 requests/s", "--budget")


def test_text_for_people(tmp_path: Path) -> None:
    (tmp_path / "jsdoctor.toml").write_text(CONFIG)
    done = jsdoctor("config", "show", cwd=tmp_path)
    assert "configuration file: jsdoctor.toml" in done.stdout
    assert "secret-word" not in done.stdout + done.stderr
    assert "(jsdoctor.toml:10)" in done.stdout


def test_a_mistake_in_the_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "jsdoctor.toml").write_text("tiemout = '3s'\n")
    done = jsdoctor("config", "show", cwd=tmp_path)
    assert done.returncode == 2
    assert "did you mean 'timeout'" in done.stderr
