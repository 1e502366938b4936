"""Workflows and the action: actionlint accepts them, they ask for few rights, and the release checks its tag."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from jsdoctor import __version__
from tests.prometheus.stack import program
from tests.servers import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def actionlint(*files: Path) -> subprocess.CompletedProcess[str]:
    command = [str(program("actionlint")), *map(str, files)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)


def workflow(name: str) -> Any:
    return yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text("utf-8"))


def test_actionlint_accepts_every_workflow() -> None:
    assert len(WORKFLOWS) > 2
    done = actionlint(*WORKFLOWS)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_a_workflow_begins_with_the_right_to_read(file: Path) -> None:
    assert yaml.safe_load(file.read_text("utf-8"))["permissions"] == {"contents": "read"}


def test_no_expression_of_a_user_is_in_a_script() -> None:
    for file in WORKFLOWS:
        for job in yaml.safe_load(file.read_text("utf-8"))["jobs"].values():
            for step in job.get("steps", ()):
                assert "${{" not in step.get("run", ""), "values reach scripts through the environment"


def step(job: str, name: str) -> str:
    [script] = [entry["run"] for entry in workflow("release")["jobs"][job]["steps"] if entry.get("name") == name]
    return str(script)


@pytest.mark.parametrize(("tag", "code"), [(f"v{__version__}", 0), ("v9.9.9", 1)])
def test_a_tag_has_to_be_the_version(tag: str, code: int, tmp_path: Path) -> None:
    output = tmp_path / "output"
    output.touch()
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", step("packages", "Compare the tag with the version")],
        cwd=ROOT,
        env=os.environ | {"GITHUB_REF_NAME": tag, "GITHUB_OUTPUT": str(output)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert output.read_text() == ("" if code else f"version={__version__}\n")


def test_the_release_completes_formula_and_chart(tmp_path: Path) -> None:
    """The scripts run with `gh`, `helm` and `cosign` that only note their arguments."""
    for name in ("jsdoctor.rb", "values.yaml"):
        [origin] = (ROOT / "deploy").rglob(name)
        place = tmp_path / origin.relative_to(ROOT)
        place.parent.mkdir(parents=True)
        shutil.copy(origin, place)
    archive = tmp_path / "made" / "packages" / f"jsdoctor-{__version__}.tar.gz"
    archive.parent.mkdir(parents=True)
    archive.write_bytes(b"")
    (tmp_path / "bin").mkdir()
    for name in ("gh", "helm", "cosign"):
        tool = tmp_path / "bin" / name
        # As the real tools do, they read the password: a pipe without a reader ends the script.
        tool.write_text(
            f'#!/bin/sh\necho "{name} $*" >> "$NOTED"\n[ "$1" != push ] || echo "Digest: sha256:abc"\n'
            'case "$*" in *--password-stdin*) cat > /dev/null ;; esac\n'
        )
        tool.chmod(0o755)
    noted = tmp_path / "noted"
    given = {"VERSION": __version__, "REPOSITORY": "Us/tool", "GITHUB_REPOSITORY": "Us/tool", "OWNER": "Us"}
    given |= {"GITHUB_REF_NAME": f"v{__version__}", "NOTED": str(noted), "TOKEN": "t0ken", "ACTOR": "me"}
    given["PATH"] = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    for job, name in (("chart", "Package, push and sign"), ("release", "Complete the formula and publish")):
        command = ["bash", "-eo", "pipefail", "-c", step(job, name)]
        done = subprocess.run(
            command, cwd=tmp_path, env=os.environ | given, capture_output=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr
    formula = (tmp_path / "jsdoctor.rb").read_text()
    assert "OWNER" not in formula
    assert f'url "https://github.com/Us/tool/releases/download/v{__version__}/' in formula
    assert 'sha256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"' in formula
    assert "repository: ghcr.io/us/tool" in (tmp_path / "deploy" / "helm" / "jsdoctor" / "values.yaml").read_text()
    assert "cosign sign --yes ghcr.io/us/charts/jsdoctor@sha256:abc" in noted.read_text()
    assert not re.search("t0ken", noted.read_text()), "a token is no argument, which others could list"
