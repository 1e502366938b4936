"""The rules of this run: shipped pages and those of `--rules DIR`, loaded with their checks and actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path

import msgspec

from jsdoctor.checks.registry import Check, load_checks
from jsdoctor.configuration.file import ConfigurationError
from jsdoctor.engine.loader import load_rules
from jsdoctor.engine.policies import policy_rules
from jsdoctor.engine.symptoms import SymptomBook, load_symptoms
from jsdoctor.model.policy import Policy
from jsdoctor.model.problems import UsageProblem
from jsdoctor.model.rule import Rule
from jsdoctor.remedy.operation import Action
from jsdoctor.sources.rule_pages import api_errors, shipped_pages, symptom_pages, user_pages, vocabulary


class Rulebook(msgspec.Struct, frozen=True):
    """Everything that evaluation and explanation need of the rules."""

    rules: tuple[Rule, ...]
    policy_checks: Mapping[str, Check] = msgspec.field(default_factory=dict)

    @property
    def checks(self) -> Mapping[str, Check]:
        """All checks by name. Their modules are imported here: completion and `explain` need none of them."""
        return {**load_checks(), **self.policy_checks}

    @staticmethod
    def actions() -> Mapping[str, Action]:
        """The actions of remedies. They are loaded where a finding has a remedy, or one is carried out."""
        from jsdoctor.remedy.registry import load_actions

        return load_actions()


def open_rulebook(
    directories: Sequence[Path] = (), policies: Sequence[Policy] = (), *, validate: bool = False
) -> Rulebook:
    """Load all rules, and policies as rules. `validate`: shipped pages, too, are compared with
    checks and actions.

    Raises `PageError` with every mistake in a page, `UsageProblem` for an unreadable one, and `ConfigurationError` for
    a policy with the code of a rule.
    """
    load_plugins()
    try:
        pages = [*shipped_pages(), *user_pages(directories)]
    except (OSError, UnicodeDecodeError) as error:
        where = getattr(error, "filename", None) or "a rule page"
        why = getattr(error, "strerror", None) or error
        raise UsageProblem(f"cannot read {where}: {why}", "check the --rules directories") from error
    if validate or directories:
        rules = load_rules(pages, load_checks(), frozenset(Rulebook.actions()))
    else:
        rules = load_rules(pages)
    if not policies:
        return Rulebook(rules)
    own, own_checks = policy_rules(policies)
    taken = {rule.code: rule.origin for rule in rules}
    if clashes := [rule for rule in own if rule.code in taken]:
        problems = [f"{rule.origin}: the code {rule.code} is already taken by {taken[rule.code]}" for rule in clashes]
        raise ConfigurationError(problems)
    return Rulebook((*rules, *own), own_checks)


def open_symptoms(rulebook: Rulebook, *, validate: bool = False) -> SymptomBook:
    """Load all symptoms; `validate` tries their patterns, too. Raises `PageError` with every mistake in a page."""
    return load_symptoms(symptom_pages(), api_errors(), vocabulary(), rulebook.rules, try_patterns=validate)


def load_plugins() -> None:
    """Import the checks of other packages: entry points of the group `jsdoctor.checks`. Raises `UsageProblem`."""
    for entry in entry_points(group="jsdoctor.checks"):
        try:
            entry.load()
        except Exception as error:  # a plug-in may fail in any way
            message = f"the plug-in {entry.name!r} ({entry.value}) cannot be loaded: {error}"
            raise UsageProblem(message, "repair or uninstall it") from error
