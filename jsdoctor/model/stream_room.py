"""How many subjects of a stream are full, as far as the numbers of messages and subjects alone decide it."""

from __future__ import annotations

from jsdoctor.model.jetstream import StreamConfig, StreamState


def refuses_per_subject(config: StreamConfig) -> bool:
    """Whether messages are refused on full subjects. A limit of 1 does not count: it is used to set a key once."""
    per_subject = config.discard == "new" and config.discard_new_per_subject and config.max_msgs_per_subject > 1
    return per_subject and not config.mirror and not config.sealed


def least_full_subjects(config: StreamConfig, state: StreamState) -> int:
    """The least possible number of full subjects: the messages beyond one less than the limit for each subject."""
    return max(0, state.messages - state.num_subjects * (config.max_msgs_per_subject - 1))


def may_have_full_subjects(config: StreamConfig, state: StreamState) -> bool:
    """Whether a subject may be full although the counts do not prove that any is."""
    return (
        refuses_per_subject(config)
        and state.messages >= config.max_msgs_per_subject
        and not least_full_subjects(config, state)
    )
