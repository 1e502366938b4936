"""`jsdoctor mcp` as the SDK's own client uses it: a real log, a real server, refusals and limits."""

import asyncio
import importlib
import json
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from jsdoctor.cli.mcp.settings import McpSettings
from jsdoctor.model.problems import UsageProblem
from tests.cli.invoke import jsdoctor
from tests.loki.documented import DocumentedLoki, serving
from tests.loki.shipping import S, incidents_of, ship
from tests.servers import ClusterFactory

SECRET = "s3cr3t-w0rd"
LOG = (
    "[12] 2026/11/21 04:50:23.579731 [INF] Starting nats-server\n"
    "[12] 2026/11/21 04:50:24.579731 [WRN] JetStream cluster stream 'A > B' has NO quorum, stalled\n"
    f"[12] 2026/11/21 04:50:25.579731 [ERR] Error trying to connect to route nats://route:{SECRET}@10.0.0.1:6222\n"
)

Call = Callable[..., Awaitable[tuple[bool, str]]]


def served(work: Callable[[Call, Any], Awaitable[None]], place: Path, *options: str, **env: str) -> None:
    """Start the server in `place` with these options and variables, and give `work` a way to call its tools."""
    from mcp import Client, StdioServerParameters, stdio_client  # noqa: PLC0415  # takes more than a second
    from mcp.types import TextContent  # noqa: PLC0415

    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "jsdoctor", "mcp", "--isolated", *options],
        env={"XDG_CONFIG_HOME": str(place / "config"), **env},
        cwd=place,
    )

    async def main() -> None:
        async with Client(stdio_client(parameters)) as client:

            async def call(name: str, /, **arguments: object) -> tuple[bool, str]:
                result = await client.call_tool(name, arguments)
                (content,) = result.content
                assert isinstance(content, TextContent)
                return bool(result.is_error), content.text

            await work(call, client)

    asyncio.run(main())


@pytest.fixture
def server() -> Any:
    """The module of the server, imported by tests that need it: the SDK takes more than a second."""
    return importlib.import_module("jsdoctor.cli.mcp.server")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "nats.log").write_text(LOG)
    (tmp_path / "outside.log").write_text(LOG)
    return tmp_path


def test_files_pages_and_refusals(place: Path) -> None:
    async def work(call: Call, client: Any) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"check", "diagnose", "preflight", "explain", "audit", "rules_list"}
        assert all(tool.annotations.read_only_hint for tool in tools.values())
        assert tools["check"].input_schema["properties"]["samples"]["maximum"] == 5

        failed, text = await call("audit", paths=["nats.log"])
        short = json.loads(text)
        assert (failed, short["incidents"][0]["code"], len(text) < 3_000) == (False, "JSD702", True)
        failed, text = await call("audit", paths=["nats.log"], details=True)
        report = json.loads(text)
        alone = jsdoctor("audit", "--engine", "local", "nats.log", "--format", "json", cwd=place / "logs")
        assert (failed, report["exit_code"]) == (False, alone.returncode)
        assert report["summary"]["rules"] == json.loads(alone.stdout)["summary"]["rules"]
        assert report["results"][0]["outcome"] == "fail"
        assert SECRET not in text

        failed, text = await call("explain", name="JSD403")
        assert not failed
        assert "JSD403" in text
        (page,) = (await client.read_resource("jsdoctor://rules/JSD403")).contents
        assert page.text.startswith("# JSD403")
        failed, text = await call("rules_list", matching="JSD40")
        rules = json.loads(text)["rules"]
        assert {rule["code"] for rule in rules} >= {"JSD401", "JSD403"}
        assert all("JSD40" in rule["code"] for rule in rules)
        failed, text = await call("diagnose", text="nats: wrong last sequence: 5123", offline=True)
        assert (failed, bool(json.loads(text)["symptom"])) == (False, True)
        # A text that is the name of a file is still a text.
        _, text = await call("diagnose", text=str(place / "outside.log"), offline=True)
        assert "quorum" not in text

        for path in ("../outside.log", str(place / "outside.log"), "missing.log", "s3://bucket/log", "*.log", ""):
            failed, text = await call("audit", paths=[path])
            assert failed
            assert "--root" in text
        for wrong in ("--apply", "JSD1 --fix", f"nats://app:{SECRET}@host"):
            failed, text = await call("check", select=[wrong])
            assert failed
            assert SECRET not in text

    served(work, place, "--root", str(place / "logs"))


