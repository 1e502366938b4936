"""Logs in stores that cannot be read: one sentence that names what is missing, within seconds, and never a pass."""

import socket
import time
from collections.abc import Iterator

import pytest

from jsdoctor.sources.archives import store
from jsdoctor.sources.archives.discover import discover

pytest.importorskip("pyarrow")


@pytest.fixture
def silent_store() -> Iterator[int]:
    """The port of a store that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("abfs://container/logs", "AZURE_STORAGE_KEY"),
        ("abfss://container/logs", "az login"),
        ("hdfs://namenode:8020/logs", "Hadoop's native library"),
        ("viewfs://cluster/logs", "Hadoop's native library"),
        ("az://container/logs", "stores are s3://"),
        ("http://host/nats.log", "stores are s3://"),
    ],
)
def test_a_store_that_cannot_be_opened_is_refused_in_a_sentence(uri: str, words: str) -> None:
    (file,) = discover([uri]).files
    assert words in file.problem
    assert "\n" not in file.problem
    assert file.named


def test_an_endpoint_without_a_server_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "ANSWER_S", 4.0)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (file,) = discover([f"s3://bucket/logs?endpoint_override=127.0.0.1:{port}&scheme=http"]).files
    assert "check the endpoint" in file.problem


def test_a_store_that_never_responds_is_given_up(monkeypatch: pytest.MonkeyPatch, silent_store: int) -> None:
    monkeypatch.setattr(store, "ANSWER_S", 1.0)
    started = time.monotonic()
    (file,) = discover([f"s3://bucket/logs?endpoint_override=127.0.0.1:{silent_store}&scheme=http"]).files
    assert "no response within 1s" in file.problem
    assert time.monotonic() - started < 20
