"""What a server refuses of a change of a consumer (server: consumer.go checkNewConsumerConfig)."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.refusal import ServerRefusal
from jsdoctor.model.jetstream import ConsumerConfig
from jsdoctor.model.setting import FieldKind, rows


def of_change(config: ConsumerConfig, current: ConsumerConfig) -> Iterator[ServerRefusal]:
    """Why servers do not change a consumer into this."""
    if config.is_push != current.is_push:
        kinds = ("pull", "push")
        text = f"a {kinds[current.is_push]} consumer cannot become a {kinds[config.is_push]} consumer"
        yield ServerRefusal("deliver_subject", text, 10012)
        return
    for row in rows(ConsumerConfig):
        was, wanted = getattr(current, row.attribute), getattr(config, row.attribute)
        if row.setting.fixed_since is not None and was != wanted:
            values = "" if row.kind is FieldKind.DURATION else f" from {was!r} to {wanted!r}"
            text = f"{row.name} cannot be changed{values}"
            yield ServerRefusal(row.name, text, 10012, row.setting.fixed_since)
