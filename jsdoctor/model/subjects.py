"""Subjects: whether two patterns can mean the same message (server: sublist.go SubjectsCollide); API operations."""

from __future__ import annotations

from itertools import takewhile


def subjects_overlap(first: str, second: str) -> bool:
    """Whether some subject matches both patterns. `*` stands for one token, a final `>` for one or more."""
    if first == second:
        return True
    left, right = first.split("."), second.split(".")
    for a, b in zip(left, right, strict=False):
        if a == ">" or b == ">":
            return True
        if a != b and "*" not in (a, b):
            return False
    return len(left) == len(right)


def overlaps_any(pattern: str, others: tuple[str, ...]) -> bool:
    """Whether some subject matches `pattern` and at least one of `others`."""
    return any(subjects_overlap(pattern, other) for other in others)


def is_subject(subject: str) -> bool:
    """Whether servers accept it as a subject, wildcards included (server: sublist.go isValidSubject)."""
    tokens = subject.split(".")
    if any(not token or any(letter in " \t\n\r\f" for letter in token) for token in tokens):
        return False
    return ">" not in tokens[:-1]


def subject_contains(wide: str, narrow: str) -> bool:
    """Whether every subject of `narrow` is one of `wide` (server: sublist.go subjectIsSubsetMatch)."""
    left, right = wide.split("."), narrow.split(".")
    for number, token in enumerate(left):
        if token == ">":
            return len(right) > number
        if number >= len(right) or right[number] == ">" or (token not in ("*", right[number])):
            return False
    return len(left) == len(right)


def common_subject(first: str, second: str) -> str:
    """The pattern of all subjects that match both; empty if there are none."""
    tokens: list[str] = []
    left, right = first.split("."), second.split(".")
    for number in range(max(len(left), len(right))):
        a = left[number] if number < len(left) else ""
        b = right[number] if number < len(right) else ""
        if a == ">" or b == ">":
            rest = right[number:] if a == ">" else left[number:]
            return ".".join([*tokens, *rest]) if rest else ""
        if not a or not b or (a != b and "*" not in (a, b)):
            return ""
        tokens.append(b if a == "*" else a)
    return ".".join(tokens)


_API_WORDS = {
    *("STREAM", "CONSUMER", "INFO", "CREATE", "UPDATE", "DELETE", "LIST", "NAMES", "PURGE", "SNAPSHOT", "RESTORE"),
    *("MSG", "GET", "DIRECT", "LEADER", "STEPDOWN", "PEER", "REMOVE", "ACCOUNT", "META", "SERVER", "DURABLE", "NEXT"),
    *("PAUSE", "UNPIN", "TEMPLATE", "MOVE", "CANCEL_MOVE"),
}


def api_operation(subject: str) -> str:
    """The operation of a JetStream API subject without names: `STREAM.INFO` of `$JS.API.STREAM.INFO.ORDERS`."""
    words = subject.partition(".API.")[2].split(".")
    return ".".join(takewhile(_API_WORDS.__contains__, words)) or "other"
