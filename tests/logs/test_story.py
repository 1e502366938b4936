"""What sequences of lines tell: on logs that real servers wrote, and on lines made from those."""

from pathlib import Path

import pytest

from jsdoctor.model.log import LogEvidence, LogTime
from tests.logs.corpus import REAL, evidence

CLUSTER = [REAL / "2.15.1" / f"c2-n{n}.log" for n in (1, 2, 3)]


def stamped(seconds: float, text: str, pid: int = 1, level: str = "INF") -> bytes:
    minutes, rest = divmod(seconds, 60)
    return b"[%d] 2026/11/21 %02d:%02d:%09.6f [%s] %s\n" % (
        pid,
        10 + int(minutes) // 60,
        int(minutes) % 60,
        rest,
        level.encode(),
        text.encode(),
    )


def banner(seconds: float, name: str, pid: int = 1, version: str = "2.15.1") -> bytes:
    lines = (
        "Starting nats-server",
        f"  Version:  {version}",
        "  Cluster:  C1",
        f"  Name:     {name}",
        "  ID:       NX",
    )
    return b"".join(stamped(seconds, line, pid) for line in lines)


def read(tmp_path: Path, **files: bytes) -> LogEvidence:
    for name, data in files.items():
        (tmp_path / f"{name}.log").write_bytes(data)
    return evidence([tmp_path])


def test_a_killed_server_did_not_end_cleanly() -> None:
    ends = {server: [run.end for run in evidence(CLUSTER).runs_of(server)] for server in ("n1", "n2", "n3")}
    assert ends == {"n1": ["unclean", "open"], "n2": ["unclean", "open"], "n3": ["open"]}
    restarted = evidence(CLUSTER).runs_of("n1")[1]
    assert (restarted.recovered, restarted.bootstrapped, restarted.version) == (True, False, "2.15.1")
    assert evidence(CLUSTER).runs_of("n1")[0].bootstrapped


@pytest.mark.parametrize("version", ["2.10.26", "2.15.1"])
def test_lame_duck_is_no_crash(version: str) -> None:
    log_evidence = evidence(sorted((REAL / version).glob("l5-lameduck_*.log")))
    assert "lame duck" in {run.end for run in log_evidence.runs}
    assert not {"unclean", "failed", "interrupted"} & {run.end for run in log_evidence.runs}
    assert log_evidence.crash_loops == ()
    assert log_evidence.clock_steps == ()
    assert all(run.jetstream_stopped is None for run in log_evidence.runs)


def test_lost_messages_show_in_restored_counts(tmp_path: Path) -> None:
    real = (REAL / "2.15.1" / "l3-flip_bits_noindex_n1.log").read_bytes()
    assert real.count(b"Restored 1,000 messages") == 1
    before = real.replace(b"Restored 1,000 messages", b"Restored 3,000 messages")
    (fall,) = read(tmp_path, n1=before + real).restored_falls
    assert (fall.server, fall.account, fall.stream, fall.before, fall.after) == ("n1", "APP", "S", 3000, 1000)
    assert fall.after_line.line > fall.before_line.line
    assert read(tmp_path, n1=real + before).restored_falls == ()
    falling = [f"  Restored {9 - n} messages for stream 'A > S' in 1ms" for n in range(5)]
    again = b"".join(stamped(n, text) for n, text in enumerate(falling))
    assert read(tmp_path, n1=banner(0, "n1") + again).restored_falls == ()


@pytest.mark.parametrize("version", ["2.10.26", "2.15.1"])
def test_one_machine_has_one_clock(version: str) -> None:
    log_evidence = evidence(sorted((REAL / version).glob("c2-*.log")))
    assert log_evidence.clock_steps == ()
    assert len(log_evidence.offsets) == 6
    assert all(abs(pair.skew_us) <= pair.uncertainty_us and pair.zone_us == 0 for pair in log_evidence.offsets)


def test_meta_elections_are_counted_once() -> None:
    log_evidence = evidence(CLUSTER)
    elections = (b"cluster new metadata leader: ", b"Self is new JetStream cluster metadata leader")
    seen = {path.name: sum(map(path.read_bytes().count, elections)) for path in CLUSTER}
    meta = next(group for group in log_evidence.leaderships if group.kind == "meta")
    assert max(seen.values()) <= meta.changes < sum(seen.values())
    stream = [group for group in log_evidence.leaderships if group.kind == "stream"]
    lines = sum(path.read_bytes().count(b"new stream leader") for path in CLUSTER)
    assert sum(group.changes for group in stream) == lines > 0


