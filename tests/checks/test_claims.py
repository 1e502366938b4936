"""Who reads a stream: copies of every domain that was read count."""

from datetime import UTC, datetime

from jsdoctor.checks.streams.limits import readers
from jsdoctor.model.jetstream import ExternalStream, SourceConfig, StreamConfig, StreamState
from jsdoctor.model.snapshot import ClusterSnapshot, Stream

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


def stream(name: str, domain: str, *sources: SourceConfig) -> Stream:
    return Stream(
        account=f"APP@{domain}",
        domain=domain,
        name=name,
        config=StreamConfig(name=name, sources=sources),
        state=StreamState(),
        at=NOON,
    )


def test_a_source_of_another_domain_reads_a_stream_there() -> None:
    of_site = SourceConfig("BUFFER", external=ExternalStream("$JS.site1.API"))
    of_account = SourceConfig("BUFFER", external=ExternalStream("JS.SHOP.API"))
    streams = (
        stream("BUFFER", "site1"),
        stream("ALL", "hub", of_site, of_account),
        stream("OWN", "site1", SourceConfig("BUFFER")),
    )
    assert readers(ClusterSnapshot(taken_at=NOON, streams=streams)) == {("site1", "APP", "BUFFER"): ["ALL", "OWN"]}
