"""A real Loki on loopback, built by `make loki`; without it, the tests that need it are skipped with the reason."""

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from jsdoctor.demo.server import free_ports
from tests.servers import ROOT, wait_until

BINARY = ROOT / ".cache" / "bin" / "loki"
MAX_ENTRIES = 500
_PUSHED = 5_000

_CONFIGURATION = """
auth_enabled: true
analytics: {{reporting_enabled: false}}
server:
  http_listen_address: 127.0.0.1
  http_listen_port: {http}
  grpc_listen_address: 127.0.0.1
  grpc_listen_port: {grpc}
  log_level: warn
common:
  instance_addr: 127.0.0.1
  path_prefix: {directory}
  replication_factor: 1
  ring: {{kvstore: {{store: inmemory}}}}
  storage: {{filesystem: {{chunks_directory: {directory}/chunks, rules_directory: {directory}/rules}}}}
ingester: {{lifecycler: {{min_ready_duration: 0s}}}}
schema_config:
  configs:
    - {{from: 2020-10-24, store: tsdb, object_store: filesystem, schema: v13, index: {{prefix: index_, period: 24h}}}}
limits_config:
  max_entries_limit_per_query: {max_entries}
  reject_old_samples: false
  shard_streams: {{enabled: true, desired_rate: 64KB}}
  ingestion_rate_mb: 64
  ingestion_burst_size_mb: 64
  per_stream_rate_limit: 64MB
  per_stream_rate_limit_burst: 64MB
"""


class Loki:
    """A running Loki. Tenants are apart: a test that uses one of its own sees no lines of others."""

    def __init__(self, url: str, directory: Path) -> None:
        self.url, self._directory = url, directory

    def push_as(
        self, tenant: str, of_lines: Sequence[str] = ()
    ) -> Callable[[Mapping[str, str], Sequence[tuple[int, str]]], None]:
        """What stores lines for a tenant. The labels `of_lines` become structured metadata of each line."""

        def push(labels: Mapping[str, str], lines: Sequence[tuple[int, str]]) -> None:
            headers = {"X-Scope-OrgID": tenant, "Content-Type": "application/json"}
            for begin in range(0, len(lines), _PUSHED):
                beside = {name: value for name, value in labels.items() if name in of_lines}
                stream = {name: value for name, value in labels.items() if name not in of_lines}
                values = [[str(at), line, beside] for at, line in lines[begin : begin + _PUSHED]]
                body = json.dumps({"streams": [{"stream": stream, "values": values}]})
                reply = httpx2.post(f"{self.url}/loki/api/v1/push", content=body, headers=headers, timeout=30)
                assert reply.status_code == 204, reply.text

        return push

    def query(self, tenant: str, **form: str) -> httpx2.Response:
        """The raw reply of `query_range`."""
        headers = {"X-Scope-OrgID": tenant, "X-Loki-Response-Encoding-Flags": "categorize-labels"}
        return httpx2.get(f"{self.url}/loki/api/v1/query_range", params=form, headers=headers, timeout=30)

    def flush(self, tenant: str) -> None:
        """Have the ingester write its chunks to the store, and wait until those of a tenant are there."""
        httpx2.post(f"{self.url}/flush", timeout=30).raise_for_status()
        chunks = self._directory / "chunks" / tenant
        wait_until(lambda: chunks.exists() and any(chunks.rglob("*")), "chunks are in the store", timeout=30)


@contextmanager
def running_loki(directory: Path) -> Iterator[Loki]:
    """A Loki with its data below a directory."""
    if not BINARY.exists():
        pytest.skip("no Loki is built: run `make loki` (needs Go, takes about ten minutes)")
    http, grpc = free_ports(2)
    file = directory / "loki.yaml"
    file.write_text(_CONFIGURATION.format(http=http, grpc=grpc, directory=directory, max_entries=MAX_ENTRIES))
    url = f"http://127.0.0.1:{http}"
    log = directory / "loki.log"
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [str(BINARY), f"-config.file={file}"], stdout=output, stderr=subprocess.STDOUT, cwd=directory
        ) as process,
    ):
        try:
            wait_until(lambda: _ready(url), "Loki is ready", timeout=90)
            yield Loki(url, directory)
        finally:
            process.terminate()


def _ready(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/ready", timeout=2).status_code == 200
    except httpx2.HTTPError:
        return False
