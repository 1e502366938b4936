"""How many subjects of a stream are full, as far as the numbers of messages and subjects alone decide it."""

from __future__ import annotations

from jsdoctor.model.jetstream import StreamConfig, StreamState


def refuses_per_subject(config: StreamConfig) -> bool:
    """Whether a message is refused if its subject has enough. A limit of one is a switch that is set once."""
    per_subject = config.discard == "new" and config.discard_new_per_subject and config.max_msgs_per_subject > 1
    return per_subject and not config.mirror and not config.sealed


def full_for_sure(config: StreamConfig, state: StreamState) -> int:
    """At least so many: what is left if every subject had one message less than it may have."""
    return max(0, state.messages - state.num_subjects * (config.max_msgs_per_subject - 1))


def full_in_doubt(config: StreamConfig, state: StreamState) -> bool:
    """Whether some subject may be full, and need not be."""
    return (
        refuses_per_subject(config)
        and state.messages >= config.max_msgs_per_subject
        and not full_for_sure(config, state)
    )
