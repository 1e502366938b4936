"""How a network is disturbed, and where the files of a lab are: what the processes of a lab share."""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec

CLIENT_V4, SERVER_V4 = "192.0.2.1", "192.0.2.2"
CLIENT_V6, SERVER_V6 = "2001:db8::1", "2001:db8::2"
TO_SERVER, TO_CLIENT = "to_server", "to_client"


@dataclass(frozen=True, slots=True)
class Disturbance:
    """Shares of packets, times in ms. `delay` is that of every packet, `late` the range added to reordered ones.

    `largest`: packets with more payload are dropped silently, as on a path with a smaller MTU; 0: none are.
    `data_only`: packets without payload pass undisturbed. `directions` are disturbed, the other ones pass.
    """

    lost: float = 0.0
    reordered: float = 0.0
    duplicated: float = 0.0
    delay: float = 1.0
    late: tuple[float, float] = (1.0, 5.0)
    largest: int = 0
    data_only: bool = True
    directions: tuple[str, ...] = (TO_SERVER, TO_CLIENT)
    seed: int = 1

    def seeded(self, seed: int) -> Disturbance:
        """The same with other chances."""
        return replace(self, seed=seed)


class Orders(msgspec.Struct, frozen=True):
    """What the forwarder is told: namespaces in a row, the interfaces between them, where to write."""

    client: str
    middle: str
    server: str
    directory: str
    disturbance: Disturbance


class Passed(msgspec.Struct, frozen=True):
    """One packet as it left the forwarder: `number` in order of its arrival there, `copy` 0 for the first one."""

    direction: str
    number: int
    copy: int
    packet: bytes


class Report(msgspec.Struct):
    """What the forwarder did. `dropped` packets by direction; `passed` in the order of leaving."""

    dropped: dict[str, int]
    passed: list[Passed]
    arrived: dict[str, list[bytes]]
