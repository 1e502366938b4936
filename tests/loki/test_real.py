"""A real Loki: findings from it are those of the files, pages are whole, and the documented server does as it does."""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bench.log_archive import ArchivePlan, write_archive
from tests.loki.documented import DocumentedLoki, Refused
from tests.loki.real import MAX_ENTRIES, Loki, running_loki
from tests.loki.shipping import Done, S, from_files, incidents_of, jsdoctor, reported, ship

pytestmark = pytest.mark.nightly

VERSIONS = ("2.10.26", "2.15.1")
INCIDENTS = {f"{version}-{name}": paths for version in VERSIONS for name, paths in incidents_of(version).items()}
QUERY = ("--loki-query", '{app="nats"}')


@pytest.fixture(scope="module")
def loki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loki]:
    with running_loki(tmp_path_factory.mktemp("loki")) as running:
        yield running


def check(loki: Loki, tenant: str, *options: str) -> Done:
    header = ("--loki-header", f"X-Scope-OrgID: {tenant}")
    return jsdoctor("check", "--loki", loki.url, *QUERY, *header, "--format", "json", "-vv", *options)


@pytest.mark.parametrize("name", INCIDENTS)
def test_findings_are_those_of_the_files(loki: Loki, name: str, tmp_path: Path) -> None:
    ship(loki.push_as(name), INCIDENTS[name], time.time_ns() - S)
    report, wanted = check(loki, name), from_files(INCIDENTS[name], tmp_path)
    assert reported(report.report) == reported(wanted.report)
    assert report.exit_code == wanted.exit_code


