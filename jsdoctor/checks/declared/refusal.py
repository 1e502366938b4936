"""Why a server refuses a configuration, which releases do, and one finding for it with all reasons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from jsdoctor.model.finding import Finding, Observation, Severity, failed
from jsdoctor.model.jetstream import ConsumerConfig, StreamConfig
from jsdoctor.model.manifest import DeclaredConsumer, DeclaredStream, Mistake
from jsdoctor.model.setting import OLDEST, Release, rows


class ServerRefusal(NamedTuple):
    """One reason, the field at fault, and the error code of the server; 0 where servers differ in it.

    `since` is the first release that refuses it, `before` the first that no longer does; None: all later ones do.
    """

    field: str
    says: str
    err_code: int = 10052
    since: Release = OLDEST
    before: Release | None = None

    @property
    def text(self) -> str:
        """The reason with the server's code, by which logs and clients know it."""
        return f"{self.says} (error {self.err_code})" if self.err_code else self.says

    @property
    def everywhere(self) -> bool:
        """Whether every supported release refuses it: then no release needs to be known."""
        return self.since <= OLDEST and self.before is None

    @property
    def releases(self) -> str:
        """The releases that refuse it, in words."""
        first = "servers" if self.since <= OLDEST else f"servers from {_number(self.since)} on"
        return f"{first} before {_number(self.before)}" if self.before else first

    def applies(self, release: Release) -> bool:
        """Whether a server of this release refuses it; of an unknown one (empty) only what all refuse is certain."""
        if not release:
            return self.everywhere
        return release >= self.since and (self.before is None or release < self.before)


def certain(refusals: Iterable[ServerRefusal], release: Release) -> list[ServerRefusal]:
    """What a server of this release refuses for certain."""
    return [refusal for refusal in refusals if refusal.applies(release)]


def possible(refusals: Iterable[ServerRefusal], release: Release) -> list[ServerRefusal]:
    """What some servers refuse, where it is not known which one it will be."""
    return [] if release else [refusal for refusal in refusals if not refusal.everywhere]


def later_fields(config: StreamConfig | ConsumerConfig, release: Release) -> Iterator[ServerRefusal]:
    """Fields that are set and that a server of this release does not have: it leaves them out silently."""
    for row in rows(type(config)) if release else ():
        if release < row.setting.since and getattr(config, row.attribute) not in (row.default, "none", "default"):
            text = f"{row.name}: servers before {_number(row.setting.since)} drop it without an error"
            yield ServerRefusal(row.name, text, 0)


def _number(release: Release) -> str:
    return ".".join(str(part) for part in release)


_Reason = tuple[str, Observation]


def verdict(
    asset: DeclaredStream | DeclaredConsumer,
    refusals: Sequence[ServerRefusal],
    dropped: Sequence[ServerRefusal],
    release: tuple[int, ...],
) -> Finding | None:
    """The finding for a declared asset: what its tool or else the server refuses, and what is dropped.

    Else what some servers refuse, if the `release` of the server is not known (empty); else None.
    """
    wrong = [_mistake(mistake) for mistake in asset.mistakes if not mistake.ignored]
    who = asset.tool if wrong else "the server"
    reasons = _with_opening(f"{who} will refuse it", wrong or [_refusal(asset, r) for r in certain(refusals, release)])
    left_out = [mistake for mistake in asset.mistakes if mistake.ignored]
    lost = [*(_mistake(mistake) for mistake in left_out), *(_refusal(asset, refusal) for refusal in dropped)]
    if reasons:
        return _finding(asset, [*reasons, *lost], Severity.ERROR)
    if lost:
        sure = dropped or not all(mistake.unsure for mistake in left_out)
        return _finding(asset, lost, Severity.WARNING if sure else Severity.INFO)
    some = [(f"{r.releases} will refuse it: {r.text}", shown(asset, r)) for r in possible(refusals, release)]
    return _finding(asset, some, Severity.INFO) if some else None


def shown(asset: DeclaredStream | DeclaredConsumer, refusal: ServerRefusal) -> Observation:
    """A reason at the line of its field."""
    return asset.at(refusal.field).shows(refusal.says)


def _refusal(asset: DeclaredStream | DeclaredConsumer, refusal: ServerRefusal) -> _Reason:
    return refusal.text, shown(asset, refusal)


def _mistake(mistake: Mistake) -> _Reason:
    return mistake.says, mistake.place.shows(mistake.says)


def _with_opening(opening: str, reasons: Sequence[_Reason]) -> list[_Reason]:
    """The reasons, the first one with `opening` before it."""
    return [(f"{opening}: {text}" if number == 0 else text, seen) for number, (text, seen) in enumerate(reasons)]


def _finding(asset: DeclaredStream | DeclaredConsumer, reasons: Sequence[_Reason], severity: Severity) -> Finding:
    return failed(
        asset.subject,
        "; ".join(dict.fromkeys(text for text, _ in reasons)),
        *(seen for _, seen in reasons),
        severity=severity,
    )


_MAX_DESCRIPTION_LENGTH = 4096
_MAX_METADATA_BYTES = 128 * 1024

_SERVER_LABELS = frozenset({"_nats.req.level", "_nats.level", "_nats.ver"})
"""Labels that servers from 2.11 on set themselves, whatever a configuration has."""

_LEVEL_BYTES = len("_nats.req.level") + len("0")
"""Size of the one label that they store, and count."""


def of_descriptions(
    description: str, metadata: Mapping[str, str], description_code: int, metadata_code: int
) -> Iterator[ServerRefusal]:
    """Why servers do not take these, with the error codes that they give."""
    if len(description.encode()) > _MAX_DESCRIPTION_LENGTH:
        text = f"the description is longer than {_MAX_DESCRIPTION_LENGTH:,} bytes"
        yield ServerRefusal("description", text, description_code)
    size = sum(len(key.encode()) + len(value.encode()) for key, value in metadata.items() if key not in _SERVER_LABELS)
    if size > _MAX_METADATA_BYTES:
        yield ServerRefusal("metadata", f"the metadata is larger than {_MAX_METADATA_BYTES:,} bytes", metadata_code)
    elif size + _LEVEL_BYTES > _MAX_METADATA_BYTES:
        text = f"the metadata is larger than {_MAX_METADATA_BYTES:,} bytes together with the label that servers add"
        yield ServerRefusal("metadata", text, metadata_code, since=(2, 11))


def of_negative_numbers(config: StreamConfig | ConsumerConfig) -> Iterator[ServerRefusal]:
    """Negative numbers that servers take and read as something else (seen with 2.10.26, 2.12.8 and 2.15.1)."""
    for row in rows(type(config)):
        value = getattr(config, row.attribute)
        if row.negative == -1 and value < -1:
            yield ServerRefusal(row.name, f"{row.name}: {value} sets no limit; write -1 if that is intended", 0)
        elif row.negative == 0 and value < 0 and isinstance(config, ConsumerConfig):
            yield ServerRefusal(row.name, f"{row.name} is negative: servers from 2.11 on read it as not set", 0)
    limits = config.consumer_limits if isinstance(config, StreamConfig) else None
    if limits and (limits.max_ack_pending < -1 or limits.inactive_threshold_ns < 0):
        name = "max_ack_pending" if limits.max_ack_pending < -1 else "inactive_threshold"
        effect = "servers take it, and set no limit; leave it out if that is intended"
        yield ServerRefusal("consumer_limits", f"consumer_limits.{name} is negative: {effect}", 0)
