"""Key-value buckets (ADR-8) and object stores (ADR-20) as the streams that clients make of them."""

from __future__ import annotations

from typing import Any

from jsdoctor.model.jetstream import SourceConfig, StreamConfig
from jsdoctor.model.server_defaults import DEFAULT_WINDOW_NS


def key_value(bucket: str, values: dict[str, Any]) -> StreamConfig:
    """Values: `history`, `ttl_ns`, `max_bytes`, `max_value_size`, `storage`, `num_replicas`, `mirror`, `sources`."""
    ttl_ns = values.get("ttl_ns", 0)
    mirror, sources = values.get("mirror"), values.get("sources", ())
    return StreamConfig(
        name=f"KV_{bucket}",
        subjects=() if mirror else (f"$KV.{bucket}.>",),
        max_msgs_per_subject=max(values.get("history", 1), 1),
        max_bytes=values.get("max_bytes", -1) or -1,
        max_age_ns=ttl_ns,
        max_msg_size=values.get("max_value_size", -1) or -1,
        storage=values.get("storage", "file"),
        num_replicas=values.get("num_replicas", 1),
        discard="new",
        duplicate_window_ns=min(ttl_ns, DEFAULT_WINDOW_NS) if ttl_ns > 0 else DEFAULT_WINDOW_NS,
        mirror=_origin(mirror) if mirror else None,
        sources=tuple(_origin(source) for source in sources),
        allow_direct=True,
        deny_delete=True,
        allow_rollup_hdrs=True,
    )


def object_store(bucket: str, values: dict[str, Any]) -> StreamConfig:
    """Values: `ttl_ns`, `max_bytes`, `storage`, `num_replicas`."""
    ttl_ns = values.get("ttl_ns", 0)
    return StreamConfig(
        name=f"OBJ_{bucket}",
        subjects=(f"$O.{bucket}.C.>", f"$O.{bucket}.M.>"),
        max_bytes=values.get("max_bytes", -1) or -1,
        max_age_ns=ttl_ns,
        storage=values.get("storage", "file"),
        num_replicas=values.get("num_replicas", 1),
        discard="new",
        allow_direct=True,
        allow_rollup_hdrs=True,
    )


def _origin(source: SourceConfig) -> SourceConfig:
    name = source.name if source.name.startswith("KV_") else f"KV_{source.name}"
    return SourceConfig(name=name, external=source.external, filter_subject=source.filter_subject)