def test_findings_are_the_same_from_chunks_in_the_store(loki: Loki, tmp_path: Path) -> None:
    paths = INCIDENTS["2.15.1-l4-partition"]
    ship(loki.push_as("flushed"), paths, time.time_ns() - S, coarse_ns=S // 10)
    loki.flush("flushed")
    assert reported(check(loki, "flushed").report) == reported(from_files(paths, tmp_path).report)


def test_servers_are_distinguished_by_metadata_of_lines(loki: Loki, tmp_path: Path) -> None:
    paths = INCIDENTS["2.15.1-c1"]
    ship(loki.push_as("metadata", of_lines=["pod", "level"]), paths, time.time_ns() - S)
    assert reported(check(loki, "metadata").report) == reported(from_files(paths, tmp_path).report)


def test_a_busy_stream_that_loki_cuts_into_shards_is_one_log(loki: Loki, tmp_path: Path) -> None:
    """At a high rate, Loki adds the label `__stream_shard__` to streams."""
    write_archive(tmp_path / "archive", ArchivePlan(megabytes=15))
    paths = []
    for server in ("n1", "n2", "n3"):
        paths.append(tmp_path / f"{server}.log")
        parts = sorted((tmp_path / "archive" / server).glob("*.log"))
        paths[-1].write_bytes(b"".join(part.read_bytes() for part in parts))
    push = loki.push_as("busy")

    def in_parts(labels: Mapping[str, str], lines: Sequence[tuple[int, str]]) -> None:
        for part in range(0, len(lines), 10_000):
            push(labels, lines[part : part + 10_000])
            time.sleep(1)  # until Loki knows the rate of the stream

    first = ship(in_parts, paths, time.time_ns() - S, every_ns=50_000)
    values = loki.query("busy", query='{app="nats", __stream_shard__!=""}', start=str(first), limit="1").json()
    assert values["data"]["result"], "the streams were not cut"
    assert reported(check(loki, "busy").report) == reported(from_files(paths, tmp_path).report)


def test_every_line_is_read_where_pages_are_full_of_one_time(loki: Loki) -> None:
    """Three streams with nearly a page of lines each at one time, and one with more than Loki gives."""
    at = time.time_ns() - 60 * S
    push = loki.push_as("crowded")
    for pod in "abc":
        push({"app": "nats", "pod": pod}, [(at, f"line {number}") for number in range(MAX_ENTRIES - 10)])
        push({"app": "nats", "pod": pod}, [(at + S, "later"), (at - S, "earlier")])
    done = check(loki, "crowded")
    assert f"{3 * (MAX_ENTRIES - 8):,} lines" in done.report["summary"]["headline"]
    assert not [gap for gap in done.report["gaps"] if "have the time" in gap["reason"]]
    push({"app": "nats", "pod": "d"}, [(at, f"line {number}") for number in range(MAX_ENTRIES + 10)])
    done = check(loki, "crowded")
    assert done.exit_code == 3
    assert [gap for gap in done.report["gaps"] if f"{MAX_ENTRIES} lines or more of" in gap["reason"]]


def test_refusals_are_one_sentence(loki: Loki) -> None:
    done = jsdoctor("check", "--loki", loki.url, *QUERY)
    assert "wants a tenant (HTTP 401: no org id)" in done.stderr
    header = ("--loki-header", "X-Scope-OrgID: x")
    done = jsdoctor("check", "--loki", loki.url, "--loki-query", '{app="nats"', *header)
    assert done.exit_code == 2
    done = jsdoctor("check", "--loki", loki.url, "--loki-query", '{app="nats"} | nonsense(', *header)
    assert "parse error" in done.stderr
    done = jsdoctor("check", "--loki", loki.url, "--loki-query", '{app=~".*"}', *header)
    assert "at least one" in done.stderr
    done = jsdoctor("check", "--loki", f"{loki.url}/elsewhere", *QUERY, *header)
    assert "there is no Loki API (HTTP 404)" in done.stderr
    assert not done.stdout
    done = check(loki, "nobody")
    assert done.exit_code == 3
    assert any("Loki has no line" in gap["reason"] for gap in done.report["gaps"])


def test_the_documented_server_replies_as_loki_does(loki: Loki) -> None:
    """Start, end, limit and direction; streams with their labels; each stream in order; the words of a refusal."""
    at = time.time_ns() - 60 * S
    documented, push = DocumentedLoki(max_entries=MAX_ENTRIES), loki.push_as("documented")
    for pod in "ab":
        lines = [(at + number // 3, f"line {number}") for number in range(30)]
        for store in (documented.push, push):
            store({"app": "nats", "pod": pod, "service_name": "nats"}, lines)
    forms = [
        {"query": query, "start": str(at + start), "end": str(at + end), "limit": str(limit), "direction": direction}
        for query in ('{app="nats"}', '{app="nats", pod="b"}')
        for start, end in ((0, 1), (2, 5), (0, 20), (9, 10))
        for limit in (1, 4, 7, 100)
        for direction in ("forward", "backward")
    ]
    for form in forms:
        ours: Any = documented.reply("/loki/api/v1/query_range", form, {})
        theirs = loki.query("documented", **form).json()
        assert _times(theirs) == _times(ours), form
        for stream in (*ours["data"]["result"], *theirs["data"]["result"]):
            times = [int(value[0]) for value in stream["values"]]
            assert times == sorted(times, reverse=form["direction"] == "backward")
        if form["limit"] == "100":
            assert _lines(theirs) == _lines(ours), form
    too_many = {**forms[0], "limit": "501"}
    reply = loki.query("documented", **too_many)
    with pytest.raises(Refused) as refused:
        documented.reply("/loki/api/v1/query_range", too_many, {})
    assert (reply.status_code, reply.text) == (refused.value.status, refused.value.body)


def _lines(reply: Any) -> list[tuple[dict[str, str], list[tuple[str, str]]]]:
    """Streams with their lines. Loki does not keep the order of lines of one time."""
    result = reply["data"]["result"]
    streams = [(stream["stream"], sorted((value[0], value[1]) for value in stream["values"])) for stream in result]
    return sorted(streams, key=lambda stream: sorted(stream[0].items()))


def _times(reply: Any) -> list[str]:
    """The times of all lines. Which of the lines of one time a limit leaves out is Loki's choice."""
    return sorted(value[0] for stream in reply["data"]["result"] for value in stream["values"])
