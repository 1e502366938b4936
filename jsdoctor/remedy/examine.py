"""Proof: whether the rules that led to a step still fail. The caller provides the collection and the evaluation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import Enum

import msgspec

from jsdoctor.model.plan import StepProof


class ProofResult(Enum):
    """The present outcome of a rule for a subject."""

    GONE = "gone"
    THERE = "still there"
    UNKNOWN = "not to be judged"


class ProofVerdict(msgspec.Struct, frozen=True):
    """The result of one proof, and the message of the rule."""

    finds: ProofResult
    text: str = ""


Examine = Callable[[Sequence[StepProof]], Awaitable[Mapping[StepProof, ProofVerdict]]]
"""Collects fresh evidence and evaluates the rules. Raises the errors of the collection if there is no connection."""


def together(proofs: Sequence[StepProof], verdicts: Mapping[StepProof, ProofVerdict]) -> ProofVerdict:
    """All proofs of a step as one: one that still fails outweighs one that cannot be judged."""
    stated = [(proof, verdicts.get(proof, ProofVerdict(ProofResult.UNKNOWN, "it was not judged"))) for proof in proofs]
    for finds in (ProofResult.THERE, ProofResult.UNKNOWN):
        texts = [f"{proof.code}: {verdict.text}" for proof, verdict in stated if verdict.finds is finds]
        if texts:
            return ProofVerdict(finds, "; ".join(texts))
    return ProofVerdict(ProofResult.GONE, ", ".join(f"{proof.code} no longer fails" for proof in proofs))