@pytest.mark.parametrize("version", ["2.10.26", "2.15.1"])
def test_partition_is_an_interval_that_ended(version: str) -> None:
    log_evidence = evidence(sorted((REAL / version).glob("l4-partition_*.log")))
    intervals = log_evidence.intervals_of("t-no-meta-leader")
    assert intervals
    assert all(interval.resolved is not None and interval.duration_ns >= 0 for interval in intervals)
    quorum = log_evidence.intervals_of("t-stream-quorum-lost")
    assert quorum
    assert {interval.logged_by for interval in quorum} == {"n3"}


def test_a_clock_set_back_inside_a_process(tmp_path: Path) -> None:
    log = banner(0, "n1") + b"".join(stamped(s, "line") for s in (10, 20, 30))
    log += b"".join(stamped(s, "line") for s in (-60 + 40, -60 + 50, 300))
    log_evidence = read(tmp_path, n1=log)
    (step,) = log_evidence.clock_steps
    assert (step.server, step.step_ns, step.only) == ("n1", -50_000_000_000, True)
    assert step.exemplar.line == 9
    (gap,) = log_evidence.gaps
    assert gap.duration_ns == 310_000_000_000


def test_restarts_and_rotation_are_no_clock_steps(tmp_path: Path) -> None:
    early = (
        banner(100, "n1")
        + stamped(200, "line")
        + b'[1] 2026/11/21 09:00:00.000000 [INF] Rotated log, backup saved as "x"\r\n'
    )
    log_evidence = read(tmp_path, n1=early + stamped(201, "line") + banner(50, "n1") + stamped(60, "line"))
    assert log_evidence.clock_steps == ()
    assert len(log_evidence.runs) == 2


def test_summer_time_ends(tmp_path: Path) -> None:
    (step,) = read(tmp_path, n1=banner(0, "n1") + stamped(7100, "line") + stamped(3505, "line")).clock_steps
    assert step.step_ns == pytest.approx(-3_600_000_000_000, abs=60_000_000_000)


def test_crash_loop(tmp_path: Path) -> None:
    log_evidence = read(tmp_path, n1=b"".join(banner(60 * n, "n1", pid=100 + n) for n in range(5)))
    (loop,) = log_evidence.crash_loops
    assert (loop.server, loop.starts, loop.unclean) == ("n1", 5, 4)
    slow = read(tmp_path, n1=b"".join(banner(500 * n, "n1", pid=100 + n) for n in range(5)))
    assert slow.crash_loops == ()


def test_ends_of_processes(tmp_path: Path) -> None:
    clean = stamped(10, "Initiating Shutdown...") + stamped(11, "Server Exiting..")
    failed = stamped(130, "Can't start JetStream: no", 3, "FTL")
    log = banner(0, "n1") + clean + banner(60, "n1", 2) + stamped(70, "Initiating Shutdown...", 2)
    log += (
        banner(120, "n1", 3)
        + failed
        + banner(180, "n1", 4)
        + b"panic: boom\n\ngoroutine 7 [running]:\n"
        + banner(240, "n1", 5)
    )
    runs = read(tmp_path, n1=log).runs
    assert [run.end for run in runs] == ["clean", "interrupted", "failed", "unclean", "open"]
    assert runs[2].fatal == "Can't start JetStream: no"
    assert runs[3].panic == "panic: boom"
    assert runs[3].last == runs[3].started


def test_jetstream_stopped_on_a_server_that_goes_on(tmp_path: Path) -> None:
    log = banner(0, "n1") + stamped(10, "Initiating JetStream Shutdown...") + stamped(500, "line")
    stopped = read(tmp_path, n1=log).runs[0].jetstream_stopped
    assert stopped is not None
    log += banner(600, "n1", 2) + stamped(610, "Initiating JetStream Shutdown...", 2)
    log += stamped(610.2, "Initiating Shutdown...", 2) + stamped(611, "Server Exiting..", 2)
    assert [run.jetstream_stopped is None for run in read(tmp_path, n1=log).runs] == [False, True]


def elections(name: str, shift: float) -> bytes:
    log = banner(shift, name)
    for at, leader in ((100, "n1"), (350, "n2"), (420, "n3"), (900, "n1")):
        own = leader == name
        text = (
            "Self is new JetStream cluster metadata leader"
            if own
            else f"JetStream cluster new metadata leader: {leader}/C1"
        )
        log += stamped(at + shift, text)
    return log


