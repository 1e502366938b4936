"""Every wrapping comes off, and every header is read."""

import pytest

from jsdoctor.logs.lines.line import LogLine, is_partial, read_line, section_name
from jsdoctor.logs.lines.stamp import LogYear, Zone
from tests.logs.corpus import WRAPPINGS

NATIVE = b"[7] 2026/11/21 09:23:30.349568 [WRN] JetStream cluster stream 'APP > O' has NO quorum, stalled"
TEXT = b"JetStream cluster stream 'APP > O' has NO quorum, stalled"
NATIVE_US = 1_795_253_010_349_568
NAMED = {"kubectl", "kubectl-short", "stern", "compose", "syslog-3164", "syslog-3164-pri", "syslog-5424", "journal"}
ZONED = {"docker", "cri", "kubectl", "syslog-5424", "journal", "tabbed"}


def read(line: bytes) -> LogLine:
    return read_line(line, LogYear(2026))


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_wrapping_comes_off(wrapping: str) -> None:
    line = read(WRAPPINGS[wrapping](NATIVE))
    assert (line.text, line.level, line.pid, line.native_us, line.server) == (TEXT, "WRN", 7, NATIVE_US, True)
    assert line.label == ("nats-0" if wrapping in NAMED else "")
    assert line.zoned == (wrapping in ZONED)
    assert line.us is not None
    assert abs(line.us - NATIVE_US) < 1_000_000


@pytest.mark.parametrize(
    ("line", "level", "pid"),
    [
        (b"[7] 2026/11/21 09:23:30.349568 [WRN] text", "WRN", 7),
        (b"2026/11/21 09:23:30.349568 [ERR] text", "ERR", None),
        (b"[7] [INF] text", "INF", 7),
        (b"[FTL] text", "FTL", None),
        (b"[27845] 2026/11/21 09:50:25.519498 [\x1b[32mINF\x1b[0m] text", "INF", 27845),
        (b"[7] 2026/11/21 09:23:30.349568 [WRN] text\r\n", "WRN", 7),
        (b"\x00\x00\x00[7] 2026/11/21 09:23:30.349568 [WRN] text", "WRN", 7),
        (b"\xef\xbb\xbf[7] 2026/11/21 09:23:30.349568 [WRN] text", "WRN", 7),
        (b"n3: 09:23:30.349568 [WRN] text", "WRN", None),
        (b"<4>2026-11-21T10:09:24Z vm nats-server[8942]: text", "WRN", 8942),
        (b"<27>Nov 21 10:09:24 vm nats-server[8942]: text", "ERR", 8942),
        (b"<5>1 2026-11-21T10:09:24Z vm nats-server 8942 - - text", "INF", 8942),
        (b'{"log":"[1] 2026/11/21 09:23:30.349568 [INF] text\\n","stream":"stderr","time":"2026-11-21T', "INF", 1),
    ],
)
def test_headers_of_servers(line: bytes, level: str, pid: int | None) -> None:
    parsed = read(line)
    assert (parsed.text, parsed.level, parsed.pid, parsed.server) == (b"text", level, pid, True)


@pytest.mark.parametrize(
    ("line", "text", "us", "zoned"),
    [
        (
            b'{"level":"error","ts":1795252318.2,"msg":"a","error":"b \\"c\\""}',
            b'a\nb "c"',
            1_795_252_318_200_000,
            True,
        ),
        (b'{"time":"2026-11-21T09:23:30Z","msg":"a","err":{"message":"b"}}', b"a\nb", 1_795_253_010_000_000, True),
        (
            b'{"type":"io.nats.jetstream.advisory.v1.terminated","timestamp":"2026-11-21T09:23:30Z","reason":"a"}',
            b'{"type":"io.nats.jetstream.advisory.v1.terminated","timestamp":"2026-11-21T09:23:30Z","reason":"a"}',
            1_795_253_010_000_000,
            True,
        ),
        (b"2026-11-21 09:23:30,349 ERROR x", b"ERROR x", 1_795_253_010_349_000, False),
        (b"2026-11-21 09:23:30,349 ERROR ApiError: x", b"ERROR ApiError: x", 1_795_253_010_349_000, False),
        (b"2026-11-21T10:23:30.5+01:00 x", b"x", 1_795_253_010_500_000, True),
        (b"2026/11/21 09:23:30 x", b"2026/11/21 09:23:30 x", 1_795_253_010_000_000, False),
        (b'app-1  | {"ts":1795253010349,"msg":"a"}', b"a", 1_795_253_010_349_000, True),
        (b"nats: timeout", b"nats: timeout", None, False),
    ],
)
def test_lines_of_applications(line: bytes, text: bytes, us: int | None, zoned: bool) -> None:
    parsed = read(line)
    assert (parsed.text, parsed.us, parsed.zoned, parsed.server) == (text, us, zoned, False)


