"""Which findings say the same of different subjects."""

from __future__ import annotations

import re

from jsdoctor.model.report import Result

_NUMBER = re.compile(r"\d[\d,.a-zµ]*")
"""Also a whole length of time: `1m30s` and `2s` are alike."""

_PLURAL = re.compile(r"# (\w+)s\b")


_WORD = re.compile(r"[^\s,;:()]+")


def likeness(result: Result) -> tuple[object, ...]:
    """Equal for findings that say the same of different subjects: but for names and numbers, the same message.

    The names are those of the subject and of the servers that showed it: where each stream lies is no difference.
    """
    finding, subject = result.finding, result.finding.subject
    servers = {observation.source for observation in finding.evidence}
    message = _WORD.sub(lambda word: "?" if word[0] in servers else word[0], finding.message)
    for name in sorted({subject.name, subject.stream, subject.account} - {""}, key=len, reverse=True):
        message = message.replace(name, "?")
    message = _PLURAL.sub(r"# \1", _NUMBER.sub("#", message))
    return (result.rule.code, result.severity, finding.confidence, subject.kind, message)
