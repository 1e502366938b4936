"""`jsdoctor check --pcap` as a person types it: reports, exit codes, problems."""

import fcntl
import gzip
import json
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from tests.cli.invoke import jsdoctor
from tests.support.packet_cases import capture_path

PASSWORD = "correct-horse-battery-staple"


def test_a_capture_alone_is_judged(tmp_path: Path) -> None:
    done = jsdoctor("check", "--pcap", str(capture_path("nats-retry.client")), "--format", "json", cwd=tmp_path)
    report = json.loads(done.stdout)
    assert done.returncode == 1
    assert report["sources"][0]["kind"] == "pcap"
    codes = {result["code"] for result in report["results"] if result["outcome"] == "fail"}
    assert codes == {"JSD308", "JSD502", "JSD504", "JSD515", "JSD517"}
    judged = {verdict["code"] for verdict in report["rules"]} if "rules" in report else set()
    assert not judged & {"JSD403", "JSD601"}, "no rule is named of which packets cannot tell"


def test_a_clean_network_is_reported_as_clean(tmp_path: Path) -> None:
    done = jsdoctor("check", "--pcap", str(capture_path("nats-clean.client")), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_both_ends_of_a_connection(tmp_path: Path) -> None:
    files = [str(capture_path(f"nats-retry.{end}")) for end in ("client", "server")]
    done = jsdoctor(
        "check", "--pcap", files[0], "--pcap", files[1], "--format", "json", "--select", "JSD502", cwd=tmp_path
    )
    messages = [result["message"] for result in json.loads(done.stdout)["results"]]
    assert len(messages) == 2
    assert all("as two captures show" in message for message in messages), messages


def test_with_a_bundle_or_logs_it_is_one_report(tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text("2026-11-21 16:04:50,289 ERROR nats: timeout\n")
    capture = str(capture_path("nats-clean.client"))
    done = jsdoctor("check", "--pcap", capture, "--logs", "app.log", "--format", "json", cwd=tmp_path)
    assert {source["kind"] for source in json.loads(done.stdout)["sources"]} == {"pcap", "logs"}


def test_a_password_on_the_wire_is_not_in_the_report(tmp_path: Path) -> None:
    capture = capture_path("own-permissions")
    assert PASSWORD.encode() in gzip.decompress(capture.read_bytes())
    done = jsdoctor("check", "--pcap", str(capture), "-vv", "--format", "json", cwd=tmp_path)
    assert "limited" in done.stdout
    assert PASSWORD not in done.stdout + done.stderr


def test_a_file_that_ends_early_is_judged_as_far_as_it_goes(tmp_path: Path) -> None:
    raw = gzip.decompress(capture_path("nats-clean.client").read_bytes())
    (tmp_path / "cut.pcap").write_bytes(raw[:-20])
    done = jsdoctor("check", "--pcap", "cut.pcap", "--format", "json", cwd=tmp_path)
    assert done.returncode == 0
    results = json.loads(done.stdout)["results"]
    assert [result["code"] for result in results if result["severity"] != "info"] == ["JSD903"]


def test_what_is_no_capture_makes_the_run_inconclusive(tmp_path: Path) -> None:
    (tmp_path / "x.pcap").write_text("hello, world\n" * 10)
    done = jsdoctor("check", "--pcap", "x.pcap", cwd=tmp_path)
    assert done.returncode == 3, done.stdout + done.stderr


@pytest.mark.parametrize(("arguments", "message"), [(["--pcap", "nowhere.pcap"], "no such file")])
def test_mistakes_are_reported_in_a_sentence(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = jsdoctor("check", *arguments, cwd=tmp_path)
    assert done.returncode in (2, 3)
    assert message in done.stderr


def test_a_pipe_is_read_as_it_comes_and_ctrl_c_ends_it_with_a_report(tmp_path: Path) -> None:
    """As of `tcpdump -i any -U -w - port 4222 | jsdoctor check --pcap -`: both get the signal, and tcpdump ends."""
    raw = gzip.decompress(capture_path("own-healthy").read_bytes())
    command = [sys.executable, "-m", "jsdoctor", "check", "--pcap", "-", "--format", "json", "--isolated"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path, bufsize=0) as process:
        assert process.stdin is not None
        pipe = process.stdin.fileno()
        for at in range(0, len(raw), 5_000):
            process.stdin.write(raw[at : at + 5_000])
        deadline = time.monotonic() + 30
        while waiting(pipe) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not waiting(pipe), "it is read before the pipe ends"
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        output, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    (traffic,) = json.loads(output)["traffic"]
    assert (traffic["published"], traffic["delivered"]) == (100, 200)


def waiting(pipe: int) -> int:
    """How many bytes nobody has read yet."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_no_capture_no_scapy(tmp_path: Path) -> None:
    """Captures are read without the extra: only listening and foreign formats need it."""
    capture = str(capture_path("nats-clean.client"))
    program = (
        "import sys; sys.modules['scapy'] = None; from jsdoctor.cli.app import run;"
        f"sys.exit(run(['check', '--pcap', {capture!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr


def test_a_healthy_capture_has_a_summary_of_its_traffic(tmp_path: Path) -> None:
    capture = str(capture_path("own-healthy"))
    done = jsdoctor("check", "--pcap", capture, "--format", "json", cwd=tmp_path)
    (traffic,) = json.loads(done.stdout)["traffic"]
    assert (traffic["published"], traffic["delivered"], traffic["publish_acks"]["count"]) == (100, 200, 100)
    assert traffic["subjects"] == [{"name": "WORK.large", "count": 60}, {"name": "WORK.new", "count": 40}]
    text = jsdoctor("check", "--pcap", capture, cwd=tmp_path).stdout
    assert "published 100, delivered by consumers 200" in text
    assert "consumer WORK/PULL: 100 delivered, 100 acks" in text