@pytest.mark.parametrize(
    "line",
    [
        b"2026-11-21 09:23:30,349 ERROR nats: nats: no response from stream",
        b"2026-11-21T09:23:30Z publish failed: nats: no response from stream",
    ],
)
def test_words_of_applications_are_no_hosts(line: bytes) -> None:
    assert read(line).label == ""


def test_payload_is_no_header() -> None:
    line = read(b'[7] 2026/11/21 09:23:30.349568 [TRC] x - <<- MSG_PAYLOAD: ["2026/11/21 09:23:31.349568 [ERR] y"]')
    assert line.level == "TRC"
    assert read(b"app says [ERR] no").server is False


def test_containers_cut_long_lines() -> None:
    assert is_partial(b"2026-11-21T09:23:30.349612345Z stderr P [7] 2026/11/21")
    assert not is_partial(b"2026-11-21T09:23:30.349612345Z stderr F [7] 2026/11/21")
    assert is_partial(b'{"log":"no end","stream":"stderr","time":"2026-11-21T09:23:30Z"}')
    assert not is_partial(b'{"log":"an end\\n","stream":"stderr","time":"2026-11-21T09:23:30Z"}')


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (b"==> n1.log <==", "n1"),
        (b"==> logs/n1/nats.log <==", "logs/n1/nats"),
        (b"--- n1.log", "n1"),
        (b"--- n1 ---", "n1"),
        (b"=== n2.log ===", "n2"),
        (b"### n3.log", "n3"),
        (b"--- FAIL", None),
        (b"---------------- JETSTREAM ----------------", None),
        (b"=== RUN TestX", None),
    ],
)
def test_section_headers(line: bytes, name: str | None) -> None:
    assert section_name(line) == name


def test_zones() -> None:
    assert Zone("+02:00").utc_us(NATIVE_US) == NATIVE_US - 7_200_000_000
    assert Zone("-05:30").utc_us(NATIVE_US) == NATIVE_US + 19_800_000_000
    assert Zone("Europe/Berlin").utc_us(NATIVE_US) == NATIVE_US - 3_600_000_000
    assert Zone("UTC").utc_us(NATIVE_US) == NATIVE_US
    with pytest.raises(ValueError, match="Mars"):
        Zone("Mars/Olympus")


def test_a_line_with_a_number_of_hundreds_of_digits_is_read() -> None:
    line = read_line(
        b'{"timestamp": 1' + b"0" * 400 + b', "message": "[7] 2026/11/21 10:00:00.000000 [INF] Server is ready"}',
        LogYear(2026),
    )
    assert line.server


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (b'{"message":"%s","container_name":"/nats-2","source":"stderr"}', "nats-2"),
        (b'{"message":"%s","container":{"name":"nats-2"}}', "nats-2"),
        (b'{"message":"%s","host":{"name":"worker-7"},"agent":{"hostname":"shipper"}}', "worker-7"),
        (b'{"message":"%s","kubernetes":{"pod":{"name":"nats-1"},"node":{"name":"w"}},"host":{"name":"w"}}', "nats-1"),
        (b'{"message":"%s","host":"{\\"a\\": 1}","instance":"nats-3"}', "nats-3"),
        (b'{app="nats",pod="nats-1"} %s', "nats-1"),
        (b'{"stream": "stderr", "pod": "nats-1"} %s', "nats-1"),
        (b"> '%s'", ""),
    ],
)
def test_the_envelope_names_the_server(line: bytes, name: str) -> None:
    assert read(line % NATIVE).label == name
