"""The INFO of a server: an object whose known fields have the types that servers give them."""

from __future__ import annotations

from typing import Any

import msgspec

from jsdoctor.model.typed import convert_to


class _ServerInfo(msgspec.Struct, frozen=True):
    """The fields that nats-py and jsdoctor read (nats-server `server.go` type Info)."""

    server_id: str = ""
    server_name: str = ""
    version: str = ""
    proto: int = 0
    host: str = ""
    port: int = 0
    headers: bool = False
    auth_required: bool = False
    tls_required: bool = False
    tls_available: bool = False
    tls_verify: bool = False
    max_payload: int = 0
    jetstream: bool = False
    client_id: int = 0
    client_ip: str = ""
    nonce: str = ""
    cluster: str = ""
    domain: str = ""
    ldm: bool = False
    remote_account: str = ""
    acc_is_sys: bool = False
    connect_urls: list[str] | None = None


def read_info(text: bytes | str) -> dict[str, Any]:
    """All fields of an INFO line's JSON. Raises ValueError for anything that no server sends."""
    try:
        info = msgspec.json.decode(text)
        convert_to(info, _ServerInfo)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError("no INFO of a server") from error
    fields: dict[str, Any] = info
    return fields
