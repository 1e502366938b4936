"""Manifests for the fuzzer: any text, under a name of any kind, read and judged by every rule."""

import contextlib
from collections.abc import Sequence
from functools import cache
from random import Random

from jsdoctor.engine.runner import evaluate
from jsdoctor.engine.select import select_rules
from jsdoctor.manifests.hcl_tree import hcl_document
from jsdoctor.manifests.read import Readers, read_manifest
from jsdoctor.manifests.yaml_tree import yaml_documents
from jsdoctor.model.evidence import EvidenceSet, Gaps
from jsdoctor.model.evidence_kinds import KINDS
from jsdoctor.model.finding import CLUSTER, Outcome
from jsdoctor.model.gap import Gap
from jsdoctor.model.manifest import Manifests
from tests.fuzz.mutation import mutate_json, mutate_text
from tests.support.manifest_cases import CORPUS
from tests.support.ruleset import checks, rules

READERS = Readers(lambda _file, _name: None, yaml_documents, hcl_document)
_GAP = Gap(kind="access", subject=CLUSTER, reason="only manifests", how_to_get="", requested=False)


@cache
def manifests() -> tuple[bytes, ...]:
    """The corpus, each file with its suffix in a line before it."""
    paths = sorted(path for path in CORPUS.rglob("*.*") if path.parent != CORPUS)
    return tuple(f"{path.suffix}\n{path.read_text()}".encode() for path in paths)


def mutate_manifest(random: Random, data: bytes, corpus: Sequence[bytes]) -> bytes:
    """Text by its characters; of JSON also the values."""
    suffix, _, text = data.partition(b"\n")
    others = [other.partition(b"\n")[2] for other in corpus]
    if suffix == b".json" and random.random() < 0.7:
        values = [other.partition(b"\n")[2] for other in corpus if other.startswith(b".json\n")]
        with contextlib.suppress(ValueError, OverflowError):  # it was mutated before, and is no JSON any more
            return b".json\n" + mutate_json(random, text, values)
    return suffix + b"\n" + mutate_text(random, text, others)


def check_manifest(data: bytes) -> None:
    """Read it, and run every rule with a check of manifests. A check that crashes must not hide behind its outcome."""
    suffix, _, rest = data.partition(b"\n")
    text = rest.decode(errors="replace")
    declared = read_manifest(f"m{suffix.decode(errors='replace')}", text, READERS)
    read = Manifests(
        streams=tuple(declared.streams),
        consumers=tuple(declared.consumers),
        servers=tuple(declared.servers),
        logins=tuple(declared.logins),
    )
    telling = [rule.code for rule in rules() if any(Manifests in checks()[name].kinds for name in rule.checks)]
    absent = {kind: _GAP for kind in KINDS if kind not in (Manifests, Gaps)}
    evidence = EvidenceSet({Manifests: read, Gaps: Gaps(())}, absent)
    evaluation = evaluate(select_rules(rules(), telling), checks(), evidence, {}, keep_passes=True)
    for result in evaluation.results:
        if result.finding.outcome is Outcome.ERROR:
            raise AssertionError(f"{result.rule.code}: {result.finding.message}")