@pytest.mark.real
def test_live_deployment_within_limits(cluster_factory: ClusterFactory, place: Path) -> None:
    cluster = cluster_factory()

    async def work(call: Call, client: Any) -> None:
        failed, text = await call("check", samples=1)
        assert (failed, json.loads(text)["incidents"]) == (False, [])
        assert json.loads((await call("preflight", without=["n1"]))[1])["verdict"] == "go", "it has no stream"
        failed, text = await call("check", samples=1, details=True)
        report = json.loads(text)
        assert not failed
        assert len(text.encode()) <= 9_000
        assert report["deployment"] is not None or report["sources"]
        counts = report["shortened"]["rules"]
        assert counts["shown"] == len(report["rules"]) < counts["total"] == sum(report["summary"]["rules"].values())

    served(work, place, "--server", cluster.url("sys"), "--max-bytes", "9000")


QUERY = ("--loki-query", '{app="nats"}')


def test_lines_of_loki(place: Path) -> None:
    """The findings are those of the command; a client chooses times, and neither the address nor the query."""
    loki = DocumentedLoki()
    ship(
        lambda labels, lines: loki.push(labels, list(lines)), incidents_of("2.15.1")["l4-partition"], time.time_ns() - S
    )

    reports: dict[str, Any] = {}

    async def work(call: Call, client: Any) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools["audit"].annotations.open_world_hint
        assert not [name for tool in tools.values() for name in tool.input_schema["properties"] if "url" in name]
        whole = {"details": True}
        for name, more in (("audit", whole), ("check", whole), ("diagnose", {"text": "no quorum", "offline": True})):
            loki.requests.clear()
            failed, text = await call(name, loki=True, since="2h", **more)
            report = json.loads(text)
            assert not failed, text
            reports[name] = report
            assert any(source["kind"] == "loki" for source in report["sources"])
            assert SECRET not in text
            assert all(headers["authorization"] == f"Bearer {SECRET}" for _, _, headers in loki.requests)
            assert {form["query"] for path, form, _ in loki.requests if "query" in form} == {QUERY[1]}
            times = [int(form[name]) for _, form, _ in loki.requests for name in ("start", "end")]
            assert max(times) - min(times) == pytest.approx(2 * 3600 * S, rel=0.01)
        loki.requests.clear()
        failed, text = await call("audit", paths=["nats.log"])
        assert not failed
        assert not loki.requests, "Loki is queried on request only"
        for wrong in ("1h --loki=http://other", '{app="other"}'):
            failed, text = await call("audit", loki=True, since=wrong)
            assert failed

    with serving(loki) as url:
        options = ("--loki", url, *QUERY, "--root", str(place / "logs"))
        served(work, place, *options, "--max-bytes", "1000000", LOKI_BEARER_TOKEN=SECRET)
        served(work, place, *options, "--max-bytes", "1000000", "--loki-token", SECRET)
        audited = jsdoctor(
            "audit", "--engine=local", "--loki", url, *QUERY, "--format", "json", "--isolated", cwd=place
        )
    wanted = {(rule["code"], rule["outcome"]) for rule in json.loads(audited.stdout)["rules"]}
    assert {(rule["code"], rule["outcome"]) for rule in reports["audit"]["rules"]} == wanted


def test_what_is_not_read_of_loki_is_a_gap_and_a_slow_one_is_ended(place: Path) -> None:
    loki, temporary = DocumentedLoki(), place / "tmp"
    temporary.mkdir()

    async def nothing(call: Call, client: Any) -> None:
        failed, text = await call("audit", loki=True)
        report = json.loads(text)
        assert (failed, report["exit_code"]) == (False, 3)
        assert any("Loki has no line of" in reason for reason in report["not_seen"])

    async def too_slow(call: Call, client: Any) -> None:
        failed, text = await call("audit", loki=True)
        assert failed
        assert "was ended" in text

    with serving(loki) as url:
        served(nothing, place, "--loki", url, *QUERY)
        loki.before = lambda *_: time.sleep(6)
        served(too_slow, place, "--loki", url, *QUERY, "--max-time", "4s", TMPDIR=str(temporary))
    assert loki.requests
    assert not [path for path in temporary.iterdir() if "loki" in path.name], "an ended command leaves no lines behind"


