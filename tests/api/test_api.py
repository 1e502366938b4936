"""The Python interface on real servers, real logs and real mistakes: values and exceptions, nothing printed."""

import asyncio
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nats
import pytest

import jsdoctor
from jsdoctor.demo.server import free_ports
from jsdoctor.model.option import option_fields
from jsdoctor.sources.connect.options import ConnectionOptions
from jsdoctor.sources.request import REQUESTS
from tests.servers import ClusterFactory
from tests.support.deployment import add_stream

ROOT = Path(__file__).resolve().parents[2]
LOG = """\
[7] 2026/11/22 10:00:00.000000 [INF] Starting nats-server
[7] 2026/11/22 10:00:00.000100 [INF]   Version:  2.12.8
[7] 2026/11/22 10:00:00.000200 [INF]   Name:     n1
[7] 2026/11/22 10:00:01.000000 [INF] Server is ready
[7] 2026/11/22 10:05:00.000000 [WRN] JetStream cluster stream 'APP > ORDERS' has NO quorum, stalled
"""


@pytest.fixture(autouse=True)
def nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Of each test: a library writes neither to stdout nor to stderr."""
    yield
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


def create(url: str, name: str, **config: Any) -> None:
    async def work() -> None:
        client = await nats.connect(url)
        try:
            await add_stream(client, name, **config)
        finally:
            await client.close()

    asyncio.run(work())


def nowhere() -> str:
    (port,) = free_ports(1)
    return f"nats://127.0.0.1:{port}"


@pytest.mark.real
def test_check_finds_what_the_command_finds(cluster_factory: ClusterFactory) -> None:
    cluster = cluster_factory()
    create(cluster.url("app"), "UNLIMITED", subjects=["unlimited.>"])
    result = jsdoctor.check(cluster.url("app"), interval=0.01)
    assert result.problem is None
    assert result.conclusive
    assert "JSD601" in {finding.rule.code for finding in result.findings}
    assert {finding.rule.code for finding in result.at_least("critical")} == set()
    assert "UNLIMITED" in {finding.finding.subject.name for finding in result.findings}
    command = [sys.executable, "-m", "jsdoctor", "check", "--isolated", "-s", cluster.url("app"), "--format", "json"]
    report = json.loads(subprocess.run(command, capture_output=True, check=False, text=True).stdout)
    mine = result.document
    assert mine["schema"] == report["schema"]
    assert [mine_result["code"] for mine_result in mine["results"]] == [
        command_result["code"] for command_result in report["results"]
    ]


@pytest.mark.real
def test_plan_fix_plans_and_writes_nothing(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    cluster = cluster_factory()
    create(cluster.url("app"), "ORDERS", subjects=["orders.>"], duplicate_window=1_000_000_000)
    plan = jsdoctor.plan_fix(cluster.url("app"), interval=0.01, judgement=jsdoctor.Judgement(select=["JSD301"]))
    assert [step.action for step in plan.steps] == ["stream.raise_duplicate_window"]
    assert plan.document["schema"] == "jsdoctor.plan/v1"
    plan.write(tmp_path / "plan.json")
    again = jsdoctor.plan_fix(cluster.url("app"), interval=0.01, judgement=jsdoctor.Judgement(select=["JSD301"]))
    assert len(again.steps) == 1
    command = [sys.executable, "-m", "jsdoctor", "fix", "--isolated", "-s", cluster.url("app"), "--apply", "--yes"]
    command += ["--plan", str(tmp_path / "plan.json"), "--journal", str(tmp_path / "journal.jsonl")]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr
    gone = jsdoctor.plan_fix(cluster.url("app"), interval=0.01, judgement=jsdoctor.Judgement(select=["JSD301"]))
    assert gone.steps == ()


def test_a_deployment_that_is_down_is_no_exception() -> None:
    result = jsdoctor.check(nowhere())
    assert isinstance(result.problem, jsdoctor.ConnectProblem)
    assert not result.conclusive
    assert {finding.rule.code for finding in result.findings} == {"JSD901"}
    with pytest.raises(jsdoctor.ConnectProblem):
        jsdoctor.plan_fix(nowhere())


def test_a_running_event_loop_is_no_obstacle() -> None:
    async def work() -> jsdoctor.CheckResult:
        return jsdoctor.check(nowhere())

    assert isinstance(asyncio.run(work()).problem, jsdoctor.ConnectProblem)


def test_audit_of_a_log(tmp_path: Path) -> None:
    log = tmp_path / "n1.log"
    log.write_text(LOG, "utf-8")
    result = jsdoctor.audit(log, engine="local")
    assert {finding.rule.code for finding in result.at_least("error")} == {"JSD702"}
    assert result.incidents[0].causes[0].rule.code == "JSD702"
    assert jsdoctor.check(files=[log]).document["results"] == result.document["results"]
    assert "JSD702" in result.render()
    assert json.loads(result.render("sarif"))["version"] == "2.1.0"
    before = jsdoctor.audit(log, engine="local", until="2026-11-22T10:01:00Z")
    assert before.at_least("warning") == ()


def test_parameters_select_and_configuration(tmp_path: Path) -> None:
    log = tmp_path / "n1.log"
    log.write_text(LOG, "utf-8")
    only = jsdoctor.Judgement(select=["JSD805"])
    assert jsdoctor.audit(log, engine="local", judgement=only).findings == ()
    (tmp_path / "own.toml").write_text('select = ["JSD702"]\n', "utf-8")
    configured = jsdoctor.Judgement(config=tmp_path / "own.toml")
    assert {v.rule.code for v in jsdoctor.audit(log, engine="local", judgement=configured).report.verdicts} == {
        "JSD702"
    }


def test_configuration_of_the_working_directory_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jsdoctor.toml").write_text("this is no TOML", "utf-8")
    (tmp_path / "n1.log").write_text(LOG, "utf-8")
    monkeypatch.chdir(tmp_path)
    assert jsdoctor.audit("n1.log", engine="local").findings


def test_diagnose_without_a_connection(tmp_path: Path) -> None:
    by_text = jsdoctor.diagnose("nats: wrong last sequence: 5123", offline=True)
    assert by_text.symptom == "wrong-last-sequence"
    assert {cause.verdict.value for cause in by_text.causes} == {"undecided"}
    assert jsdoctor.diagnose(code=10071, offline=True).symptom == by_text.symptom
    assert by_text.document["schema"] == "jsdoctor.diagnosis/v1"
    assert by_text.render().startswith("Publishes are refused: wrong last sequence: ")
    log = tmp_path / "n1.log"
    log.write_text(LOG, "utf-8")
    by_file = jsdoctor.diagnose(files=[log], offline=True)
    assert "JSD702" in {cause.rule.code for cause in by_file.causes if cause.verdict.value == "confirmed"}
    assert jsdoctor.diagnose("it is all quiet here", offline=True).causes == ()


def test_mistakes_are_usage_problems_with_a_hint(tmp_path: Path) -> None:
    for mistake in (
        lambda: jsdoctor.check(judgement=jsdoctor.Judgement(select=["JSD000"])),
        lambda: jsdoctor.check(judgement=jsdoctor.Judgement(config=tmp_path / "missing.toml")),
        lambda: jsdoctor.check(files=[tmp_path / "missing.log"]),
        lambda: jsdoctor.diagnose(files=[tmp_path / "missing.log"]),
        jsdoctor.diagnose,
        lambda: jsdoctor.audit(tmp_path, engine="fast"),
        lambda: jsdoctor.audit(tmp_path, since="yesterday-ish"),
        lambda: jsdoctor.plan_fix("nats://127.0.0.1:4222", remedies=["JSD303"]),
        lambda: jsdoctor.check("http://127.0.0.1:4222"),
    ):
        with pytest.raises(jsdoctor.UsageProblem) as raised:
            mistake()
        assert str(raised.value)
    assert issubclass(jsdoctor.UsageProblem, jsdoctor.Problem)


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    notebook = json.loads((ROOT / "docs" / "examples" / "audit.ipynb").read_text("utf-8"))
    names: dict[str, Any] = {"print": lambda *_: None}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)  # noqa: S102  # cells of this repository
    assert names["result"].findings
    assert names["diagnosis"].symptom


@pytest.mark.parametrize(
    ("text", "code"), [(LOG, 1), (LOG.rpartition("[7]")[0], 0), ("a word", 3)], ids=["trouble", "healthy", "no log"]
)
def test_the_example_of_a_gate_runs(tmp_path: Path, text: str, code: int) -> None:
    (tmp_path / "n1.log").write_text(text, "utf-8")
    command = [sys.executable, str(ROOT / "docs" / "examples" / "gate.py"), str(tmp_path / "n1.log")]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    assert ("JSD702" in done.stdout) == (code == 1)


def test_the_interface_is_loaded_when_it_is_used() -> None:
    loaded = "import sys, jsdoctor; print(sorted(name for name in sys.modules if name.startswith('jsdoctor.')))"
    assert subprocess.check_output([sys.executable, "-c", loaded], text=True).strip() == "[]"
    with pytest.raises(AttributeError, match="no attribute 'fix'"):
        _ = jsdoctor.fix
    assert dir(jsdoctor) == sorted(jsdoctor.__all__)


@pytest.mark.parametrize("name", [name for name in jsdoctor.__all__ if not name.startswith("__")])
def test_what_is_public_is_documented_and_typed(name: str) -> None:
    public = getattr(jsdoctor, name)
    assert inspect.getdoc(public)
    assert f"`{name}" in (ROOT / "docs" / "api.md").read_text("utf-8")
    if inspect.isfunction(public):
        for parameter in inspect.signature(public).parameters.values():
            assert parameter.annotation is not parameter.empty
            assert f"`{parameter.name}`" in (ROOT / "docs" / "api.md").read_text("utf-8"), parameter.name


def test_every_option_of_evidence_is_documented_and_taken(tmp_path: Path) -> None:
    keys = {field.option.key for kind in REQUESTS if kind is not ConnectionOptions for field in option_fields(kind)}
    listed = set(
        re.findall(r"`(\w+)`", (ROOT / "docs" / "api.md").read_text("utf-8").partition("| options | what |")[2])
    )
    assert keys <= listed
    with pytest.raises(jsdoctor.UsageProblem, match="no option 'sample'"):
        jsdoctor.check(sample=3)
    (tmp_path / "n1.log").write_text("[7] 2026/11/22 10:00:00.000000 [WRN] JetStream cluster no metadata leader\n")
    assert (
        jsdoctor.check(logs=tmp_path / "n1.log").document["results"]
        == (jsdoctor.audit([str(tmp_path / "n1.log")]).document["results"])
    )
