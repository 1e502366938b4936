"""What each rule says in its cases, to the word: messages, measured values, evidence, commands, and what passes."""

from __future__ import annotations

import shlex

import pytest

from jsdoctor.engine import runner
from jsdoctor.model.params import Params
from jsdoctor.model.report import Result
from tests.support.ruleset import actions, rules
from tools.golden_results import path_of, results_of, written


@pytest.mark.parametrize("code", [rule.code for rule in rules()])
def test_results_are_those_of_the_golden_file(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And every parameter of the page is read in some case, and every command can be written."""
    seen: list[Params] = []

    class Watched(Params):
        def __init__(self, values: dict[str, float | int | None]) -> None:
            super().__init__(values)
            seen.append(self)

    monkeypatch.setattr(runner, "Params", Watched)
    results = results_of(code)
    path = path_of(code)
    assert path.exists(), f"there is no {path}; `make golden RULE={code}` writes it"
    accepts = f"{path} differs; `make golden RULE={code}` accepts it"
    assert written(code, results) == path.read_text(encoding="utf-8"), accepts
    rule = next(rule for rule in rules() if rule.code == code)
    assert set().union(*(params.used for params in seen)) == set(rule.params), "a parameter that no case reads is dead"
    if rule.remedy is not None:
        assert actions()[rule.remedy.action].risk is rule.remedy.risk
    for result in (result for _, several in results for result in several):
        _assert_commands(result)


def _assert_commands(result: Result) -> None:
    """An action on a stream is offered for a stream, and no command has an empty word."""
    if result.remedy is not None:
        kind, about = result.remedy.action.partition(".")[0], result.finding.subject.kind
        assert kind not in ("stream", "consumer") or kind == about, f"{result.remedy.action} on a {about}"
        assert not [command for command in result.remedy.commands if "" in shlex.split(command)]
