"""Proof: whether the rules that asked for a step still fail. Looking and judging is for whoever has evidence."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import Enum

import msgspec

from jsdoctor.model.plan import StepProof


class ProofResult(Enum):
    """What a rule says of a subject now."""

    GONE = "gone"
    THERE = "still there"
    UNKNOWN = "not to be judged"


class ProofVerdict(msgspec.Struct, frozen=True):
    """The answer for one proof, and the rule's words."""

    finds: ProofResult
    text: str = ""


Examine = Callable[[Sequence[StepProof]], Awaitable[Mapping[StepProof, ProofVerdict]]]
"""Collects fresh evidence and runs the rules on it. Raises what collection raises when there is no connection."""


def together(proofs: Sequence[StepProof], verdicts: Mapping[StepProof, ProofVerdict]) -> ProofVerdict:
    """All proofs of a step as one: one that still fails outweighs one that cannot be judged."""
    said = [(proof, verdicts.get(proof, ProofVerdict(ProofResult.UNKNOWN, "it was not judged"))) for proof in proofs]
    for finds in (ProofResult.THERE, ProofResult.UNKNOWN):
        texts = [f"{proof.code}: {verdict.text}" for proof, verdict in said if verdict.finds is finds]
        if texts:
            return ProofVerdict(finds, "; ".join(texts))
    return ProofVerdict(ProofResult.GONE, ", ".join(f"{proof.code} no longer fails" for proof in proofs))
