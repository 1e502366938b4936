"""`check --manifest` as a user runs it: places in every format, standard input, what cannot be read, and no secret."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jsdoctor.sources.manifests.load import source_line
from tests.cli.invoke import jsdoctor
from tests.support.manifest_cases import CORPUS

BAD = CORPUS / "nack" / "bad.yaml"
GOOD = CORPUS / "nack" / "good.yaml"
STREAM = "apiVersion: jetstream.nats.io/v1beta2\nkind: Stream\nmetadata: {name: s}\nspec:\n  name: S\n  subjects: [s]\n"


@pytest.fixture
def deploy(tmp_path: Path) -> Path:
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy" / "s.yaml").write_text(STREAM)
    return tmp_path


def test_places_in_every_format(deploy: Path) -> None:
    def shown(form: str) -> str:
        return jsdoctor("check", "--manifest", "deploy", "--select", "JSD601", "--format", form, cwd=deploy).stdout

    assert "deploy/s.yaml:5:3" in shown("text")
    assert "::warning file=deploy/s.yaml,line=5,col=3,title=JSD601" in shown("github")
    (result,) = json.loads(shown("sarif"))["runs"][0]["results"]
    where = result["locations"][0]["physicalLocation"]
    assert where["artifactLocation"] == {"uri": "deploy/s.yaml"}
    assert (where["region"]["startLine"], where["region"]["startColumn"]) == (5, 3)
    (issue,) = [entry for entry in json.loads(shown("gitlab")) if entry["check_name"] == "JSD601"]
    assert issue["location"] == {"path": "deploy/s.yaml", "lines": {"begin": 5}}
    (failed,) = [case for case in json.loads(shown("json"))["results"] if case["outcome"] == "fail"]
    assert [(place["source"], place["path"]) for place in failed["evidence"]] == [("deploy/s.yaml", "line 5, column 3")]
    assert json.loads(shown("json"))["sources"][0]["kind"] == "manifest"


def test_places_count_from_the_root_of_the_repository(deploy: Path) -> None:
    """However the path is given and wherever the command runs; includes are found from there."""
    (deploy / ".git").mkdir()
    (deploy / "deploy" / "n.conf").write_text('server_name: "n 1"\njetstream { store_dir: /data }\ninclude more.conf\n')
    (deploy / "deploy" / "more.conf").write_text("http_port: 8222\n")

    def shown(path: str, cwd: Path) -> set[str]:
        done = jsdoctor("check", "--manifest", path, "--select", "JSD601,JSD711", "--format", "sarif", cwd=cwd)
        results = json.loads(done.stdout)["runs"][0]["results"]
        return {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results}

    for path, cwd in (("deploy", deploy), (str(deploy / "deploy"), deploy), (".", deploy / "deploy")):
        assert shown(path, cwd) == {"deploy/s.yaml", "deploy/n.conf"}


def test_standard_input(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "jsdoctor", "check", "--isolated", "--manifest", "-", "--format", "github"]
    done = subprocess.run(
        command, input=BAD.read_text(), capture_output=True, text=True, cwd=tmp_path, check=False, timeout=60
    )
    assert done.returncode == 1
    assert "::error file=stdin,line=19,col=3,title=JSD614" in done.stdout


def test_good_manifests_exit_with_0_and_bad_ones_with_1(tmp_path: Path) -> None:
    assert jsdoctor("check", "--manifest", str(GOOD), cwd=tmp_path).returncode == 0
    assert jsdoctor("check", "--manifest", str(BAD), cwd=tmp_path).returncode == 1


def test_what_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    done = jsdoctor("check", "--manifest", "nowhere/*.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert "nowhere/*.yaml: there is no such file" in done.stderr


def test_a_named_file_that_is_none_is_inconclusive(tmp_path: Path) -> None:
    files = {
        "other.yaml": "apiVersion: v1\nkind: Pod\n",
        "broken.yaml": "a: b: c\n",
        "bytes.conf": "\udcff",
        "empty.json": "",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, errors="surrogateescape")
    named = [word for name in files for word in ("--manifest", name)]
    done = jsdoctor("check", *named, "--format", "json", cwd=tmp_path)
    assert done.returncode == 3, done.stdout
    assert {gap["subject"]["name"] for gap in json.loads(done.stdout)["gaps"] if gap["requested"]} == set(files)


def test_files_of_a_directory_that_are_none_are_passed_over_and_templates_are_not(deploy: Path) -> None:
    (deploy / "deploy" / "pod.yaml").write_text("apiVersion: v1\nkind: Pod\n")
    (deploy / "deploy" / "values.txt").write_text("a: b: c\n")
    (deploy / "deploy" / "chart.yaml").write_text("{{ if .Values.x }}\na: b\n")
    assert jsdoctor("check", "--manifest", "deploy", cwd=deploy).returncode == 0
    (deploy / "deploy" / "template.yaml").write_text("{{ if .Values.x }}\napiVersion: jetstream.nats.io/v1beta2\n")
    done = jsdoctor("check", "--manifest", "deploy", cwd=deploy)
    assert done.returncode == 3
    assert "template.yaml" in done.stdout


def test_templates_of_a_vendored_chart_are_passed_over(deploy: Path) -> None:
    """Those of a chart of one's own are not: it may declare streams."""
    chart = deploy / "deploy" / "vendored"
    (chart / "files").mkdir(parents=True)
    (chart / "files" / "map.yaml").write_text("{{- if .Values.x }}\nnats.conf: |\n  {{ . }}\n")
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: nats\nversion: 1.3.0\n")
    assert jsdoctor("check", "--manifest", "deploy", cwd=deploy).returncode == 0
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: shop\nversion: 1.3.0\n")
    assert jsdoctor("check", "--manifest", "deploy", cwd=deploy).returncode == 3


