"""Lists of an API server that misbehaves: a small HTTP server on a socket stands in for `kubectl proxy`."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from socketserver import ThreadingUnixStreamServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from jsdoctor.model.problems import ConnectProblem
from jsdoctor.sources.kube.proxy import KubeApi
from jsdoctor.sources.kube.reading import KubeSample, read_cluster
from tests.support.http_server import QuietHandler

Reply = tuple[int, Any]
_EMPTY: Reply = (200, {"items": []})


def pod(number: int) -> dict[str, Any]:
    return {"metadata": {"name": f"n{number}"}, "spec": {"containers": [{"name": "nats", "image": "nats:2"}]}}


@contextmanager
def api(directory: Path, respond: Callable[[str, dict[str, str]], Reply], timeout_s: float = 5) -> Iterator[KubeApi]:
    class Handler(QuietHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {key: values[0] for key, values in parse_qs(parts.query).items()}
            status, body = respond(parts.path.rpartition("/")[2], query)
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.respond(status, data)

    with ThreadingUnixStreamServer(str(directory / "api.sock"), Handler) as server:
        server.daemon_threads, server.block_on_close = True, False
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client = KubeApi(str(directory / "api.sock"), timeout_s)
        try:
            yield client
        finally:
            client.close()
            server.shutdown()


def listed(directory: Path, respond: Callable[[str, dict[str, str]], Reply], timeout_s: float = 5) -> KubeSample:
    with api(directory, respond, timeout_s) as client:
        return read_cluster(client, "nats")


def test_pages_are_joined(tmp_path: Path) -> None:
    def respond(what: str, query: dict[str, str]) -> Reply:
        if what != "pods":
            return _EMPTY
        page = int(query.get("continue", "p/0").removeprefix("p/"))  # a token may have any character
        return 200, {"items": [pod(page)], "metadata": {"continue": f"p/{page + 1}" if page < 2 else ""}}

    assert [pod.name for pod in listed(tmp_path, respond).facts.pods] == ["n0", "n1", "n2"]


def test_a_list_that_expires_is_read_again_whole(tmp_path: Path) -> None:
    def respond(what: str, query: dict[str, str]) -> Reply:
        if what != "pods":
            return _EMPTY
        if "continue" in query:
            return 410, {"kind": "Status", "message": "The provided continue parameter is too old"}
        if "limit" in query:
            return 200, {"items": [pod(0)], "metadata": {"continue": "next"}}
        return 200, {"items": [pod(0), pod(1)]}

    assert [pod.name for pod in listed(tmp_path, respond).facts.pods] == ["n0", "n1"]


def test_pages_that_do_not_end(tmp_path: Path) -> None:
    with pytest.raises(ConnectProblem, match="do not end"):
        listed(tmp_path, lambda _what, _query: (200, {"items": [pod(0)], "metadata": {"continue": "again"}}))


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}", {"items": {}}, {"kind": "Status"}, b"[" * 100_000])
def test_a_reply_that_is_no_list_is_no_empty_list(body: object, tmp_path: Path) -> None:
    with pytest.raises(ConnectProblem, match="is no list"):
        listed(tmp_path, lambda _what, _query: (200, body))
    (tmp_path / "api.sock").unlink()
    sample = listed(tmp_path, lambda what, _query: (200, {"items": [pod(0)]} if what == "pods" else body))
    assert (sample.facts.claims, sample.facts.budgets, len(sample.gaps)) == (None, None, 6)


def test_objects_with_missing_fields(tmp_path: Path) -> None:
    odd: list[Any] = [None, 3, "x", [], {}, {"metadata": None, "spec": [], "status": "x"}]
    replies = {"items": [*odd, pod(0)], "metadata": ["continue"]}
    sample = listed(tmp_path, lambda _what, _query: (200, replies))
    assert ([pod.name for pod in sample.facts.pods], sample.gaps) == (["n0"], ())
    (tmp_path / "api.sock").unlink()
    assert listed(tmp_path, lambda _what, _query: (200, {"items": None})).facts.pods == ()


@pytest.mark.parametrize("refused", ["persistentvolumeclaims", "poddisruptionbudgets", "events", "nodes"])
def test_one_refusal_leaves_the_rest(refused: str, tmp_path: Path) -> None:
    def respond(what: str, _query: dict[str, str]) -> Reply:
        return (403, {"message": "no"}) if what == refused else (200, {"items": [pod(0)] if what == "pods" else []})

    (gap,) = listed(tmp_path, respond).gaps
    assert gap.how_to_get == f"allow `list` on {refused}"


def test_one_slow_list_is_a_gap(tmp_path: Path) -> None:
    def respond(what: str, _query: dict[str, str]) -> Reply:
        if what == "events":
            time.sleep(1)
        return 200, {"items": [pod(0)] if what == "pods" else []}

    sample = listed(tmp_path, respond, timeout_s=0.3)
    assert (sample.facts.warnings, sample.facts.claims, "timed out" in sample.gaps[0].reason) == (None, (), True)
