"""Whether a signature does what it says: its pattern is portable, and finds its own examples."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.model.rule import Signature
from jsdoctor.parse.logs.lines.engine import Pattern, group_count, portable
from jsdoctor.parse.logs.lines.line import read_line
from jsdoctor.parse.logs.lines.matcher import TEXT_CAP, wants

_YEAR = 2026  # for examples of syslog lines, which have none


def signature_problems(signature: Signature) -> Iterator[str]:
    """Everything wrong with a signature that only running it can tell."""
    refused = portable(signature.pattern)
    if refused is not None:
        yield f"signature {signature.name!r}: its pattern is not portable: {refused}"
        return
    groups = group_count(signature.pattern)
    if groups != len(signature.fields):
        yield f"signature {signature.name!r} has {groups} groups and {len(signature.fields)} fields"
    for example in signature.examples:
        problem = _example_problem(signature, example.encode())
        if problem:
            yield f"signature {signature.name!r}: {problem}: {example[:100]}"


def _example_problem(signature: Signature, example: bytes) -> str:
    line = read_line(example, _YEAR)
    text = line.text[:TEXT_CAP]
    if not wants(signature, line.server, line.level):
        who = "a server's" if line.server else "not a server's"
        return f"its source and levels leave out this example, which is {who} line of level {line.level or 'none'}"
    if signature.contains.encode() not in text:
        return f"this example does not contain {signature.contains!r}"
    groups = Pattern(signature.pattern, short=len(text)).groups(text)
    if groups is None:
        return "its pattern does not match this example"
    if Pattern(signature.pattern, short=-1).groups(text) != groups:
        return "Python's re and RE2 read this example differently"
    return ""
