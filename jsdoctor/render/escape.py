"""Text from servers made harmless: nothing that reaches a terminal may move its cursor or reorder its text."""

from __future__ import annotations

MAX_CHARACTERS = 1000
"""Longer text is cut in reports for people; a name is at most 255 characters, a message should be a sentence or two."""

_TYPOGRAPHY = str.maketrans(
    {"·": "-", "…": "...", "±": "+/-", "µ": "u", "→": "->", "–": "-", "—": "-", "•": "*"}  # noqa: RUF001
)


def printable(text: str) -> str:
    r"""The text with every character that does not print written as its escape: ESC is `\x1b`, newline `\n`.

    Covers control characters, bidirectional overrides, zero-width and other format characters, line separators, spaces
    that look like a space, unassigned code points and lone surrogates. Applying it twice changes nothing more.
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def shortened(text: str, limit: int = MAX_CHARACTERS) -> str:
    """The text, cut with an ellipsis where it is longer than `limit` characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def ascii_only(text: str) -> str:
    """The text in ASCII: our own typography gets its usual stand-in, any other character its escape."""
    return text.translate(_TYPOGRAPHY).encode("ascii", "backslashreplace").decode("ascii")


def without_lone_surrogates(text: str) -> str:
    """The text with lone surrogates, which no encoding can carry, replaced by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
