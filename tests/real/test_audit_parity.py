"""What `nats audit analyze` finds in an archive is found here in the same archive, with the thing it is about named.

Run with -s to see the table: every check, what it said, and what was said here of the same things.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path

import pytest

from tests.real.audit_clusters import archives
from tests.real.ward import Json, run_check
from tests.servers import ROOT, cluster_factories
from tests.support.ruleset import rules

pytestmark = pytest.mark.real
STATES = ("misconfigured", "worn", "overloaded", "of yesterday", "one server down", "no quorum")

FALSE = [
    ("JETSTREAM_003", r"stream RING ", "a stream that removes its oldest messages at the limit is meant to be full"),
    ("JETSTREAM_003", r"stream PAIR ", "a max_consumers this small is the exact number that somebody wants"),
    ("JETSTREAM_004", r"Expected 0 replicas", "without peer-expect nobody said how many replicas there should be"),
    ("JETSTREAM_005", r"consumer prompt .* Last ack", "its age is that of the archive: it was fine when gathered"),
]
"""What they flag and is no fault: check, which of its examples, why. Nothing may be said of these here."""

UNDECIDED = [
    ("SERVER_003", "one reading of a processor may be a moment; the server is named, and that two readings are needed"),
]
"""What they flag and one archive cannot decide: here it is not evaluated, for that subject, and never passed."""

UNHEARD = {"JSD702", "JSD901"}
"""What servers still show of a stream whose leader is gone is old. Here that is said, and its limits are not judged.
Without a meta leader nobody tells which members are away: those that did not respond are named."""


@cache
def mapping() -> dict[str, set[str]]:
    """Our rules by the code of their check."""
    peers = tomllib.loads((ROOT / "docs" / "peers.toml").read_text())
    return {entry["code"]: {rule.partition(".")[0] for rule in entry.get("ours", ())} for entry in peers["audit"]}


class Verdicts:
    """One archive, judged by both."""

    def __init__(self, nats_cli: Path, path: Path) -> None:
        command = [str(nats_cli), "audit", "analyze", str(path), "--json", "--max-examples", "0"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        self.theirs: list[Json] = json.loads(done.stdout)["checks"]
        # The streams are seconds old, so that their copies would not be compared yet.
        _, self.report = run_check("--bundle", str(path), "-vv", "--set", "JSD207.settle=0s")

    def flagged(self) -> list[tuple[str, str]]:
        """Code and example of all that is WARN or FAIL there."""
        return [
            (check["check"]["code"], example)
            for check in self.theirs
            if check["outcome_string"] in ("WARN", "FAIL")
            for example in check["examples"]["examples"]
        ]

    def ours(self, code: str, example: str, outcome: str = "fail") -> list[Json]:
        """What the rules for that check say of what the example names."""
        return self._of(mapping()[code], example, outcome)

    def is_unheard(self, code: str, example: str) -> bool:
        """Whether that stream, consumer or meta group has no leader that could tell, and this is reported of it."""
        leaderless = code.startswith("JETSTREAM") or (code == "META_001" and self._of({"JSD701"}, example, "fail"))
        return bool(leaderless and self._of(UNHEARD, example, "fail"))

    def _of(self, rules: AbstractSet[str], example: str, outcome: str) -> list[Json]:
        return [
            result
            for result in self.report["results"]
            if result["code"] in rules and result["outcome"] == outcome and _names(example, result["subject"])
        ]


def _names(example: str, subject: Json) -> bool:
    """Whether it is about that subject; about the cluster as a whole, where no name is given."""
    if not subject["name"]:
        return bool(subject["kind"] == "cluster")
    names = filter(None, (subject["name"], subject["stream"]))
    return all(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", example) for name in names)


def _known_false(code: str, example: str) -> bool:
    return any(code == check and re.search(pattern, example) for check, pattern, _ in FALSE)


@pytest.fixture(scope="module")
def verdicts(nats_cli: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdicts]:
    directory = tmp_path_factory.mktemp("parity")
    with cluster_factories(directory / "clusters") as launch:
        paths = archives(nats_cli, launch, directory)
    return {state: Verdicts(nats_cli, path) for state, path in paths.items()}


@pytest.mark.parametrize("state", STATES)
def test_all_that_they_flag_is_flagged(verdicts: dict[str, Verdicts], state: str) -> None:
    judged, missing = verdicts[state], []
    sys.stdout.write(f"\n{state}\n{_table(judged)}\n")
    built = {rule.code for rule in rules()}
    for code, example in judged.flagged():
        if _known_false(code, example) or not mapping()[code] & built or judged.is_unheard(code, example):
            continue
        if not judged.ours(code, example, "not_evaluated" if code in dict(UNDECIDED) else "fail"):
            missing.append(f"{code} {example}: none of {', '.join(sorted(mapping()[code]))}")
    assert not missing
    assert judged.flagged(), "this state shows nothing"


def test_their_false_alarms_are_not_repeated(verdicts: dict[str, Verdicts]) -> None:
    """Each of them was raised, and nothing was said of it here."""
    raised = {(code, example): judged for judged in verdicts.values() for code, example in judged.flagged()}
    for check, pattern, why in FALSE:
        false_alarms = [
            (key, judged) for key, judged in raised.items() if key[0] == check and re.search(pattern, key[1])
        ]
        assert false_alarms, f"{check} {pattern} is not raised any more: {why}"
        for (code, example), judged in false_alarms:
            assert not judged.ours(code, example), why


def test_every_check_that_can_fail_did(verdicts: dict[str, Verdicts]) -> None:
    """All but one of their checks were made to speak, so that this comparison leaves none out.

    ACCOUNTS_001 reads its file without the envelope that is around it since 0.2.0, and finds no account's limits.
    """
    spoke = {code for judged in verdicts.values() for code, _ in judged.flagged()}
    known = {check["check"]["code"] for check in verdicts["worn"].theirs}
    assert known == set(mapping())
    assert known - spoke == {"ACCOUNTS_001"}


def test_profiles_put_time_between_two_samples(verdicts: dict[str, Verdicts]) -> None:
    """Rates need two looks. An archive without profiles has them too close together, and says so."""
    apart, close = ({r["code"]: r for r in verdicts[state].report["rules"]} for state in ("worn", "one server down"))
    for code in ("JSD205", "JSD206", "JSD704"):
        assert apart[code]["outcome"] == "pass"
        assert close[code]["outcome"] == "not_evaluated"
        assert "two samples" in close[code]["reason"]


def _table(judged: Verdicts) -> str:
    lines = [f"{'check':14} {'there':5} {'examples':>8}  here"]
    for check in judged.theirs:
        code, examples = check["check"]["code"], check["examples"].get("examples", ())
        here: dict[str, set[str]] = {}
        for example in examples:
            if _known_false(code, example):
                here.setdefault("silent on purpose", set()).add(example)
            for outcome in ("fail", "not_evaluated"):
                for result in judged.ours(code, example, outcome):
                    subject = "/".join(filter(None, (result["subject"][p] for p in ("account", "stream", "name"))))
                    words = result["severity"] if outcome == "fail" else "not evaluated"
                    here.setdefault(f"{result['code']} {words}", set()).add(subject or "cluster")
        words = "; ".join(f"{judged_as}: {', '.join(sorted(about))}" for judged_as, about in here.items())
        lines.append(f"{code:14} {check['outcome_string']:5} {len(examples):8}  {words or '-'}")
    return "\n".join(lines)
