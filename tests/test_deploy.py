"""What others run jsdoctor with: the GitHub action, the hook, the job templates. Their own lines are run here."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.invoke import jsdoctor

ROOT = Path(__file__).resolve().parent.parent
LOG = """\
[7] 2026/11/21 10:04:00.000000 [INF] Server is ready
[7] 2026/11/21 10:05:00.000000 [WRN] JetStream cluster stream 'APP > ORDERS' has NO quorum, stalled
"""


def read(name: str) -> Any:
    return list(yaml.safe_load_all((ROOT / name).read_text()))


def step(name: str) -> str:
    [action] = read("action.yml")
    [found] = [one["run"] for one in action["runs"]["steps"] if one["name"] == name]
    return str(found)


def run_action(place: Path, arguments: str, **inputs: str) -> tuple[int, str, str]:
    """The action's own step in bash, as GitHub calls it: exit code, what it printed, what it set."""
    (place / "a place" / "bin").mkdir(parents=True, exist_ok=True)
    tool = place / "a place" / "bin" / "jsdoctor"
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m jsdoctor "$@"\n')
    tool.chmod(0o755)
    output = place / "output"
    output.write_text("")
    given = {"ARGUMENTS": arguments, "FAIL_ON": "", "SARIF": "", "HTML": "", "PLACE": str(place / "a place")} | inputs
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("NATS_", "GITHUB_"))}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step("Check")],
        cwd=place,
        env=clean | given | {"GITHUB_OUTPUT": str(output), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout, output.read_text()


def test_the_action_annotates_and_fails_on_findings(tmp_path: Path) -> None:
    (tmp_path / "n 1.log").write_text(LOG)
    code, said, set_ = run_action(tmp_path, "--isolated --logs 'n 1.log'", SARIF="found.sarif", HTML="found.html")
    assert (code, set_) == (1, "exit-code=1\n")
    assert "::error" in said
    assert "JSD702" in (tmp_path / "found.sarif").read_text()
    assert "JSD702" in (tmp_path / "found.html").read_text()


def test_the_action_runs_nothing_of_its_input(tmp_path: Path) -> None:
    (tmp_path / "n1.log").write_text(LOG)
    code, _, _ = run_action(tmp_path, "--isolated --logs n1.log --select '$(touch here)'")
    assert code == 2
    assert not (tmp_path / "here").exists()
    code, _, set_ = run_action(tmp_path, "--isolated --logs n1.log --exit-zero", FAIL_ON="critical")
    assert (code, set_) == (0, "exit-code=0\n")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["check", *shlex.split(" ".join([*read(".pre-commit-hooks.yaml")[0][0]["entry"].split()[2:]])), "--help"], 0),
        (
            [
                *read("deploy/kubernetes-cronjob.yaml")[1]["spec"]["jobTemplate"]["spec"]["template"]["spec"][
                    "containers"
                ][0]["args"]
            ],
            2,
        ),
    ],
    ids=["hook", "cronjob"],
)
def test_their_options_are_known(arguments: list[str], code: int, tmp_path: Path) -> None:
    done = jsdoctor(*arguments, cwd=tmp_path)
    assert done.returncode == code
    assert "No such option" not in done.stderr
    if code:
        assert "/run/secrets/nats/jsdoctor.creds" in done.stderr, "the credentials file is what is missing here"


def test_the_gitlab_job_writes_its_report(tmp_path: Path) -> None:
    (tmp_path / "n1.log").write_text(LOG)
    [template] = read("deploy/gitlab-ci.yml")
    command = template["jsdoctor"]["script"][-1].replace("jsdoctor check", f"{sys.executable} -m jsdoctor check", 1)
    done = subprocess.run(
        ["bash", "-ec", command],
        cwd=tmp_path,
        env=os.environ | {"JSDOCTOR_ARGUMENTS": "--isolated --logs n1.log", "PYTHONPATH": str(ROOT)},
        check=False,
        timeout=120,
    )
    assert done.returncode == 1
    assert "JSD702" in (tmp_path / template["jsdoctor"]["artifacts"]["reports"]["codequality"]).read_text()
