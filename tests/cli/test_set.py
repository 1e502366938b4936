"""Whose threshold counts: command line over configuration over an asset's own metadata over the default of the rule."""

import asyncio
import json
from pathlib import Path
from typing import NamedTuple

import nats
import pytest

from tests.cli.invoke import jsdoctor
from tests.servers import ClusterFactory
from tests.support.deployment import HOUR_NS, add_consumer, add_stream
from tests.support.evidence import cases, evidence_of
from tests.support.ruleset import run_rule

STORED = 20
RULES = [("JSD415", "unprocessed_critical"), ("JSD608", "subjects_critical")]


class Level(NamedTuple):
    """What the command line, the configuration and the metadata say, and whether 20 are too many then."""

    given: tuple[int, ...]
    configured: int | None
    own: str
    too_many: bool


LEVELS = {
    "default: not judged": Level((), None, "none", False),
    "metadata before default": Level((), None, "5", True),
    "configuration before metadata": Level((), 50, "5", False),
    "configuration before metadata, too many": Level((), 5, "50", True),
    "configuration without metadata": Level((), 5, "none", True),
    "command line before configuration": Level((50,), 5, "5", False),
    "command line before configuration, too many": Level((5,), 50, "50", True),
    "switched off": Level((0,), None, "5", False),
    "the last of two": Level((50, 5), None, "50", True),
}


@pytest.fixture(scope="module")
def bundle(shared_cluster: ClusterFactory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture of a real server: three streams with 20 messages, whose metadata says nothing, 5, and 50."""
    cluster, directory = shared_cluster(), tmp_path_factory.mktemp("levels")
    asyncio.run(deploy(cluster.url("app")))
    path = directory / "levels.zip"
    done = jsdoctor("capture", "-s", cluster.url("sys"), "-o", str(path), "--samples", "1", cwd=directory)
    assert done.returncode == 0, done.stderr
    return path


async def deploy(url: str) -> None:
    client = await nats.connect(url)
    try:
        for own in ("none", "5", "50"):
            name = f"LEVELS_{own}"
            await add_stream(client, name, subjects=[f"{name}.>"], max_age=HOUR_NS, metadata=kept(own, "subjects"))
            await add_consumer(client, name, "idle", metadata=kept(own, "unprocessed"))
            for number in range(STORED):
                await client.jetstream().publish(f"{name}.{number}", b"")
    finally:
        await client.close()


def kept(own: str, key: str) -> dict[str, str]:
    return {} if own == "none" else {"io.nats.monitor.enabled": "true", f"io.nats.monitor.{key}-critical": own}


@pytest.mark.real
@pytest.mark.parametrize(("code", "param"), RULES, ids=[code for code, _ in RULES])
@pytest.mark.parametrize("level", LEVELS.values(), ids=LEVELS)
def test_levels(code: str, param: str, level: Level, bundle: Path, tmp_path: Path) -> None:
    if level.configured is not None:
        (tmp_path / "jsdoctor.toml").write_text(f"[rules.{code}]\n{param} = {level.configured}\n")
    settings = [word for value in level.given for word in ("--set", f"{code}.{param}={value}")]
    done = jsdoctor(
        *("check", "--bundle", str(bundle), "--select", code, "--format", "json", "--max-examples", "0", *settings),
        cwd=tmp_path,
    )
    assert done.returncode in (0, 1), done.stderr
    subjects = [result["subject"] for result in json.loads(done.stdout)["results"]]
    failed = [subject for subject in subjects if f"LEVELS_{level.own}" in (subject.get("stream"), subject.get("name"))]
    assert len(failed) == level.too_many


class Same(NamedTuple):
    """A rule that judges the same number: its default gives way to what the stream or consumer says itself."""

    code: str
    asset: str
    key: str
    param: str
    default: int
    measured: int


SAME = [
    Same("JSD401", "APP/ORDERS/archive", "unprocessed", "error_pending", 100_000, 12_000),
    Same("JSD704", "APP/ORDERS", "peer-lag", "fail_lag", 1_000, 5_000),
]


@pytest.mark.parametrize("same", SAME, ids=lambda same: same.code)
@pytest.mark.parametrize("own", [None, -1, 0, 1])
@pytest.mark.parametrize("given", [None, -1, 0, 1])
def test_levels_of_rules_with_defaults(same: Same, own: int | None, given: int | None) -> None:
    """Thresholds one below what was measured, at it, one above it, and not set."""
    case = next(case for case in cases(same.code) if case["kind"] == "fires")
    metadata = {} if own is None else kept(str(same.measured + own), same.key)
    asset = {"consumer" if same.asset.count("/") == 2 else "stream": same.asset}
    evidence = evidence_of({**case, "edit": [*case["edit"], {**asset, "set": {"config.metadata": metadata}}]})
    (result,) = run_rule(same.code, evidence, {} if given is None else {same.param: same.measured + given}).results
    over = given if given is not None else own
    limit = same.default if over is None else same.measured + over
    assert result.severity.value == ("error" if same.measured >= limit else "warning")


@pytest.mark.parametrize(
    ("own", "given", "severity"),
    [
        pytest.param(None, None, "error", id="default: ten minutes"),
        pytest.param("1h", None, "warning", id="metadata"),
        pytest.param("10s", None, "error", id="metadata below the warning"),
        pytest.param("1h", "5m", "error", id="given before metadata"),
        pytest.param("10s", "11m", "warning", id="given before metadata, not reached"),
    ],
)
def test_levels_of_the_silence_of_an_origin(own: str | None, given: str | None, severity: str) -> None:
    case = next(case for case in cases("JSD607") if case["about"] == "not heard for ten minutes")
    metadata = {} if own is None else {"io.nats.monitor.enabled": "true", "io.nats.monitor.seen-critical": own}
    edit = {"stream": "APP/ALL", "set": {"config.metadata": metadata}}
    evidence = evidence_of({**case, "edit": [*case["edit"], edit]})
    (result,) = run_rule("JSD607", evidence, {} if given is None else {"max_silence": given}).results
    assert result.severity.value == severity


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            "JSD401.warn_pendin=5",
            "--set JSD401.warn_pendin: JSD401 has no parameter 'warn_pendin'; did you mean 'warn_p",
        ),
        ("JSD4O3.warn_fraction=1", "no rule is named 'JSD4O3'; did you mean 'JSD403'?"),
        ("consumer-lag-high.warn_pending=many", "'many' is not a number"),
        ("JSD401.warn_pending=0.5", "0.5 is not a whole number"),
        ("JSD401.warn_pending=-5", "-5 is negative"),
        (f"JSD401.warn_pending={'9' * 5000}", "is not a number"),
        ("JSD401.min_wait=5", "5 is not a duration; write it as text, for example"),
        ("JSD401=5", "write CODE.PARAM=VALUE, for example JSD401.warn_pending=5000"),
        ("JSD401.warn_pending", "write CODE.PARAM=VALUE"),
        ("JSD901.warn=1", "JSD901 has no parameter 'warn'; it has none"),
    ],
)
def test_mistakes(setting: str, message: str, tmp_path: Path) -> None:
    done = jsdoctor("check", "-s", "nats://127.0.0.1:1", "--set", setting, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert message in " ".join(done.stderr.split())
    assert not done.stdout
