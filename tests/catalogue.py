"""Writes `jsdoctor/cli/catalogue.txt`, from which `rules list` and `explain` are answered without loading the rules.

python -m tests.catalogue         (or: make catalogue)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from jsdoctor.app.rulebook import open_rulebook, open_symptoms
from jsdoctor.cli.quick import CATALOGUE
from jsdoctor.model.rule import Rule
from jsdoctor.render.explain import page_markdown
from jsdoctor.render.options import RenderOptions


def catalogue() -> str:
    """The file as it should be."""
    book = open_rulebook()
    symptoms = {symptom.slug for symptom in open_symptoms(book).symptoms}
    return "".join(
        "\t".join(
            (
                *(rule.code, rule.severity.value, rule.slug, rule.status.value, rule.title, rule.failure_mode),
                "symptom" if rule.slug in symptoms else "",
                *_facts(rule),
            )
        )
        + "\n"
        for rule in book.rules
    )


def _facts(rule: Rule) -> Iterator[str]:
    """The lines of the page between its title and its text."""
    page = page_markdown(rule, RenderOptions())
    facts = page.removesuffix(rule.body.strip() + "\n").split("\n")[3:-1]
    assert not any("\t" in line for line in (*facts, rule.title))
    yield from facts


if __name__ == "__main__":
    Path(CATALOGUE).write_text(catalogue(), "utf-8")
