"""NTP: the real protocol over UDP with servers that answer rightly, wrongly, late, or not at all."""

import asyncio
import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from jsdoctor.demo.server import free_ports
from jsdoctor.model.clock import NtpTime
from jsdoctor.model.gap import Gap
from jsdoctor.model.problems import UsageProblem
from jsdoctor.replies.clock import ntp_time
from jsdoctor.sources.clock.ntp import ask_ntp
from jsdoctor.sources.clock.ntp_host import NtpHost, parse_ntp_host
from jsdoctor.sources.servers.collection_result import CollectionResult
from tests.clock import clock_shifter
from tests.clock.ntp_server import ntp_server
from tests.servers import wait_until

SHORT_S = 0.5
"""For those who never give a usable answer; all others get as long as a busy machine may need."""
SECOND_NS = 1_000_000_000


def query(*hosts: str, wait_s: float = 2.0) -> tuple[NtpTime | None, list[Gap], CollectionResult]:
    """True time as those servers have it, what was not believed or not answered, and what was brought in."""
    collection = asyncio.run(ask_ntp([parse_ntp_host(host) for host in hosts], wait_s))
    ntp, gaps = ntp_time(collection.exchanges)
    return ntp, [*collection.gaps, *gaps], collection


def is_within(ntp: NtpTime | None, ahead_s: float) -> bool:
    return ntp is not None and ntp.offset.low_ns <= ahead_s * SECOND_NS <= ntp.offset.high_ns


@pytest.mark.parametrize("ahead_s", [0, 0.25, -5, 3600, -90_000])
def test_true_time_is_within_the_bound(ahead_s: float) -> None:
    with ntp_server("good", ahead_s) as host:
        ntp, gaps, _ = query(host)
    assert is_within(ntp, ahead_s), ntp
    assert gaps == []
    assert ntp is not None
    assert (ntp.sources, ntp.outvoted) == ((host,), ())
    assert ntp.offset.bound_ns < SECOND_NS


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("kiss", "kiss-o'-death RATE"),
        ("unsynchronised", "not synchronised (leap 3, stratum 2)"),
        ("stratum16", "not synchronised (leap 0, stratum 16)"),
        ("spoofed", "does not repeat the number"),
        ("broadcast", "does not repeat the number"),
        ("garbled", "does not repeat the number"),
        ("backwards", "they leave no time for the way"),
        ("vague", "vouches for its time to no better than 3s"),
        ("late", "not for this question"),
        ("silent", "no response within 0.5 s"),
        ("short", "no response within 0.5 s"),
    ],
)
def test_what_cannot_be_believed_is_a_gap_with_the_reason(mode: str, reason: str) -> None:
    with ntp_server(mode) as host:
        ntp, gaps, _ = query(host, wait_s=SHORT_S)
    assert ntp is None
    ((kind, subject, gap_reason, requested),) = [(g.kind, g.subject.label, g.reason, g.requested) for g in gaps]
    assert (kind, subject, requested) == ("ntp", f"NTP server {host}", True)
    assert reason in gap_reason


def test_a_spoofed_reply_before_the_true_one_changes_nothing() -> None:
    with ntp_server("lying_then_good") as host:
        ntp, gaps, _ = query(host)
    assert is_within(ntp, 0)
    assert gaps == []


def test_nobody_listens_and_nobody_is_called_so() -> None:
    (port,) = free_ports(1)
    ntp, gaps, collection = query(f"127.0.0.1:{port}", "nobody.invalid")
    assert ntp is None
    assert collection.exchanges == []
    assert ["refused" in gaps[0].reason, "cannot be queried" in gaps[1].reason] == [True, True], gaps


def test_a_majority_outvotes_a_liar_and_names_it() -> None:
    with ntp_server() as true, ntp_server("good", 7.0) as liar, ntp_server() as other:
        ntp, gaps, _ = query(true, liar, other)
    assert is_within(ntp, 0)
    assert ntp is not None
    assert (ntp.sources, ntp.outvoted) == ((true, other), (liar,))
    ((reason, requested),) = [(gap.reason, gap.requested) for gap in gaps]
    assert liar in gaps[0].subject.name
    assert "contradicts the 2 others" in reason
    assert not requested


def test_two_that_contradict_each_other_prove_nothing() -> None:
    with ntp_server() as first, ntp_server("good", 7.0) as other:
        ntp, gaps, _ = query(first, other)
    assert ntp is None
    assert [gap.requested for gap in gaps] == [True]
    assert all(host in gaps[0].reason for host in (first, other))


def test_the_good_ones_count_beside_those_that_fail() -> None:
    with ntp_server("good", 2.0) as good, ntp_server("kiss") as kiss, ntp_server("silent") as silent:
        ntp, gaps, _ = query(good, kiss, silent)
    assert is_within(ntp, 2)
    assert sorted(gap.subject.name for gap in gaps) == sorted(f"NTP server {host}" for host in (kiss, silent))


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("ntp.example", ("ntp.example", 123)),
        ("ntp.example:1123", ("ntp.example", 1123)),
        ("192.0.2.1", ("192.0.2.1", 123)),
        ("2001:db8::1", ("2001:db8::1", 123)),
        ("[2001:db8::1]:99", ("2001:db8::1", 99)),
    ],
)
def test_hosts_as_people_write_them(text: str, host: tuple[str, int]) -> None:
    assert parse_ntp_host(text) == NtpHost(text, *host)


@pytest.mark.parametrize("text", ["", " ", "http://ntp.example", "a b", "host:port", "host:0", "host:99999", "u@host"])
def test_what_is_no_host(text: str) -> None:
    with pytest.raises(UsageProblem, match="--ntp"):
        parse_ntp_host(text)


@pytest.mark.skipif(not shutil.which("chronyd"), reason="chronyd is not installed")
@pytest.mark.skipif(os.geteuid() != 0, reason="chronyd needs root here")
@pytest.mark.parametrize("ahead_s", [0, 5, -3600])
def test_a_real_chronyd_whose_clock_is_off(tmp_path: Path, ahead_s: float) -> None:
    """Off by less than a second it would go on dating what it receives by the kernel's clock, which is right."""
    shift_clock = clock_shifter(tmp_path)
    with chronyd(tmp_path) as (pid, host):
        shift_clock(pid, ahead_s)
        ntp, gaps, _ = query(host)
    assert is_within(ntp, ahead_s), ntp
    assert gaps == []


@contextlib.contextmanager
def chronyd(directory: Path) -> Iterator[tuple[int, str]]:
    """A chronyd that serves its own clock on loopback and sets none. Gives its process id and `HOST:PORT`."""
    (port,) = free_ports(1)
    config = directory / "chrony.conf"
    lines: Sequence[str] = (f"port {port}", "bindaddress 127.0.0.1", "local stratum 8", "allow 127.0.0.1", "cmdport 0")
    config.write_text("\n".join((*lines, "bindcmdaddress /", f"pidfile {directory}/chronyd.pid")) + "\n")
    command = ["chronyd", "-x", "-d", "-u", "root", "-f", str(config)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: query(f"127.0.0.1:{port}")[0] is not None, "chronyd to serve time")
            yield process.pid, f"127.0.0.1:{port}"
        finally:
            process.kill()