def test_without_loki_none_is_read(place: Path) -> None:
    async def work(call: Call, client: Any) -> None:
        failed, text = await call("check", loki=True)
        assert failed
        assert "the person who starts the server names it with --loki" in text

    served(work, place)
    done = jsdoctor("mcp", "--loki", "http://h:3100", "--loki-token", SECRET, cwd=place)
    assert done.returncode == 2
    assert SECRET not in done.stderr


def test_a_call_that_takes_too_long_is_ended(place: Path) -> None:
    async def work(call: Call, client: Any) -> None:
        failed, text = await call("explain", name="JSD403")
        assert failed
        assert "was ended" in text

    served(work, place, "--max-time", "10ms")


def test_a_link_does_not_lead_out_of_the_directories(server: Any, place: Path) -> None:
    roots = (place / "logs",)
    assert server.allowed_path(".", roots) == str(place / "logs")
    (place / "logs" / "link").symlink_to(place / "outside.log")
    for given in (".", "link"):
        with pytest.raises(UsageProblem):
            server.allowed_path(given, roots)
    with pytest.raises(UsageProblem):
        server.allowed_path("nats.log", ())


def test_what_is_cut_is_counted(server: Any) -> None:
    document = {"summary": {"n": 3}, "results": [{"outcome": "pass", "text": "x" * 90}] * 90 + [{"outcome": "fail"}]}
    text = server.answer(document, 2_000)
    shown = json.loads(text)
    assert len(text) <= 2_000
    assert shown["results"][0] == {"outcome": "fail"}
    assert shown["shortened"]["results"] == {"shown": len(shown["results"]), "total": 91}
    assert json.loads(server.answer({"one": "x" * 5_000}, 2_000))["shortened"]["bytes"]["shown"] == 0


def test_a_root_that_is_no_directory_is_refused(tmp_path: Path) -> None:
    done = jsdoctor("mcp", "--root", "missing", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "missing is no directory" in done.stderr


def test_without_the_extra_an_error_names_how_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "mcp.py").write_text("raise ModuleNotFoundError(\"No module named 'mcp'\", name='mcp')\n")
    done = jsdoctor("mcp", cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 2
    assert "jsdoctor[mcp]" in done.stderr


def test_tools_start_commands_that_read_only(server: Any, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Sequence[str]] = []

    async def record(arguments: Sequence[str], seconds: float, env: Mapping[str, str]) -> Any:
        started.append(arguments)
        return server.Finished(0, '{"rules": [], "incidents": [], "gaps": [], "summary": {}}', "")

    monkeypatch.setattr("jsdoctor.cli.mcp.server.run_command", record)
    tools = server.Tools(McpSettings(roots=(place / "logs",)))
    asyncio.run(tools.check())
    asyncio.run(tools.check(logs=["nats.log"]))
    asyncio.run(tools.diagnose("--apply"))
    asyncio.run(tools.explain("JSD403"))
    asyncio.run(tools.audit(["nats.log"]))
    asyncio.run(tools.rules_list())
    asyncio.run(server.Tools(McpSettings(loki=("--loki=http://h", "--loki-query={}"))).audit(loki=True))
    assert [words[0] for words in started] == ["check", "check", "diagnose", "explain", "audit", "rules", "audit"]
    options = {word.partition("=")[0] for words in started for word in words[1:] if word.startswith("--")}
    assert options == {
        "--",
        "--apply\n",
        "--samples",
        "--format",
        "--logs",
        "--color",
        "--engine",
        "--loki",
        "--loki-query",
    }
    assert started[2][-2:] == ["--", "--apply\n"], "the text is no option"
    assert set(tools.all()) == {"check", "diagnose", "preflight", "explain", "audit", "rules_list"}
