"""Stored subjects that a consumer's filter misses by one letter, or by a `*` for several tokens."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from jsdoctor.model.evidence import Evidence, not_offered
from jsdoctor.model.subjects import subject_contains

MIN_TOKEN = 5
"""Minimum length of a token: among shorter names, too many are one letter apart and both intended."""


class Nearness(StrEnum):
    """How a stored subject differs from a filter. `END`: in the last letter of a token, as `create` and `created`.
    `DEPTH`: it has more tokens than a filter with a `*` at its end takes.
    """

    CASE = "case"
    LETTER = "letter"
    END = "end"
    DEPTH = "depth"


class NearSubject(msgspec.Struct, frozen=True):
    """A stored subject that nearly matches a filter, with the number of its messages."""

    subject: str
    messages: int
    nearness: Nearness


class FilterSubjects(msgspec.Struct, frozen=True):
    """What a stream stores for one filter: messages that match it, and subjects that nearly do, most messages first."""

    account: str
    stream: str
    filter: str
    matching: int = 0
    near: tuple[NearSubject, ...] = ()


class FullSubjects(msgspec.Struct, frozen=True):
    """How many subjects of a stream have as many messages as it allows for each, or more."""

    account: str
    stream: str
    full: int


class UploadSubjects(msgspec.Struct, frozen=True):
    """The subjects of an object store: one for each upload, under which its chunks are, and one for each object name.

    `spare_chunks`: how many chunks the smallest uploads have, as many of them as exceed the objects.
    """

    account: str
    stream: str
    uploads: int
    objects: int
    spare_chunks: int = 0


class NearSubjects(Evidence, frozen=True):
    """Every filter whose stream was queried for its subjects.

    `too_many`: streams that were not queried, with the number of their subjects. `full`: of the streams that refuse
    messages of a subject that has enough. `uploads`: of object stores.
    """

    parts = ("near_subjects",)
    unavailable = not_offered(
        "no subjects of streams were requested: no filter or full subject of this account is in doubt, or the login is"
        " of another account",
        "use a login of the account that owns the stream",
    )

    filters: tuple[FilterSubjects, ...]
    too_many: tuple[tuple[str, str, int], ...] = ()
    full: tuple[FullSubjects, ...] = ()
    uploads: tuple[UploadSubjects, ...] = ()

    def joined(self, other: NearSubjects) -> NearSubjects:
        """These and those of another login."""
        return NearSubjects(
            (*other.filters, *self.filters),
            (*other.too_many, *self.too_many),
            (*other.full, *self.full),
            (*other.uploads, *self.uploads),
        )

    def uploads_of(self, account: str, stream: str) -> UploadSubjects | None:
        """The uploads and objects of that object store, None if they were not counted."""
        return next((each for each in self.uploads if (each.account, each.stream) == (account, stream)), None)

    def number_of(self, account: str, stream: str) -> int | None:
        """How many subjects that stream has, if they were too many to request."""
        return next((count for *key, count in self.too_many if key == [account, stream]), None)

    def full_subjects(self, account: str, stream: str) -> int | None:
        """How many subjects of that stream are full, None if they were not counted."""
        return next((each.full for each in self.full if (each.account, each.stream) == (account, stream)), None)

    def of(self, account: str, stream: str, filter_: str) -> FilterSubjects | None:
        """The result for a filter, None if the stream was not queried."""
        wanted = (account, stream, filter_)
        return next(
            (filters for filters in self.filters if (filters.account, filters.stream, filters.filter) == wanted), None
        )


def with_all_depths(filter_: str) -> str | None:
    """The filter with `>` in place of the `*` at its end, which takes one token only; None where it ends otherwise."""
    return f"{filter_.removesuffix('*')}>" if filter_.endswith(".*") else None


def nearness(filter_: str, subject: str) -> Nearness | None:
    """How `subject` misses `filter_` in just one literal token; None where it matches or differs in more."""
    if subject_contains(filter_, subject):
        return None
    wanted, result = filter_.split("."), subject.split(".")
    if wanted[-1] == ">":
        wanted, result = wanted[:-1], result[: len(wanted) - 1]
    if len(wanted) != len(result):
        return None
    different = [(a, b) for a, b in zip(wanted, result, strict=True) if a not in ("*", b)]
    return _token_nearness(*different[0]) if len(different) == 1 else None


def _token_nearness(first: str, second: str) -> Nearness | None:
    """The difference of two tokens. Digits are part of an identity: `eu1` and `eu2` are both meant."""
    if min(len(first), len(second)) < MIN_TOKEN:
        return None
    if first.casefold() == second.casefold():
        return Nearness.CASE
    start = 0
    while start < min(len(first), len(second)) and first[start] == second[start]:
        start += 1
    left, right = first[start:], second[start:]
    while left and right and left[-1] == right[-1]:
        left, right = left[:-1], right[:-1]
    swapped = len(left) == 2 and left == right[::-1]
    if not swapped and max(len(left), len(right)) > 1:
        return None
    if any(not letter.isalpha() for letter in left + right):
        return None
    at_end = start + max(len(left), len(right)) >= max(len(first), len(second))
    return Nearness.END if at_end and not swapped else Nearness.LETTER
