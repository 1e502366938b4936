"""`jsdoctor rules list`, `rules validate` and `explain`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from jsdoctor.app.configuration import load_configuration
from jsdoctor.app.outputs import Color
from jsdoctor.app.request import ConfigurationRequest
from jsdoctor.app.rulebook import Rulebook, open_rulebook, open_symptoms
from jsdoctor.checks.registry import Check
from jsdoctor.cli.output import options_for
from jsdoctor.configuration.file import Configuration, ConfigurationError
from jsdoctor.engine.select import find_rule
from jsdoctor.engine.verdict import ExitCode
from jsdoctor.model.evidence import EvidenceSource
from jsdoctor.model.problems import UsageProblem
from jsdoctor.model.rule import Risk, Rule
from jsdoctor.render.explain import api_error_markdown, page_markdown, symptom_markdown
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.rule_list import rules_json, rules_text

_API_ERROR_DIGITS = 5


class RuleFilter(NamedTuple):
    """Which rules of the catalogue are wanted; what is empty leaves none out."""

    severity: str = ""
    family: str = ""
    evidence: str = ""
    fixable: bool = False

    def takes(self, rule: Rule, checks: Mapping[str, Check]) -> bool:
        """Whether the rule is wanted."""
        kinds = {kind for name in rule.checks for kind in checks[name].kinds} if self.evidence else set()
        return (
            self.severity in ("", rule.severity.value)
            and self.family in ("", rule.failure_mode)
            and (not self.evidence or any(self.evidence == (kind.source or EvidenceSource.LIVE) for kind in kinds))
            and (not self.fixable or (rule.remedy is not None and rule.remedy.risk is not Risk.MANUAL))
        )


def list_rules(directories: tuple[Path, ...], wanted: RuleFilter, format_: str, color: Color) -> ExitCode:
    """Print the catalogue. Titles are cut to the width of a terminal, and whole elsewhere."""
    config = _configuration_here()
    rulebook = open_rulebook(directories or config.rule_paths, config.policies)
    families = sorted({rule.failure_mode for rule in rulebook.rules})
    if wanted.family and wanted.family not in families:
        raise UsageProblem(f"there is no failure mode {wanted.family!r}", f"known are {', '.join(families)}")
    checks = rulebook.checks if wanted.evidence else {}
    rules = [rule for rule in rulebook.rules if wanted.takes(rule, checks)]
    options = _options(color)
    if not sys.stdout.isatty():
        options = replace(options, width=sys.maxsize)
    sys.stdout.write((rules_json if format_ == "json" else rules_text)(rules, options))
    return ExitCode.OK


def show_page(name: str, directories: tuple[Path, ...], color: Color) -> ExitCode:
    """Print the page of a rule, a symptom or an API error: drawn on a terminal, as Markdown elsewhere.

    If a rule and a symptom share a slug, print both: the rule describes one cause, the symptom all causes.
    """
    config = _configuration_here()
    rulebook = open_rulebook(directories or config.rule_paths, config.policies)
    options = _options(color, config.docs_url or "")
    if name.upper() in {rule.code for rule in rulebook.rules}:
        pages = [page_markdown(find_rule(rulebook.rules, name), options)]
    else:
        pages = _pages_of_slug(name, rulebook, options)
    if sys.stdout.isatty() or color is Color.ALWAYS:
        from jsdoctor.render.drawn import drawn

        pages = [drawn(page, options) for page in pages]
    sys.stdout.write("\n".join(pages))
    return ExitCode.OK


def _pages_of_slug(name: str, rulebook: Rulebook, options: RenderOptions) -> list[str]:
    """The pages of the rule and the symptom with that slug, or of the API error with that code."""
    book = open_symptoms(rulebook)
    symptom = book.symptom(name)
    error = book.api_error(int(name)) if name.isdecimal() and len(name) <= _API_ERROR_DIGITS else None
    if error is not None:
        return [api_error_markdown(error, book, rulebook.rules, options)]
    known = [symptom.slug for symptom in book.symptoms]
    pages = []
    if symptom is None or name.lower() in {rule.slug for rule in rulebook.rules}:
        pages.append(page_markdown(find_rule(rulebook.rules, name, known), options))
    if symptom is not None:
        pages.append(symptom_markdown(symptom, book, rulebook.rules, options))
    return pages


def validate_rules(directories: tuple[Path, ...]) -> ExitCode:
    """Load every page, which validates it, and print how many there are."""
    rulebook = open_rulebook(directories, validate=True)
    symptoms = open_symptoms(rulebook, validate=True).symptoms
    sys.stdout.write(f"{len(rulebook.rules)} rules, {len(symptoms)} symptoms, no mistakes\n")
    return ExitCode.OK


def _configuration_here() -> Configuration:
    """The configuration of this directory; the default if it has mistakes, as pages are shown without it."""
    with suppress(ConfigurationError, UsageProblem):
        return load_configuration(ConfigurationRequest())
    return Configuration()


def _options(color: Color, docs_url: str = "") -> RenderOptions:
    return options_for(None, color, docs_url=docs_url)
