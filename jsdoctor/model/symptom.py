"""A symptom as its page declares it: the texts that identify it, its causes, and the symptoms that follow it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec

FIRST_STEPS = "What to do first"
"""The heading of the section with a symptom's first steps."""


class Truth(StrEnum):
    """The verdict on a claim of public runbooks."""

    TRUE = "true"
    PARTLY = "partly"
    FALSE = "false"
    UNVERIFIED = "unverified"


class KnownText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Words of one `client` (Go, Python, ..., server, or people) for a symptom.

    `pattern` is searched anywhere in a text, whatever its capitals; every one of `examples` has it. `codes` are the API
    errors that have it, where they tell causes apart.
    """

    client: str
    pattern: str
    examples: tuple[str, ...]
    codes: tuple[int, ...] = ()


class Matching(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """By what a symptom is recognised: codes of API errors, log signatures, and texts.

    `signatures` names single ones. `rules` are codes of rules: the page is for all their signatures that no page names.
    """

    codes: tuple[int, ...] = ()
    signatures: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    texts: tuple[KnownText, ...] = ()


class Claim(msgspec.Struct, frozen=True):
    """A claim of a public runbook, the verdict on it, and what is correct."""

    claim: str
    verdict: Truth
    truth: str


class Symptom(msgspec.Struct, frozen=True, kw_only=True):
    """One symptom page, parsed.

    `causes` are rule codes, the most frequent first; `because` explains for each how it makes this symptom. `next` are
    the slugs of symptoms that tend to follow. `ruled_out_with` names evidence sources (`engine.ways`): at least one of
    them must have been used before a missing finding rules the cause out, because the state at one moment does not show
    earlier events. `errors` has the API errors of causes that make only these: they are no cause of a text with another
    one. `means` explains what the error text means, and what it does not mean. `shown_by` is the one observation that
    separates the symptom from similar ones.
    """

    slug: str
    title: str
    means: str
    shown_by: str
    matching: Matching
    causes: tuple[str, ...]
    because: Mapping[str, str]
    next: tuple[str, ...] = ()
    ruled_out_with: Mapping[str, tuple[str, ...]] = {}
    errors: Mapping[str, tuple[int, ...]] = {}
    claims: tuple[Claim, ...] = ()
    body: str = ""
    origin: str = ""


class ApiErrorCode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An error of the JetStream API (nats-server `server/errors.json`).

    `code` is the `err_code` of a reply, `status` its HTTP-like `code`. `since`: the first server release with it, empty
    for 2.10.0 and before.
    """

    code: int
    status: int
    name: str
    text: str
    since: str = ""
    help: str = ""
