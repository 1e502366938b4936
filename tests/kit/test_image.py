"""The container image, made by the Dockerfile's own lines in chroots: its size, and that it runs without rights."""

import json
import os
import shutil
import subprocess

import pytest

from tests.kit.dockerfile import Builder, Image, stages
from tests.prometheus.stack import program
from tests.servers import ROOT, ClusterFactory

MAX_BYTES = 150_000_000
LOG = """\
[7] 2026/11/21 10:04:00.000000 [INF] Server is ready
[7] 2026/11/21 10:05:00.000000 [WRN] JetStream cluster stream 'APP > ORDERS' has NO quorum, stalled
"""


def test_every_stage_that_is_published_runs_without_rights() -> None:
    made = stages((ROOT / "Dockerfile").read_text("utf-8"))
    steps = dict(made["tool"].steps)
    assert steps["USER"] == "65532:65532"
    assert json.loads(steps["ENTRYPOINT"])[-1] == "jsdoctor"
    for name in ("", "kubectl", "logs"):
        assert made[name].base == "tool"
        assert "USER" not in dict(made[name].steps)


@pytest.mark.parametrize(("text", "code"), [("", 0), ("FROM debian:latest\nRUN cd /tmp\n", 1)], ids=["ours", "bad"])
def test_hadolint_accepts_the_dockerfile(text: str, code: int) -> None:
    text = text or (ROOT / "Dockerfile").read_text("utf-8")
    command = [str(program("hadolint")), "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == code, done.stdout


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    missing = [name for name in ("debootstrap", "unshare", "setpriv") if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"needs root, and {', '.join(missing) or 'nothing else'}")
    return Builder(ROOT / "Dockerfile", tmp_path_factory.mktemp("image"))


@pytest.fixture(scope="module")
def tool(builder: Builder) -> Image:
    return builder.build()


@pytest.mark.nightly
def test_the_image_is_small(tool: Image) -> None:
    assert 50_000_000 < tool.size() <= MAX_BYTES


@pytest.mark.nightly
def test_nothing_in_it_can_be_written_or_gives_rights(tool: Image) -> None:
    shell = [path for name in ("sh", "bash", "dash", "apt", "dpkg", "pip") for path in tool.root.glob(f"**/bin/{name}")]
    assert not shell
    assert not [path for path in tool.root.rglob("*") if path.is_file() and path.stat().st_mode & 0o6000]
    python = [tool.entrypoint[0], "-P", "-c"]
    code = "import os; print(os.getuid(), os.getgid()); open('/tmp/ok', 'w'); open('/home/jsdoctor/no', 'w')"
    done = Image(tool.root, tool.environment, tool.user, tool.directory, python).run(code)
    assert done.stdout.split() == ["65532", "65532"]
    assert "Read-only file system: '/home/jsdoctor/no'" in done.stderr


@pytest.mark.nightly
def test_the_tool_runs_in_it(tool: Image) -> None:
    listed = json.loads(tool.run("rules", "list", "--format", "json").stdout)
    assert {rule["code"] for rule in listed["rules"]} == {page.stem for page in (ROOT / "rules").rglob("JSD*.md")}
    done = tool.run("check", "--isolated", "--no-context", "-s", "tls://127.0.0.1:1")
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    done = tool.run()
    assert done.returncode in {0, 2}


@pytest.mark.nightly
@pytest.mark.real
def test_it_checks_a_real_server(tool: Image, cluster_factory: ClusterFactory) -> None:
    cluster = cluster_factory()
    done = tool.run("check", "--isolated", "--no-context", "-s", cluster.url("sys"), "--format", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["sources"]


@pytest.mark.nightly
def test_the_image_for_logs_audits_with_spark(builder: Builder) -> None:
    image = builder.build("logs")
    logs = image.root / "logs"
    logs.mkdir()
    (logs / "n1.log").write_text(LOG, "utf-8")
    done = image.run("audit", "/logs", "--isolated", "--engine", "spark", "--format", "json", timeout=600)
    assert done.returncode == 1, done.stderr
    assert "JSD702" in done.stdout
