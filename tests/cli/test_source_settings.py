"""How a source is read, from the configuration file: where the source is given, and the option is not."""

import json
from pathlib import Path

import pytest

from jsdoctor.app.configuration import load_configuration
from jsdoctor.app.request import ConfigurationRequest
from jsdoctor.model.problems import UsageProblem
from jsdoctor.sources.request import EvidenceRequest, evidence_request, source_options
from tests.cli.invoke import jsdoctor

FILE = """
timezone = "Europe/Berlin"
namespace = "messaging"
prometheus-header = "X-Scope-OrgID: hunter2-hunter2"
loki-query = '{app="nats"}'
loki-label = ["app", "pod"]
show-queries = true
"""
START = "[7] 2026/07/21 10:00:00.000000 [INF] Starting nats-server\n[7] 2026/07/21 10:00:00.000000 [ERR] Oh\n"


def read(tmp_path: Path, **given: object) -> EvidenceRequest:
    path = tmp_path / "jsdoctor.toml"
    path.write_text(FILE)
    return evidence_request(given, load_configuration(ConfigurationRequest(config=path)).options)


def test_a_setting_stands_in_for_the_option_of_a_source_that_is_given(tmp_path: Path) -> None:
    wanted = read(tmp_path, loki="http://127.0.0.1:3100", kube=True)
    assert wanted.loki.labels == ("app", "pod")
    assert wanted.loki.query is not None
    assert wanted.kube.namespace == "messaging"
    assert wanted.reader.zones[0].value == "Europe/Berlin"
    assert wanted.queries.shown


def test_the_command_line_goes_before_it(tmp_path: Path) -> None:
    wanted = read(tmp_path, kube=True, namespace="other", timezone=("UTC",))
    assert (wanted.kube.namespace, [zone.value for zone in wanted.reader.zones]) == ("other", ["UTC"])


def test_it_adds_no_source_and_means_nothing_without_one(tmp_path: Path) -> None:
    wanted = read(tmp_path)
    assert (wanted.loki.url, wanted.prometheus.url, wanted.kube.wanted) == ("", "", False)
    with pytest.raises(UsageProblem, match="--loki-label: no Loki is named"):
        read(tmp_path, loki_label=("app",))


def test_no_setting_names_a_source() -> None:
    assert not {"kube", "prometheus", "loki", "logs", "pcap", "server"} & set(source_options())


def test_a_log_is_read_in_the_zone_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "jsdoctor.toml").write_text(FILE)
    (tmp_path / "n1.log").write_text(START)
    done = jsdoctor("audit", "n1.log", "--format", "json", cwd=tmp_path)
    assert "2026-07-21T08:00:00Z" in done.stdout, done.stdout


def test_config_show_names_it_without_secrets(tmp_path: Path) -> None:
    (tmp_path / "jsdoctor.toml").write_text(FILE)
    settings = json.loads(jsdoctor("config", "show", "--format", "json", cwd=tmp_path).stdout)["settings"]
    shown = {setting["name"]: setting["value"] for setting in settings}
    assert (shown["loki-label"], shown["prometheus-header"]) == ("app, pod", "given, not shown")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('timezone = "Mars"', "no time zone in 'Mars'"),
        ("loki-label = [1]", "must be a text, or a list of texts"),
        ("show-queries = 1", "must be true or false"),
        ('loki-token = "x"', "unknown key 'loki-token'"),
        ('loki-labl = "app"', "did you mean 'loki-label'?"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, line: str, says: str) -> None:
    (tmp_path / "jsdoctor.toml").write_text(f"samples = 2\n{line}\n")
    done = jsdoctor("check", cwd=tmp_path)
    assert done.returncode == 2
    assert "jsdoctor.toml:2: " in done.stderr
    assert says in done.stderr


def test_an_option_of_logs_means_something_with_a_file(tmp_path: Path) -> None:
    (tmp_path / "n1.log").write_text(START)
    done = jsdoctor("check", "n1.log", "--timezone", "Europe/Berlin", "--format", "json", cwd=tmp_path)
    assert "2026-07-21T08:00:00Z" in done.stdout, done.stderr
    alone = jsdoctor("check", "--timezone", "Europe/Berlin", cwd=tmp_path)
    assert (alone.returncode, "there are no logs to read" in alone.stderr) == (2, True)
