"""What others run jsdoctor with: the GitHub action, the hook, the job templates. Their own lines are run here."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from tests.cli.invoke import jsdoctor
from tests.support.http_server import QuietHandler, serving

ROOT = Path(__file__).resolve().parent.parent
LOG = """\
[7] 2026/11/21 10:04:00.000000 [INF] Server is ready
[7] 2026/11/21 10:05:00.000000 [WRN] JetStream cluster stream 'APP > ORDERS' has NO quorum, stalled
"""


def read(name: str) -> Any:
    return list(yaml.safe_load_all((ROOT / name).read_text()))


def step(name: str) -> str:
    [action] = read("action.yml")
    [script] = [step["run"] for step in action["runs"]["steps"] if step["name"] == name]
    return str(script)


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
    code, output, set_ = run_action(tmp_path, "--isolated --logs 'n 1.log'", SARIF="found.sarif", HTML="found.html")
    assert (code, set_) == (1, "exit-code=1\n")
    assert "::error" in output
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


class _GitHub(QuietHandler):
    """Comments of one pull request, as GitHub's API has them: a quoting person first."""

    comments: ClassVar[list[dict[str, Any]]] = []

    def do_GET(self) -> None:
        self._reply(self.comments if self.path.endswith("page=1") else [])

    def do_POST(self) -> None:
        self.comments.append(self._sent() | {"id": len(self.comments) + 1, "user": {"type": "Bot"}})
        self._reply({})

    def do_PATCH(self) -> None:
        self.comments[int(self.path.rsplit("/", 1)[1]) - 1].update(self._sent())
        self._reply({})

    def _sent(self) -> dict[str, Any]:
        assert self.headers["Authorization"] == "Bearer t0ken"
        return dict(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _reply(self, content: object) -> None:
        self.respond(200, json.dumps(content).encode())


def test_the_action_posts_one_comment_and_replaces_it(tmp_path: Path) -> None:
    (tmp_path / "n1.log").write_text(LOG)
    code, _, _ = run_action(tmp_path, "--isolated --logs n1.log", COMMENT="true", UPLOAD="true")
    assert code == 1
    assert "JSD702" in (tmp_path / "jsdoctor.sarif").read_text()
    _GitHub.comments[:] = [{"id": 1, "body": "<!-- jsdoctor --> says a person", "user": {"type": "User"}}]
    event = tmp_path / "event.json"
    event.write_text('{"pull_request": {"number": 7}}')
    given = {
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_TOKEN": "t0ken",
        "PYTHON": sys.executable,
        "PLACE": str(tmp_path / "a place"),
        "SOURCE": str(ROOT),
    }

    def post() -> subprocess.CompletedProcess[str]:
        bash = ["bash", "-eo", "pipefail", "-c", step("Comment")]
        return subprocess.run(bash, env=os.environ | given, capture_output=True, text=True, check=False, timeout=60)

    with serving(_GitHub) as port:
        given["GITHUB_API_URL"] = f"http://127.0.0.1:{port}"
        assert post().returncode == 0
        comment = tmp_path / "a place" / "comment.md"
        comment.write_text("a later run\n" * 10_000)
        assert post().returncode == 0
    person, ours = _GitHub.comments
    assert person["body"].endswith("says a person")
    assert ours["body"].startswith("<!-- jsdoctor -->\na later run")
    assert len(ours["body"]) < 65_536
    refused = post()
    assert refused.returncode == 1
    assert refused.stdout.startswith("::error::the comment on pull request 7 was not posted")
    event.write_text("{}")
    assert post().returncode == 0, "a push has no pull request"


def resolved(text: str, given: dict[str, str]) -> str:
    """A value of a step's environment, with its one expression replaced."""
    match = re.fullmatch(r"\$\{\{ (\S+) \}\}(.*)", text)
    return given[match[1]] + match[2] if match else text


@pytest.mark.nightly
def test_all_steps_of_the_action_in_one_run(tmp_path: Path) -> None:
    """Installed from this checkout as GitHub does it: annotations, SARIF, and the comment. GitHub uploads the SARIF."""
    (tmp_path / "n1.log").write_text(LOG)
    (tmp_path / "event.json").write_text('{"pull_request": {"number": 7}}')
    _GitHub.comments[:] = []
    [action] = read("action.yml")
    given = {f"inputs.{name}": str(declared.get("default", "")) for name, declared in action["inputs"].items()}
    given |= {"inputs.arguments": "--isolated --logs n1.log", "inputs.comment": "true", "inputs.upload-sarif": "true"}
    given |= {"inputs.token": "t0ken", "inputs.python": sys.executable}
    given |= {"runner.temp": str(tmp_path), "github.action_path": str(ROOT)}
    runner = {
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_OUTPUT": str(tmp_path / "output"),
    }
    codes = []
    with serving(_GitHub) as port:
        runner["GITHUB_API_URL"] = f"http://127.0.0.1:{port}"
        for step in action["runs"]["steps"]:
            if "run" in step:
                environment = {name: resolved(value, given) for name, value in step["env"].items()}
                bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
                done = subprocess.run(
                    bash, cwd=tmp_path, env=os.environ | runner | environment, check=False, timeout=600
                )
                codes.append(done.returncode)
    assert codes == [0, 1, 0], "installed, checked with findings, commented all the same"
    [comment] = _GitHub.comments
    assert "JSD702" in comment["body"]
    assert "JSD702" in (tmp_path / "jsdoctor.sarif").read_text()
    upload = action["runs"]["steps"][-1]
    assert upload["with"]["sarif_file"].endswith("'jsdoctor.sarif' }}")
    assert "always()" in upload["if"]
