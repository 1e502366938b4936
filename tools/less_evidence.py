"""The evidence of a case with parts of it missing, as when a server does not reply at one of its endpoints."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from jsdoctor.model.evidence import EvidenceSet, Gaps
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.links import Links
from jsdoctor.model.rule import Rule
from jsdoctor.model.server import Servers
from tests.support.ruleset import checks

_MISSING = Gap(kind="access", subject=CLUSTER, reason="left out", how_to_get="ask for it")
_PARTS: dict[type[Servers | Links], tuple[str, ...]] = {
    Servers: ("varz", "jetstream", "health"),
    Links: ("gateways", "leafs", "routes"),
}


def less_evidence(rule: Rule, evidence: EvidenceSet) -> Iterator[tuple[str, EvidenceSet]]:
    """What is missing, and the rest: each kind that a check of the rule can do without, and each reply of servers."""
    used = [checks()[name] for name in rule.checks]
    for kind in sorted(
        {optional_kind for check in used for optional_kind in check.optional.values()},
        key=lambda optional_kind: optional_kind.__name__,
    ):
        if evidence.get(kind) is not None and kind is not Gaps:
            yield f"without {kind.__name__}", evidence.without(kind, _MISSING)
    kinds = {kind for check in used for kind in check.kinds}
    for part_of, parts in _PARTS.items():
        part_evidence = evidence.get(part_of)
        if part_of in kinds and isinstance(part_evidence, (Servers, Links)):
            for part in parts:
                yield (
                    f"without {part} of any server",
                    evidence.joined(_without(part_evidence, part, len(part_evidence.servers))),
                )
                yield f"without {part} of one server", evidence.joined(_without(part_evidence, part, 1))


def _without(part_evidence: Servers | Links, part: str, count: int) -> Servers | Links:
    """What so many servers, the first of all, did not show of themselves."""
    shown = [msgspec.structs.replace(server, **{part: None}) for server in part_evidence.servers[:count]]
    return msgspec.structs.replace(part_evidence, servers=(*shown, *part_evidence.servers[count:]))
