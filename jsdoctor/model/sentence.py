"""The words in which people complain: topics, complaints, and the symptoms that both together lead to."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Topic(msgspec.Struct, frozen=True):
    """What a sentence is about. `leads` are slugs of symptoms by the complaint, the likeliest first.

    `general`: users of other systems have the same topic.
    """

    name: str
    words: str
    leads: Mapping[str, tuple[str, ...]]
    general: bool = False


class Vocabulary(msgspec.Struct, frozen=True):
    """Topics, the most specific first, and the words of each complaint. Words are regular expressions in lower case."""

    topics: tuple[Topic, ...] = ()
    complaints: Mapping[str, str] = {}
