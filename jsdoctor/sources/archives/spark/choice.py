"""Which Spark the user chose. Every command has these options, and few use Spark: nothing of it is loaded here."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class SparkChoice(msgspec.Struct, frozen=True):
    """The Spark that the user chose: `master` names a cluster, `remote` a Connect server, neither means this machine.

    `conf` is passed on unchanged and overrides our settings.
    """

    master: str | None = None
    remote: str | None = None
    conf: Mapping[str, str] = msgspec.field(default_factory=dict)

    @property
    def is_local(self) -> bool:
        """Whether the whole Spark is on this machine."""
        return self.remote is None and (self.master or "local").split("[")[0] == "local"

    @property
    def place(self) -> str:
        """The address of the Spark, as messages name it."""
        return self.remote or self.master or "local[*]"
