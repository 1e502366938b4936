"""Manifests for rule tests: whole files of every kind, alone or beside a recorded deployment.

In `fixtures/rules/<CODE>/cases.toml` these are the tables `manifest_case`:

    [[manifest_case]]
    kind = "fires"                     # fires | silent | below | above | fixed | unknown
    about = "nothing limits it"
    like = "..."                       # an earlier case by its `about`: this has all of it, and more
    files = ["nack/orders.yaml"]       # below fixtures/manifests (globs)
    text = { "s.yaml" = '''...''' }    # instead, or besides: small manifests in full
    replace = { "R3" = "R1" }          # each of these parts of the texts by another
    base = "three-nodes-2.15.1"        # a recording beside them, edited as in tests/support/evidence.py
    params = { min_ack_wait = "5s" }   # optional overrides, in the parameter's unit (durations as text)
    [[manifest_case.expect]]                    # exactly the failures of this rule; none for silent, below, fixed
    subject = "ORDERS"                 # the label's parts joined by "/"
    severity = "error"                 # default: the rule's own
    outcome = "fail"                   # fail (default) | not_evaluated
    at = "s.yaml:6:3"                  # where the first evidence of a failure stands
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from jsdoctor.model.evidence import EvidenceSet, Gaps
from jsdoctor.model.evidence_kinds import KINDS as EVIDENCE_KINDS
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.manifest import Manifests, RunningConfigurations
from jsdoctor.sources.manifests.load import load_manifests
from tests.support.evidence import evidence_of
from tests.support.ruleset import checks, rules

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures"
CORPUS = FIXTURES / "manifests"

Json = dict[str, Any]


def declared_rules() -> list[str]:
    """Codes of the rules with a check of manifests."""
    return [rule.code for rule in rules() if any(takes_manifests(name) for name in rule.checks)]


def takes_manifests(name: str) -> bool:
    """Whether this check works on manifests, or on the same configurations where servers have them mounted."""
    return bool({Manifests, RunningConfigurations} & set(checks()[name].required.values()))


def manifests_of(case: Json) -> Manifests:
    """What the files of a case declare. Files given as text are called by their names alone."""
    paths = [str(path.relative_to(ROOT)) for pattern in case.get("files", []) for path in sorted(CORPUS.glob(pattern))]
    assert len(paths) >= len(case.get("files", [])), f"no such manifest: {case['files']}"
    with TemporaryDirectory(prefix="jsdoctor-case-") as directory:
        for name, text in _texts(case).items():
            (Path(directory) / name).write_text(text)
            paths.append(str(Path(directory) / name))
        return load_manifests(paths)


def _texts(case: Json) -> Json:
    texts: Json = dict(case.get("text", {}))
    for old, new in case.get("replace", {}).items():
        assert any(old in text for text in texts.values()), f"no text has {old!r}"
        texts = {name: text.replace(old, new) for name, text in texts.items()}
    return texts


def manifest_evidence_of(case: Json) -> EvidenceSet:
    """What a run with `--manifest` has, alone or beside a deployment."""
    manifests = manifests_of(case)
    if "base" in case:
        return evidence_of(case).joined(manifests)
    gap = Gap(
        kind="access", subject=CLUSTER, reason="only manifests were read", how_to_get="name a server", requested=False
    )
    absent = {kind: gap for kind in EVIDENCE_KINDS if kind not in (Manifests, Gaps)}
    return EvidenceSet({Manifests: manifests, Gaps: Gaps(())}, absent)