def test_patches_of_a_kustomization_are_listed_and_not_judged(deploy: Path) -> None:
    (deploy / "deploy" / "kustomization.yaml").write_text("resources: [s.yaml]\npatches:\n  - path: more.yaml\n")
    (deploy / "deploy" / "more.yaml").write_text(STREAM.replace("subjects: [s]", "replicas: 2"))
    done = jsdoctor("check", "--manifest", "deploy", "--format", "json", cwd=deploy)
    report = json.loads(done.stdout)
    assert done.returncode == 0
    assert [gap["subject"]["name"] for gap in report["gaps"] if "kustomization" in gap["reason"]] == [
        "deploy/more.yaml"
    ]
    assert not [result for result in report["results"] if result["code"] == "JSD605" and result["outcome"] == "fail"]


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_format_shows_a_secret(tmp_path: Path, form: str) -> None:
    done = jsdoctor("check", "--manifest", str(CORPUS), "--format", form, "-vv", cwd=tmp_path)
    assert done.returncode == 1
    assert "not-shown" not in done.stdout + done.stderr
    assert "$2a$11$" not in done.stdout + done.stderr


def test_the_line_is_shown_under_the_finding(deploy: Path) -> None:
    text = jsdoctor("check", "--manifest", "deploy", "--select", "JSD601", cwd=deploy).stdout
    assert "   deploy/s.yaml:5:3\n      5 | name: S\n          ^\n" in text
    for written in ("html", "markdown", "json"):
        assert " | name: S" not in jsdoctor("check", "--manifest", "deploy", "--format", written, cwd=deploy).stdout


@pytest.mark.parametrize(
    ("content", "is_shown"),
    [
        ("listen: 4222\n", True),
        ("authorization { user: app, password: hunter2 }\n", False),
        ("token: hunter2\n", False),
        ("routes: [nats-route://app:hunter2@n2:6222]\n", False),
        ("nkey: UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4\n", False),
        ("- SUAIBDPBAUTWCWBKIO6XHQNINK5FWJW4OHLXC3HQ2KFE4PEJUA44CNHTC4\n", False),
        (f"nats.conf: {'c2Vy' * 20}\n", False),
        ("listen: 4222\n---\nkind: Secret\n", False),
        ("", False),
    ],
)
def test_no_line_that_may_have_a_secret_is_shown(
    content: str, is_shown: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "n.conf").write_text(content)
    monkeypatch.chdir(tmp_path)
    assert source_line(str(tmp_path / "n.conf"), 1) == (content.partition("\n")[0] if is_shown else "")


def test_no_line_of_what_is_no_file_is_shown(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert {source_line(str(tmp_path / name), 1) for name in ("pipe", "nowhere", "a\0b", "")} == {""}


def test_yaml_is_imported_for_yaml_only(tmp_path: Path) -> None:
    """And where it is missing, JSON and configurations are read all the same."""
    (tmp_path / "yaml.py").write_text("raise ImportError('not installed', name='yaml')\n")
    (tmp_path / "s.json").write_text('{"name": "S", "subjects": ["s"], "max_msgs": 5, "discard": "old"}')
    without = {"PYTHONPATH": str(tmp_path)}
    assert jsdoctor("--version", cwd=tmp_path, env=without).returncode == 0
    assert jsdoctor("check", "--manifest", "s.json", cwd=tmp_path, env=without).returncode == 0
    done = jsdoctor("check", "--manifest", str(GOOD), cwd=tmp_path, env=without)
    assert done.returncode == 2
    assert "jsdoctor[manifests]" in done.stderr


@pytest.mark.parametrize("depth", [0, 1])
def test_values_of_an_old_chart_are_named(tmp_path: Path, depth: int) -> None:
    """Charts before 1.0 have the servers under `nats`; nothing of them is judged, and a plain file states it."""
    lines = ["nats:", "  jetstream:", "    fileStorage:", "      size: 10Gi", "cluster:", "  replicas: 2"]
    text = "\n".join(("nats:" if depth else "", *("  " * depth + line for line in lines), ""))
    (tmp_path / "values.yaml").write_text(text)
    done = jsdoctor("check", "--isolated", "values.yaml", cwd=tmp_path)
    assert done.returncode == 3
    assert "values of the NATS chart before 1.0" in " ".join(done.stdout.split())
    assert "helm template" in done.stdout
