"""Every benchmark in its smallest form: that it measures, says so, and notices when it cannot. No figure is judged."""

import sys
from pathlib import Path

import pytest

from bench import __main__ as program
from bench import commands, large_cluster, startup
from bench.commands import check_json
from bench.process import CannotMeasureError, run
from tests.servers import ClusterFactory

TINY = ("--streams", "10", "--consumers", "2", "--rounds", "1", "--start-rounds", "1")


def measured(output: str) -> dict[str, str]:
    """The rows of all printed tables by their first column."""
    return dict(line.split("  ", 1) for line in output.splitlines() if "  " in line.strip() and line[0] != " ")


def test_run_takes_what_the_process_used() -> None:
    done = run([sys.executable, "-c", "print(len(bytes(range(256)) * 400_000)); sum(range(2_000_000))"])
    assert done.stdout == b"102400000\n"
    assert done.peak_rss_bytes > 102_400_000
    assert done.cpu_s > 0
    assert done.seconds > 0


def test_run_does_not_take_a_failure_for_a_fast_run() -> None:
    failing = [sys.executable, "-c", "import sys; print('no such thing', file=sys.stderr); sys.exit(3)"]
    with pytest.raises(CannotMeasureError, match=r"exit code 3: no such thing"):
        run(failing)
    run(failing, accept=(3,))


def test_startup(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["--only", "startup", *TINY]) == 0
    rows = measured(capsys.readouterr().out)
    for name in startup.SUBJECTS:
        assert " ms (" in rows[name]


def test_a_missed_limit_fails_only_when_strict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    of_no_time = {"jsdoctor --version": startup.Subject([commands.JSDOCTOR, "--version"], limit_s=0.0)}
    monkeypatch.setattr(startup, "SUBJECTS", of_no_time)
    assert program.main(["--only", "startup", *TINY]) == 0
    assert program.main(["--only", "startup", "--strict", *TINY]) == 1
    assert capsys.readouterr().out.count("MISS") == 2


@pytest.mark.real
@pytest.mark.nightly
@pytest.mark.usefixtures("nats_cli")
def test_growth_large_cluster_and_captured(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (*_, cheapest) = large_cluster.PEERS.items()  # with its default options `nats audit gather` takes 20 s
    monkeypatch.setattr(large_cluster, "PEERS", dict([cheapest]))
    assert program.main(["--only", "growth", "--only", "large_cluster", "--only", "captured", *TINY]) == 0
    output = capsys.readouterr().out
    rows = measured(output)
    for size in ("no streams", "1 x 2", "10 x 2"):
        assert " s (" in rows[size]
    assert " s (" in rows["jsdoctor check, two samples, no waiting"]
    assert " s (" in rows[cheapest[0]]
    assert " MB" in rows["peak memory of jsdoctor, all runs"]
    for what in ("the same archive", "a bundle of one sample", "a bundle of two samples"):
        assert " s (" in rows[f"jsdoctor check, {what}"]
    assert " s (" in rows["nats audit analyze, its archive"]
    assert output.count("  times analyze ") == 3
    assert any(name.startswith("floor: the same ") for name in rows)
    assert "10 streams, 20 consumers, 3 servers" in output
    assert "10 streams, 20 consumers, server " in output
    # The deployment has faults, so that reports are as long as they are on sick clusters.
    assert any(name.startswith("text report: ") and not name.startswith("text report: 0 ") for name in rows)


@pytest.mark.real
@pytest.mark.nightly
def test_largest(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["--only", "largest", "--largest-streams", "10", *TINY]) == 0
    output = capsys.readouterr().out
    rows = measured(output)
    assert " s (" in rows["jsdoctor check, one sample"]
    assert " MB" in rows["peak memory of jsdoctor, all formats"]
    assert "10 streams, 20 consumers, 3 servers" in output
    # As many replies as a check gets: a request that the floor leaves out would flatter it.
    (floor,) = [name for name in rows if name.startswith("floor: the same ")]
    assert floor.split()[3] == "36"


@pytest.mark.real
def test_a_report_about_something_else_is_not_measured(shared_cluster: ClusterFactory) -> None:
    with pytest.raises(CannotMeasureError, match="something else than what was created"):
        check_json(shared_cluster().url("sys"), 1000, 10_000)


def test_without_the_nats_command_the_figure_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(commands, "NATS", tmp_path / "nats")
    with pytest.raises(CannotMeasureError, match="make natscli"):
        commands.audit("nats://127.0.0.1:1", 0, tmp_path / "archive.zip")


def test_what_cannot_be_measured_is_reported_and_changes_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        startup, "SUBJECTS", {"jsdoctor --version": startup.Subject([tmp_path / "jsdoctor", "--version"])}
    )
    assert program.main(["--only", "startup", *TINY]) == 3
    assert "startup could not be measured" in capsys.readouterr().out
