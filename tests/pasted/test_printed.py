"""Replies as programs print them with nats.js and nats.py: judged as replies, and nothing is assumed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from jsdoctor.model.finding import Outcome
from jsdoctor.parse.pasted.documents import Document
from jsdoctor.parse.pasted.javascript_objects import javascript_objects
from jsdoctor.parse.pasted.python_objects import python_objects
from tests.pasted.record_printed import PRINTED, REQUESTS
from tests.pasted.test_paste import faults, judged, passed

WHOLE = ["consumer", "stream", "account"]


def reply(name: str) -> Any:
    return json.loads((PRINTED / f"{name}.json").read_text("utf-8"))


def text(name: str) -> str:
    return (PRINTED / name).read_text("utf-8")


def outcomes(path: Path) -> dict[str, Outcome]:
    return {verdict.rule.code: verdict.outcome for verdict in judged(path).verdicts}


@pytest.mark.parametrize("name", WHOLE)
def test_what_nats_js_prints_whole_is_the_reply(name: str) -> None:
    (document,) = javascript_objects(text(f"js_{name}.txt"))
    times = {"ts": None, "api": None}  # those of another request
    assert {**document.value, **times} == {**reply(name), **times}
    assert document.open == frozenset()
    assert outcomes(PRINTED / f"js_{name}.txt") == outcomes(PRINTED / f"{name}.json")


def test_what_nats_js_leaves_out_is_not_seen() -> None:
    documents = list(javascript_objects(text("js_consumers.txt")))
    assert {document.value["name"] for document in documents} == {"audit", "billing"}
    assert all("config.metadata" in document.open for document in documents)
    report = judged(PRINTED / "js_consumers.txt")
    assert faults(report) == {"JSD403", "JSD901"}
    assert passed(report) <= passed(judged(PRINTED / "consumers.json"))


@pytest.mark.parametrize("name", REQUESTS)
def test_what_nats_py_prints_has_the_values_of_the_reply(name: str) -> None:
    documents = list(python_objects(text(f"py_{name}.txt")))
    replies = reply(name)["consumers"] if name == "consumers" else [reply(name)]
    assert len(documents) == len(replies)
    for document, sent in zip(documents, replies, strict=True):
        assert list(differing(document.value, sent)) == []


def differing(printed: Any, sent: Any, path: str = "") -> list[str]:
    """Where a value differs from the reply; times have microseconds, and some lists are those of another request."""
    if isinstance(printed, dict):
        return [where for key, value in printed.items() for where in differing(value, sent.get(key), f"{path}.{key}")]
    if isinstance(printed, str) and re.match(r"\d{4}-\d\d-\d\dT", printed):
        return [] if printed[:26] == sent[:26] else [path]
    if path in {".api.total", ".config.metadata._nats.ver", ".config.metadata._nats.level"} or printed == {}:
        return []
    return [] if printed == sent or (printed is False and sent is None) else [f"{path}: {printed!r} and {sent!r}"]


@pytest.mark.parametrize("name", REQUESTS)
def test_what_nats_py_prints_passes_nothing_that_the_reply_does_not(name: str) -> None:
    printed, sent = outcomes(PRINTED / f"py_{name}.txt"), outcomes(PRINTED / f"{name}.json")
    assert {code for code, outcome in printed.items() if outcome is Outcome.PASS and sent[code] is not outcome} == set()
    assert Outcome.PASS in printed.values()
    assert Outcome.ERROR not in printed.values()


@pytest.mark.parametrize("share", range(10, 100, 10))
@pytest.mark.parametrize("name", ["js_consumer", "js_stream", "py_consumer"])
def test_a_print_that_was_cut_passes_nothing_that_the_whole_one_does_not(tmp_path: Path, name: str, share: int) -> None:
    whole = text(f"{name}.txt")
    part = tmp_path / "paste"
    part.write_text(whole[: len(whole) * share // 100], "utf-8")
    report = judged(part)
    assert passed(report) <= passed(judged(PRINTED / f"{name}.txt"))
    assert "JSD901" in faults(report)


@pytest.mark.parametrize(
    ("printed", "value", "left_out"),
    [
        ("{ name: 'it\\'s', big: 12n, no: undefined, at: 2026-01-02T03:04:05.678Z }", None, set()),
        ("ConsumerInfo { stream_name: 'A', config: Config { name: 'c', backoff: [Array] } }", None, {"config.backoff"}),
        ("info { list: [ 1, 2, ... 98 more items ] }", {"list": [1, 2]}, {"list"}),
        ("{ state: [Object], name: 'a' }", {"state": {}, "name": "a"}, {"state"}),
        ("{ a: { b: { c: 1,", {"a": {"b": {"c": 1}}}, {"", "a", "a.b"}),
        ("{ a: { b: 1, num_pending: 15", {"a": {"b": 1}}, {"", "a"}),
        ("{ a: { b: 1, num_pend", {"a": {"b": 1}}, {"", "a"}),
        ("{ a: { b: 1, name: 'bil", {"a": {"b": 1}}, {"", "a"}),
        ("{ a: { b: 1, c: [ 1, 2", {"a": {"b": 1, "c": [1]}}, {"", "a", "a.c"}),
        ("{ a: { b: 1 },\n...\n", {"a": {"b": 1}}, {""}),
    ],
)
def test_the_notation_of_javascript(printed: str, value: Any, left_out: set[str]) -> None:
    (document,) = javascript_objects(printed)
    assert document.open == left_out
    assert value is None or document.value == value


@pytest.mark.parametrize(
    "other", ["jetstream { store_dir: /data, max_mem: 1G }", "{ a: => 1 }", "if (x) { y: return }"]
)
def test_other_text_with_braces_is_no_object(other: str) -> None:
    assert list(javascript_objects(other)) == []


def test_a_hostile_depth_ends(tmp_path: Path) -> None:
    assert list(javascript_objects("{ a: " * 10_000)) == []
    assert list(python_objects("ConsumerInfo(a=" + "[" * 100_000 + "]" * 100_000 + ")")) == []


def test_enumerations_of_nats_py() -> None:
    (document,) = python_objects(
        "StreamInfo(config=StreamConfig(name='A', retention=<RetentionPolicy.LIMITS: 'limits'>))"
    )
    assert document == Document({"config": {"name": "A", "retention": "limits"}})


@pytest.mark.parametrize("value", ["datetime.datetime(99999999999999999999, 1, 1)", "1e999"])
def test_a_value_that_is_too_large_is_no_object(value: str) -> None:
    assert list(python_objects(f"ConsumerInfo(name='c', created={value}, ack_wait={value})")) == []


def test_code_in_a_print_is_not_run() -> None:
    assert list(python_objects("ConsumerInfo(name=__import__('os').getcwd())")) == []
