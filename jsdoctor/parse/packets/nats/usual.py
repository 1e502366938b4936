"""The usual messages in a row: publishes without headers, and the replies to them. Most captures have little else.

`conversation` understands these as well, one call after another; a capture has hundreds of thousands of them, and
calls are what they cost. Here each kind is one loop over the bytes. Anything unusual (headers, another notation, a
subject of the server, a body that is wanted and incomplete, damage) ends the loop and goes the long way.

Both kinds return where to go on: behind the last message that was understood. That lies beyond the text where the body
of a publish does, as nothing in there is wanted.
"""

from __future__ import annotations

from jsdoctor.parse.packets.nats.lines import Usual
from jsdoctor.parse.packets.nats.publishing import MAX_SUBJECTS, MAX_WAITING, PublishTally

MAX_REPLY_LENGTH = 4096
_MAX_DIGITS = 9
_DOLLAR = ord("$")


def publishes(tally: PublishTally) -> Usual:
    """Reads `PUB SUBJECT [REPLY] LENGTH`, from the beginning of a line."""
    waiting, by_subject = tally.waiting, tally.by_subject

    def read(at_ns: int, text: bytes, at: int) -> int:
        size, find = len(text), text.find
        while at < size and (end := find(b"\r\n", at)) > 0:
            words = text[at:end].split()
            if len(words) == 4:
                verb, subject, reply, digits = words
            elif len(words) == 3:
                verb, subject, digits = words
                reply = b""
            else:
                break
            if verb != b"PUB" or subject[0] == _DOLLAR or not digits.isdigit() or len(digits) > _MAX_DIGITS:
                break
            behind = end + 4 + int(digits)
            if behind <= size and text[behind - 2 : behind] != b"\r\n":
                break
            at = behind
            tally.messages += 1
            if subject in by_subject or len(by_subject) < MAX_SUBJECTS:
                by_subject[subject] = by_subject.get(subject, 0) + 1
            if reply:
                tally.requests += 1
                if len(waiting) >= MAX_WAITING:
                    waiting.popitem(last=False)
                waiting[reply] = (at_ns, subject, None, None, False)
        return at

    return read


def answers(tally: PublishTally) -> Usual:
    """Reads `MSG SUBJECT SID LENGTH` and its body, where a publish waits for it, from the beginning of a line."""
    waiting, answered = tally.waiting, tally.answered

    def read(at_ns: int, text: bytes, at: int) -> int:
        if text[at + 4 : text.find(b" ", at + 4)] not in waiting:
            return at
        parts = iter((text[at:] if at else text).split(b"\r\n")[:-1])
        for line, body in zip(parts, parts, strict=False):
            words = line.split()
            length = len(body)
            if (
                len(words) != 4
                or words[0] != b"MSG"
                or words[3] != b"%d" % length
                or not 0 < length <= MAX_REPLY_LENGTH
            ):
                break
            pending = waiting.pop(words[1], None)
            if pending is None:
                break
            at += len(line) + length + 4
            answered(at_ns, pending, body)
        return at

    return read