def test_a_clock_that_is_wrong_and_a_zone_that_is_not(tmp_path: Path) -> None:
    log_evidence = read(tmp_path, n1=elections("n1", 0), n2=elections("n2", 7.5), n3=elections("n3", 3600))
    skewed, zoned = log_evidence.offset("n1", "n2"), log_evidence.offset("n1", "n3")
    assert skewed is not None
    assert zoned is not None
    assert (skewed.offset_us, skewed.skew_us, skewed.zone_us, skewed.events) == (7_500_000, 7_500_000, 0, 4)
    assert (zoned.offset_us, zoned.skew_us, zoned.zone_us) == (3_600_000_000, 0, 3_600_000_000)
    assert skewed.uncertainty_us <= 1_000_000
    back = log_evidence.offset("n2", "n1")
    assert back is not None
    assert back.offset_us == -7_500_000
    (meta,) = [group for group in log_evidence.leaderships if group.kind == "meta"]
    assert (meta.changes, meta.leaders) == (4, (("n1", 2), ("n2", 1), ("n3", 1)))


def test_unresolved_failure(tmp_path: Path) -> None:
    lost = "JetStream cluster stream 'A > S' has NO quorum, stalled"
    log = banner(0, "n1") + stamped(10, lost, level="WRN") + stamped(15, lost, level="WRN")
    (interval,) = read(tmp_path, n1=log + stamped(900, "line")).intervals
    assert (interval.resolved, interval.count, interval.duration_ns) == (None, 2, 5_000_000_000)
    assert interval.log_end is not None
    assert interval.log_end.us - interval.began.us == 890_000_000
    leader = stamped(40, "JetStream cluster new stream leader for 'A > S'")
    (interval,) = read(tmp_path, n1=log + leader).intervals
    assert (interval.resolved_by, interval.duration_ns) == ("@stream-leader", 30_000_000_000)
    other = stamped(40, "JetStream cluster new stream leader for 'A > T'")
    assert read(tmp_path, n1=log + other).intervals[0].resolved is None


def test_a_failure_that_comes_back_is_another_interval(tmp_path: Path) -> None:
    """Even within five minutes: what lies between the end of one and the beginning of the next was no trouble."""
    lost = "JetStream cluster stream 'A > S' has NO quorum, stalled"
    leader = "JetStream cluster new stream leader for 'A > S'"
    lines = (stamped(10, lost, level="WRN"), stamped(14, leader), stamped(130, lost, level="WRN"), stamped(131, leader))
    intervals = read(tmp_path, n1=banner(0, "n1") + b"".join(lines)).intervals
    assert [interval.duration_ns for interval in intervals] == [4_000_000_000, 1_000_000_000]


def test_what_ends_on_another_server_counts_only_when_clocks_compare(tmp_path: Path) -> None:
    lost = "JetStream cluster stream 'A > S' has NO quorum, stalled"
    leader = stamped(1040, "JetStream cluster new stream leader for 'A > S'")
    incident = stamped(1010, lost, level="WRN")
    alone = read(tmp_path, n1=banner(0, "n1") + incident, n2=banner(0, "n2") + leader)
    assert alone.intervals[0].resolved is None
    compared = read(tmp_path, n1=elections("n1", 0) + incident, n2=elections("n2", 0) + leader)
    assert compared.intervals[0].resolved == LogTime(compared.intervals[0].began.us + 30_000_000)


def test_a_month_of_failures_stays_small(tmp_path: Path) -> None:
    day = b"".join(stamped(30 * n, "Healthcheck failed: 1 errors", level="WRN") for n in range(1680))
    log = b"".join(day.replace(b"2026/11/21", b"2026/11/%02d" % n) for n in range(1, 29))
    log_evidence = read(tmp_path, n1=log)
    (occurrence,) = log_evidence.occurrences("t-healthcheck")
    assert occurrence.count == occurrence.dated == 28 * 1680
    assert sum(bucket.count for bucket in occurrence.histogram) == occurrence.count
    assert len(occurrence.histogram) <= 512
    assert occurrence.bucket_us in {60_000_000 * 2**n for n in range(1, 8)}


def test_subjects_are_bounded_and_counted(tmp_path: Path) -> None:
    log = b"".join(
        stamped(n / 10, f"JetStream cluster stream 'A > S{n}' has NO quorum, stalled", level="WRN") for n in range(5000)
    )
    log_evidence = read(tmp_path, n1=log)
    (total,) = log_evidence.totals
    assert (total.count, total.subjects) == (5000, 5000)
    assert total.omitted_subjects == 5000 - len(log_evidence.occurrences("t-stream-quorum-lost"))
    assert log_evidence.total("t-stream-quorum-lost") == 5000
